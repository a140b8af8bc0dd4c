import json

import pytest

from tasks_app.domain import lost_calls
from tasks_app.domain.lost_calls import LostCall
from tests.rehearsal.stories import ENDED, Story, bash, commands

TWO = ({"say": "One.", "call": bash("a")}, {"say": "Two.", "call": bash("b")})


def test_turns_are_played_in_order_and_then_the_closing_words_again_and_again() -> None:
    story = Story(*TWO, {"say": "Three."}, closing="Over, {agent}.")
    assert [(turn.text, commands(turn)) for turn in (story.goes_on() for _ in range(5))] == [
        ("One.", ["a"]),
        ("Two.", ["b"]),
        ("Three.", []),
        ("Over, ann.", []),
        ("Over, ann.", []),
    ]


def test_a_call_that_the_lead_allowed_while_parked_is_made_again_exactly() -> None:
    story = Story(*TWO)
    ids = story.hears()
    story.uses[0]["input"] = {"command": "a", "description": "added by Claude Code"}
    story.cut_off("")
    story.resumed(f"Nothing was rejected; the lead allowed it.\n[crewdesk:repeat {ids[0]}]")
    again = story.ask()
    assert again.text == ""
    assert [dict(call.input) for call in again.calls] == [{"command": "a", "description": "added by Claude Code"}]
    story.goes_on()
    assert commands(story.ask()) == ["b"]


def test_an_answered_call_counts_as_done() -> None:
    story = Story(*TWO)
    ids = story.hears()
    story.cut_off("")
    story.resumed(f"[crewdesk:answered {ids[0]}]")
    assert commands(story.ask()) == ["b"]


def test_every_other_call_of_a_message_that_was_cut_off_is_made_again() -> None:
    story = Story({"call": [bash("ran"), bash("parked"), bash("answered"), bash("cut")]}, {"say": "Next."})
    ids = story.hears()
    story.cut_off("fine", "", "", "")
    story.resumed(f"[crewdesk:repeat {ids[1]}]\n[crewdesk:answered {ids[2]}]")
    assert commands(story.goes_on()) == ["parked", "cut"]
    assert story.ask().text == "Next."


def test_what_is_parked_twice_is_made_a_third_time() -> None:
    story = Story(*TWO)
    for _ in range(2):
        ids = story.hears()
        story.cut_off("")
        story.resumed(f"[crewdesk:repeat {ids[0]}]")
    assert commands(story.goes_on()) == ["a"]
    assert commands(story.ask()) == ["b"]


def test_after_a_crash_the_turn_is_played_again_whether_or_not_its_call_is_still_there() -> None:
    gone, there = Story(*TWO), Story(*TWO)
    there.hears()
    there.results(ENDED, errors=(0,))
    for story in (gone, there):
        story.resumed("You were interrupted.\n[crewdesk:interrupted]")
        assert commands(story.goes_on()) == ["a"]
        assert commands(story.ask()) == ["b"]


def test_a_call_that_the_conversation_lost_is_done_where_its_result_is_known_and_else_made_again() -> None:
    for result, due in (("fine", ["b"]), (None, ["a"])):
        story = Story(*TWO)
        lost = LostCall("toolu_lost", "Bash", '{"command": "a"}', result)
        story.resumed(f"You were interrupted.\n[crewdesk:interrupted]\n{lost_calls.told([lost])}")
        assert commands(story.goes_on()) == due


def test_a_call_whose_result_alone_was_lost_is_done() -> None:
    story = Story(*TWO)
    ids = story.hears()
    story.results(ENDED, errors=(0,))
    story.resumed(f"[crewdesk:interrupted]\n{lost_calls.told([LostCall(ids[0], 'Bash', '{}', 'fine')])}")
    assert commands(story.goes_on()) == ["b"]


def test_lost_calls_of_several_messages_are_taken_in_their_order() -> None:
    story = Story({"call": [bash("a"), bash("b")]}, {"call": bash("c")}, {"call": bash("d")})
    lost = [LostCall(f"toolu_{name}", "Bash", json.dumps({"command": name}), "fine") for name in "abc"]
    story.resumed(f"[crewdesk:interrupted]\n{lost_calls.told(lost)}")
    assert commands(story.goes_on()) == ["d"]


def test_what_a_lost_call_offered_to_choose_from_is_no_answer() -> None:
    either = {"either": [{"when": {"answer_contains": "ship it"}, "then": [{"say": "Shipped."}]}, {"then": [{"say": "Signed."}]}]}
    call = {"tool": "Bash", "input": {"command": "ask", "description": "Sign it, or ship it?"}}
    for kept in (True, False):
        story = Story({"call": call}, either)
        ids = ["toolu_lost"]
        if kept:
            ids = story.hears()
            story.results(ENDED, errors=(0,))
        lost = LostCall(ids[0], "Bash", json.dumps(call["input"]), "The lead chose: Sign it.")
        story.resumed(f"[crewdesk:interrupted]\n{lost_calls.told([lost])}\n\nGo on.")
        assert story.ask().text == "Signed.", kept


def test_a_call_that_was_stopped_for_an_urgent_message_is_not_made_again() -> None:
    story = Story(*TWO)
    story.hears()
    story.cut_off("")
    story.told("[crewdesk:stopped] What you were doing was stopped.\n\n[message m12345678 from lead, urgent]\nStop.")
    assert commands(story.ask()) == ["b"]


