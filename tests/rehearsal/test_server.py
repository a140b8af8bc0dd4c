import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tasks_app.rehearsal import server as servers
from tasks_app.rehearsal.script_model import Part
from tasks_app.rehearsal.server import RehearsalServer

BODY = {"model": "claude-x", "tools": [{"name": "Bash"}], "messages": [{"role": "user", "content": "Do it."}]}


def part(*turns: dict[str, Any]) -> Part:
    return Part.model_validate({"turns": turns})


def post(server: RehearsalServer, key: str, **changes: Any) -> httpx.Response:
    return httpx.post(f"{server.url(key)}/v1/messages?beta=true", json=BODY | changes, timeout=10)


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def patient(waits: list[float]) -> Iterator[RehearsalServer]:
    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    server = RehearsalServer(pace=0.5, sleep=sleep)
    yield server
    server.stop()


def test_a_plain_request_gets_a_message_of_the_model_it_named(server: RehearsalServer) -> None:
    server.register("plain", part({"say": "Hello {agent}."}), {"agent": "ann"})
    message = post(server, "plain").json()
    assert (message["model"], message["content"], message["stop_reason"]) == (
        "claude-x",
        [{"type": "text", "text": "Hello ann."}],
        "end_turn",
    )


def test_a_streamed_request_gets_events(server: RehearsalServer) -> None:
    server.register("streamed", part({"say": "Hello."}), {})
    answer = post(server, "streamed", stream=True)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.text.startswith("event: message_start\n")
    assert answer.text.endswith('data: {"type": "message_stop"}\n\n')


def test_a_wait_is_kept_alive_with_pings_at_the_pace_of_the_server(patient: RehearsalServer, waits: list[float]) -> None:
    patient.register("slow", part({"say": "At last.", "wait": 24}), {})
    assert post(patient, "slow", stream=True).text.count("event: ping") == 3
    assert waits == [5.0, 5.0, 2.0]
    post(patient, "slow")
    assert waits[3:] == [12.0]


def test_a_cut_stream_breaks_the_connection_and_the_next_one_is_whole(server: RehearsalServer) -> None:
    server.register("cut", part({"say": "Hello.", "misbehave": "cut"}), {})
    with pytest.raises(httpx.RemoteProtocolError):
        post(server, "cut", stream=True)
    assert "message_stop" in post(server, "cut", stream=True).text


def test_a_failure_has_status_headers_and_body_of_the_api(server: RehearsalServer) -> None:
    server.register("fails", part({"say": "x", "fail": {"status": 429, "retry_after": 3}}), {})
    refused = post(server, "fails")
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "3")
    assert refused.json()["error"]["type"] == "rate_limit_error"


def test_registering_again_keeps_the_count_of_faults(server: RehearsalServer) -> None:
    turns = part({"say": "x", "fail": {"status": 529}})
    for expected in (529, 200):
        server.register("again", turns, {})
        assert post(server, "again").status_code == expected


def test_an_unknown_or_forgotten_key_gets_404(server: RehearsalServer) -> None:
    server.register("gone", part({"say": "x"}), {})
    server.unregister("gone")
    server.unregister("gone")
    assert [post(server, key).status_code for key in ("gone", "never")] == [404, 404]


def test_no_part_means_the_general_one(server: RehearsalServer) -> None:
    server.register("general", None, {"task": "T-9"}, ["It works"])
    assert post(server, "general").json()["content"][1]["input"] == {"taskId": "T-9"}


def test_tokens_are_counted_and_every_other_path_is_fine(server: RehearsalServer) -> None:
    server.register("other", part({"say": "x"}), {})
    counted = httpx.post(f"{server.url('other')}/v1/messages/count_tokens", json=BODY).json()
    assert counted["input_tokens"] > 10
    for method, path in (("GET", "/"), ("HEAD", ""), ("POST", "/api/event_logging/batch"), ("GET", "/v1/models")):
        answer = httpx.request(method, server.url("other") + path)
        assert (answer.status_code, answer.text if method == "HEAD" else answer.json()) == (200, "" if method == "HEAD" else {})


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b"\xff\xfe", b"[" * 100_000])
def test_a_body_that_is_no_json_object_gets_400(server: RehearsalServer, body: bytes) -> None:
    server.register("bad", part({"say": "x"}), {})
    refused = httpx.post(f"{server.url('bad')}/v1/messages", content=body)
    assert (refused.status_code, refused.json()["error"]["type"]) == (400, "invalid_request_error")


def test_it_starts_once_stops_twice_and_starts_again_with_what_was_registered() -> None:
    server = RehearsalServer()
    ports: list[int] = []
    threads = [threading.Thread(target=lambda: ports.append(server.start())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(ports)) == 1
    server.register("kept", part({"say": "Still here."}), {})
    server.stop()
    server.stop()
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://127.0.0.1:{ports[0]}/")
    assert post(server, "kept").json()["content"][0]["text"] == "Still here."
    server.stop()


def test_stopping_drops_an_answer_that_still_waits() -> None:
    server = RehearsalServer()
    server.register("slow", part({"say": "Never heard.", "wait": 3600}), {})
    with httpx.stream("POST", f"{server.url('slow')}/v1/messages", json=BODY | {"stream": True}, timeout=20) as answer:
        texts = answer.iter_text()
        assert "message_start" in next(texts)
        server.stop()
        with pytest.raises(httpx.RemoteProtocolError):
            list(texts)


def test_it_listens_on_loopback_only(server: RehearsalServer) -> None:
    assert server.url("x") == f"http://127.0.0.1:{server.start()}/play/x"


def test_one_server_is_shared_by_the_whole_process() -> None:
    shared = servers.shared()
    try:
        assert servers.shared() is shared
        assert httpx.get(shared.url("any")).status_code == 200
    finally:
        shared.stop()


def test_keys_cannot_be_guessed() -> None:
    keys = {servers.new_key() for _ in range(100)}
    assert len(keys) == 100
    assert all(len(key) >= 22 and "/" not in key for key in keys)
