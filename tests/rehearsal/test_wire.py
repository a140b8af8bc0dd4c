import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tasks_app.rehearsal import wire
from tasks_app.rehearsal.conversation import Use
from tasks_app.rehearsal.play import Answer, Figures, Refusal
from tasks_app.rehearsal.script_model import How, Misbehave

ANSWER = Answer(
    text="Hello 🚀 " * 200,
    thinking="Hm.",
    calls=(Use("Bash", {"command": "é" * 900}), Use("Read", {})),
    usage=Figures(3, 100, 20, 9),
)


def frames(answer: Answer) -> tuple[list[dict[str, Any]], bool]:
    """Return the events of a stream and whether it was cut."""
    texts, cut = [wire.start(answer, model="m")], False
    try:
        texts.extend(wire.rest(answer))
    except wire.Cut:
        cut = True
    found = []
    for text in texts:
        head, data = text.removesuffix("\n\n").split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert head == f"event: {event['type']}"
        found.append(event)
    return found, cut


def put_together(events: list[dict[str, Any]]) -> Mapping[str, Any]:
    """Return the message that a client makes of a stream."""
    message = dict(events[0]["message"])
    blocks: list[dict[str, Any]] = []
    inputs: dict[int, str] = {}
    for event in events[1:]:
        if event["type"] == "content_block_start":
            blocks.append(dict(event["content_block"]))
        elif event["type"] == "content_block_delta":
            for name, value in event["delta"].items():
                if name == "partial_json":
                    inputs[event["index"]] = inputs.get(event["index"], "") + value
                elif name != "type":
                    blocks[event["index"]][name] = blocks[event["index"]].get(name, "") + value
        elif event["type"] == "message_delta":
            message |= event["delta"] | {"usage": event["usage"]}
    for index, text in inputs.items():
        blocks[index]["input"] = json.loads(text)
    return message | {"content": blocks}


def shape(message: Mapping[str, Any]) -> Mapping[str, Any]:
    return message | {"id": "", "content": [{**block, "id": ""} for block in message["content"]]}


def broken(how: How) -> Answer:
    return replace(ANSWER, misbehave=Misbehave(how=how, size=70_000))


def test_a_stream_puts_together_what_the_whole_message_says() -> None:
    events, cut = frames(ANSWER)
    whole = wire.message(ANSWER, model="m")
    assert not cut
    assert shape(put_together(events)) == shape(whole)
    assert [block["type"] for block in whole["content"]] == ["thinking", "text", "tool_use", "tool_use"]
    assert whole["stop_reason"] == "tool_use"
    assert whole["usage"] == {
        "input_tokens": 3,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 20,
        "output_tokens": 9,
    }
    assert events[0]["message"]["usage"]["output_tokens"] == 1
    assert events[-1] == {"type": "message_stop"}


def test_ids_are_new_each_time() -> None:
    first, second = (wire.message(ANSWER, model="m") for _ in range(2))
    ids = [first["id"], second["id"], *(block["id"] for message in (first, second) for block in message["content"][2:])]
    assert len(set(ids)) == 6


def test_a_message_without_calls_ends_the_turn() -> None:
    assert wire.message(Answer(text="x"), model="m")["stop_reason"] == "end_turn"


@pytest.mark.parametrize("how", ["cut", "error_event"])
def test_a_stream_is_cut_in_the_middle(how: How) -> None:
    events, cut = frames(broken(how))
    assert cut
    assert "content_block_delta" in [event["type"] for event in events]
    assert "message_stop" not in [event["type"] for event in events]
    assert (events[-1]["type"] == "error") == (how == "error_event")


def test_a_malformed_event_is_not_json() -> None:
    with pytest.raises(json.JSONDecodeError):
        frames(broken("malformed_event"))


def test_malformed_input_is_half_a_json_text() -> None:
    with pytest.raises(json.JSONDecodeError):
        put_together(frames(broken("malformed_input"))[0])


@pytest.mark.parametrize(("how", "stop"), [("empty", "end_turn"), ("refusal", "refusal")])
def test_an_empty_message_and_a_refusal_say_nothing(how: How, stop: str) -> None:
    message = put_together(frames(broken(how))[0])
    assert (message["content"], message["stop_reason"]) == ([], stop)


def test_max_tokens_leaves_half_the_text_and_no_call() -> None:
    message = put_together(frames(broken("max_tokens"))[0])
    assert message["stop_reason"] == "max_tokens"
    assert message["content"][-1]["text"] == ANSWER.text[: len(ANSWER.text) // 2]


def test_an_unknown_block_and_a_huge_text_stand_beside_the_usual_ones() -> None:
    unknown = put_together(frames(broken("unknown_block"))[0])["content"]
    huge = put_together(frames(broken("huge"))[0])["content"]
    assert [block["type"] for block in unknown] == ["thinking", "rehearsal_unknown_block", "text", "tool_use", "tool_use"]
    assert [len(block.get("text", "")) for block in huge] == [0, 70_000, len(ANSWER.text), 0, 0]


@pytest.mark.parametrize("how", ["cut", "malformed_event", "error_event"])
def test_what_breaks_a_stream_breaks_a_plain_answer_too(how: How) -> None:
    with pytest.raises(json.JSONDecodeError):
        json.loads(wire.plain(broken(how), model="m"))


def test_errors_have_the_shape_of_the_api() -> None:
    body = wire.error_body(Refusal(529))
    assert (body["type"], body["error"]) == ("error", {"type": "overloaded_error", "message": "Overloaded"})
    assert wire.error_body(Refusal(429, "Slow down."))["error"] == {"type": "rate_limit_error", "message": "Slow down."}
    assert wire.error_body(Refusal(502))["error"]["type"] == "api_error"
    assert wire.error_headers(Refusal(429, retry_after_s=2.5, retry=False)) == {"retry-after": "2.5", "x-should-retry": "false"}
    assert wire.error_headers(Refusal(500)) == {}