def test_a_text_left_over_from_a_crash_is_not_said_twice() -> None:
    story = Story(*TWO)
    story.messages.append({"role": "assistant", "content": [{"type": "text", "text": "One."}]})
    story.told("[crewdesk:interrupted]")
    assert (story.ask().text, commands(story.ask())) == ("", ["a"])


def test_half_a_text_does_not_count() -> None:
    story = Story({"say": "A long sentence."}, {"say": "Next."})
    story.messages.append({"role": "assistant", "content": [{"type": "text", "text": "A long"}]})
    story.told("Go on.")
    assert story.ask().text == "A long sentence."


def test_a_denied_call_is_done_and_the_script_goes_on() -> None:
    story = Story(*TWO)
    story.hears()
    story.results("The lead says no.", errors=(0,))
    assert commands(story.ask()) == ["b"]


def test_notes_and_messages_in_between_change_nothing() -> None:
    story = Story(*TWO, {"say": "Three."})
    story.messages.insert(1, {"role": "system", "content": "# Environment"})
    story.hears()
    story.results("ok")
    story.messages[-1]["content"].append({"type": "text", "text": "<system-reminder>A message from bob.</system-reminder>"})
    story.messages.append({"role": "system", "content": [{"type": "text", "text": "tools changed"}]})
    story.told("Another message.")
    assert commands(story.goes_on()) == ["b"]
    assert story.ask().text == "Three."


def test_input_that_claude_code_rewrote_is_still_the_same_call() -> None:
    story = Story({"call": [bash("a"), {"tool": "ExitPlanMode", "input": {"plan": "p"}}]}, {"say": "Next."})
    story.hears()
    story.uses[1]["input"] = {}
    story.results("ok", "User has approved your plan.")
    assert story.ask().text == "Next."


EITHER = {
    "either": [
        {"when": {"result_contains": ["401", "403"]}, "then": [{"say": "Refused."}, {"say": "Really."}]},
        {"when": {"answer_contains": "{task} is B"}, "then": []},
        {"when": {"result_is_error": True}, "then": [{"say": "Failed."}]},
        {"then": [{"say": "Fine."}]},
    ]
}


@pytest.mark.parametrize(
    ("result", "is_error", "told", "said"),
    [
        ("HTTP 401", False, "", "Refused."),
        ("Http 403 FORBIDDEN", True, "", "Refused."),
        ("ok", False, "t-3 is b", "After."),
        ("it says: T-3 IS B.", False, "", "After."),
        ("exit 2", True, "", "Failed."),
        ("ok", False, "", "Fine."),
        ("ok", False, "401", "Fine."),
        ("ok", False, "<system-reminder>T-3 is B</system-reminder>", "Fine."),
    ],
)
def test_the_way_on_depends_on_what_came_back(result: str, is_error: bool, told: str, said: str) -> None:
    story = Story({"call": bash("a")}, EITHER, {"say": "After."})
    story.hears()
    story.results(result, errors=(0,) if is_error else ())
    if told:
        story.told(told)
    assert story.ask().text == said


def test_a_first_turn_may_depend_on_the_task_prompt() -> None:
    turns = (
        {"either": [{"when": {"answer_contains": "was tried before"}, "then": [{"say": "Again."}]}, {"then": []}]},
        {"say": "New."},
    )
    assert Story(*turns, prompt="Do T-3. This was tried before by bob.").ask().text == "Again."
    assert Story(*turns, prompt="Do T-3.").ask().text == "New."


def test_a_branch_once_taken_is_kept_whatever_comes_later() -> None:
    story = Story({"call": bash("a")}, EITHER, {"say": "After."})
    story.hears()
    story.results("HTTP 401")
    assert story.goes_on().text == "Refused."
    story.told("T-3 is B")
    assert story.goes_on().text == "Really."
    assert story.ask().text == "After."


def test_an_answer_in_the_resume_prompt_chooses_the_way_too() -> None:
    story = Story({"call": {"crew": "Escalate"}}, EITHER, {"say": "After."})
    ids = story.hears()
    story.cut_off("")
    story.resumed(f"The lead answered: T-3 is B.\n[crewdesk:answered {ids[0]}]")
    assert story.ask().text == "After."


def test_a_compacted_conversation_goes_on_where_it_was() -> None:
    story = Story({"call": bash("a")}, EITHER, {"call": [bash("b"), bash("c")]}, {"say": "Last."})
    story.hears()
    story.results("HTTP 401")
    story.goes_on()
    story.goes_on()
    story.hears()
    story.cut_off("done", "")
    story.told("Your task is to create a detailed summary of the conversation so far.")
    summary = story.ask()
    assert summary.calls == ()
    later = Story({"call": bash("a")}, EITHER, {"call": [bash("b"), bash("c")]}, {"say": "Last."}, prompt=summary.text)
    assert commands(later.goes_on()) == ["c"]
    assert later.goes_on().text == "Last."
    assert later.ask().text == "That is all for T-3."


def test_a_note_of_a_longer_script_ends_at_the_closing_words() -> None:
    story = Story({"say": "Only."}, prompt="[rehearsal:at 900 c7 c3 d4]")
    assert story.ask().text == "That is all for T-3."
