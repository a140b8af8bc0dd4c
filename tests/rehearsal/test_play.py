import json

import pytest

from tasks_app.rehearsal.play import Answer, Refusal, Registered, answer
from tasks_app.rehearsal.position import Variables
from tasks_app.rehearsal.scripts import GENERAL
from tests.rehearsal.stories import WORDS, Story, bash, commands


def test_variables_are_filled_in_and_other_braces_are_left_alone() -> None:
    story = Story({"say": "{agent} at {task}, {attempt}.", "call": bash("echo {workspace} ${HOME} {'a': 1} {other} {}")})
    made = story.ask()
    assert made.text == "ann at T-3, 1."
    assert commands(made) == ["echo /w ${HOME} {'a': 1} {other} {}"]


def test_crew_tools_have_a_short_form_and_complete_gives_evidence_for_every_criterion() -> None:
    story = Story({"call": [{"crew": "TaskGet", "input": {"taskId": "{task}"}}, {"complete": "Done by {agent}."}]})
    get, update = story.ask().calls
    assert (get.name, get.input) == ("mcp__crew__TaskGet", {"taskId": "T-3"})
    assert update.name == "mcp__crew__TaskUpdate"
    assert update.input == {
        "taskId": "T-3",
        "status": "completed",
        "evidence": {"1": "It works: Done by ann."},
        "summary": "Done by ann.",
    }


def test_complete_takes_evidence_and_fields_of_its_own() -> None:
    given = {"evidence": {1: "See {workspace}."}, "taskId": "T-9"}
    call = Story({"call": {"complete": "Done.", "input": given}}).ask().calls[0]
    assert call.input["evidence"] == {"1": "See /w."}
    assert call.input["taskId"] == "T-9"
    assert given == {"evidence": {1: "See {workspace}."}, "taskId": "T-9"}


def test_the_general_part_reads_the_task_and_completes_it() -> None:
    story = Story({"say": "unused"})
    story.registered = Registered(GENERAL, Variables(WORDS, ("a", "b")))
    assert story.goes_on().calls[0].name == "mcp__crew__TaskGet"
    assert sorted(story.goes_on().calls[0].input["evidence"]) == ["1", "2"]
    assert story.ask().text == "That is all for T-3."


def test_refusals_come_first_in_order_and_as_often_as_said() -> None:
    story = Story({"say": "Hi.", "fail": [{"status": 429, "times": 2, "retry_after": 7}, {"status": 401, "retry": False}]})
    assert [story.ask() for _ in range(3)] == [Refusal(429, "", 7.0), Refusal(429, "", 7.0), Refusal(401, "", None, False)]
    assert story.ask().text == "Hi."


def test_always_never_ends() -> None:
    story = Story({"say": "Hi.", "fail": {"status": 529, "times": "always"}})
    assert {story.ask().status for _ in range(50)} == {529}


def test_a_fault_of_one_turn_is_not_counted_for_another() -> None:
    story = Story(*({"say": say, "misbehave": {"how": "cut", "times": 1}} for say in ("One.", "Two.")))
    assert [made.misbehave is not None for made in (story.ask(), story.goes_on(), story.ask(), story.goes_on())] == [
        True,
        False,
        True,
        False,
    ]


def test_a_turn_that_only_misbehaves_goes_on_in_words() -> None:
    story = Story({"misbehave": "empty"}, {"say": "Next."})
    assert story.ask().misbehave is not None
    assert story.goes_on().text == "I go on."
    assert story.ask().text == "Next."


def test_figures_left_out_grow_with_the_conversation_and_come_from_the_cache() -> None:
    story = Story({"call": bash("a" * 400)}, {"say": "Two."})
    first, second = story.goes_on("x" * 4000).usage, story.ask().usage
    assert first.cache_read == 0
    assert second.cache_write > 1000
    assert second.cache_read > first.cache_write
    assert story.ask().usage == second


def test_given_figures_are_sent_and_later_ones_do_not_fall_behind_them() -> None:
    given = {"input": 7, "cache_read": 160_000, "cache_write": 2_000, "output": 9}
    story = Story({"say": "One.", "usage": given}, {"say": "Two."}, {"say": "Three.", "usage": {"cache_read": 20}})
    first, second, third = (story.goes_on().usage for _ in range(3))
    assert (first.input, first.cache_read, first.cache_write, first.output) == (7, 160_000, 2_000, 9)
    assert 162_007 < second.input + second.cache_read + second.cache_write < 162_400
    assert third.cache_read == 20


def test_a_request_without_tools_is_answered_with_a_text_or_the_json_it_asks_for() -> None:
    story = Story({"call": bash("a")})
    plain = answer({"messages": story.messages}, story.registered)
    schema = {"type": "object", "properties": {"title": {"type": "string"}, "isNew": {"type": "boolean"}, "n": True}}
    shaped = answer({"messages": [], "output_config": {"format": {"schema": schema}}}, story.registered)
    assert isinstance(plain, Answer)
    assert isinstance(shaped, Answer)
    assert (plain.text, plain.calls) == ("Rehearsal", ())
    assert json.loads(shaped.text) == {"title": "Rehearsal", "isNew": False, "n": None}


def test_a_sub_agent_plays_the_lines_of_the_first_word_in_its_prompt() -> None:
    lines = {"explore": [{"say": "Exploring."}], "docs": [{"say": "Writing."}]}
    story = Story({"say": "Main."}, prompt="<system-reminder>explore</system-reminder>Write the DOCS.", subagents=lines)
    assert story.ask().text == "Main."
    assert story.ask(subagent="a1").text == "Writing."


def test_a_sub_agent_without_lines_says_that_it_is_done() -> None:
    assert Story({"say": "Main."}).ask(subagent="a1").text == "The sub-agent is done."


@pytest.mark.parametrize(
    "messages",
    [
        None,
        {},
        "x",
        [None, 3, "x"],
        [{"role": "user"}],
        [{"role": "assistant", "content": [None, {"type": "tool_use"}, {"type": "text", "text": None}]}],
        [{"role": "user", "content": [{"type": "tool_result", "content": {"a": 1}}, {"type": "image"}]}],
        [{"role": 5, "content": 7}],
        [{"role": "user", "content": "x\ud800\0" * 100_000}],
    ],
)
def test_messages_of_any_shape_are_answered(messages: object) -> None:
    made = answer({"tools": [{}], "messages": messages, "output_config": 3}, Story({"say": "Hi."}).registered)
    assert isinstance(made, Answer)
    assert made.text == "Hi."
