"""Whose result a result is, and when a process has nothing more to do."""

from typing import Any

from tasks_app.runners.claude.turns import Turns, Whose
from tests.runners.claude.messages import result, system


def state(word: str) -> Any:
    """A change of the session's state."""
    return system("session_state_changed", state=word)


def started(task_id: str, task_type: str) -> Any:
    """A background task begins."""
    return system("task_started", task_id=task_id, description="x", task_type=task_type)


def notified(task_id: str) -> Any:
    """A background task reports its end."""
    return system("task_notification", task_id=task_id, status="completed", output_file="", summary="x")


def test_a_left_over_result_closes_nothing() -> None:
    """N34: the result of an interrupted prompt and that of a notification come before our own."""
    turns = Turns()
    turns.sent("p1")
    turns.interrupted()
    turns.sent("p2")
    assert turns.result(result(subtype="error_during_execution", user_message_uuid="p1")) is Whose.LEFT_OVER
    assert turns.pending == ["p2"]
    assert turns.result(result(origin={"kind": "task-notification"})) is Whose.BACKGROUND
    assert turns.pending == ["p2"]
    assert turns.result(result(user_message_uuids=["p2"])) is Whose.OURS
    assert turns.over


def test_a_result_that_does_not_say_where_it_comes_from_is_our_own() -> None:
    turns = Turns()
    turns.sent("p1")
    assert turns.result(result(origin={"since": "2.2"})) is Whose.OURS


def test_one_result_may_answer_several_prompts() -> None:
    turns = Turns()
    turns.sent("p1")
    turns.sent("p2")
    assert turns.result(result(user_message_uuids=["p1", "p2"])) is Whose.OURS
    assert turns.over


def test_a_result_that_names_no_prompt_is_that_of_the_oldest() -> None:
    turns = Turns()
    turns.sent("p1")
    assert turns.result(result()) is Whose.OURS
    assert turns.result(result()) is Whose.LEFT_OVER


def test_a_turn_is_over_only_when_the_process_is_idle() -> None:
    turns = Turns()
    turns.see(state("running"))
    turns.sent("p1")
    turns.result(result(user_message_uuid="p1"))
    assert not turns.over
    turns.see(state("idle"))
    assert turns.over


def test_background_agents_are_waited_for_and_their_wake_up_too() -> None:
    turns = Turns()
    turns.sent("p1")
    turns.see(started("a1", "local_agent"))
    turns.result(result(user_message_uuid="p1"))
    turns.see(state("idle"))
    assert not turns.over
    assert not turns.only_commands_left
    turns.see(notified("a1"))
    assert not turns.over
    turns.see(state("running"))
    turns.result(result(origin={"kind": "task-notification"}))
    turns.see(state("idle"))
    assert turns.over


def test_background_commands_alone_are_told_apart() -> None:
    turns = Turns()
    turns.sent("p1")
    turns.see(started("b1", "local_bash"))
    turns.result(result(user_message_uuid="p1"))
    turns.see(state("idle"))
    assert turns.only_commands_left
    turns.see(system("task_updated", task_id="b1", patch={"status": "running"}))
    assert turns.only_commands_left
    turns.see(system("task_updated", task_id="b1", patch={"status": "killed"}))
    assert not turns.background


def test_the_full_set_corrects_what_was_missed() -> None:
    turns = Turns()
    turns.see(started("a1", "local_agent"))
    turns.see(system("background_tasks_changed", tasks=[{"task_id": "b2", "task_type": "local_bash"}, "nonsense"]))
    assert turns.background == {"b2": "local_bash"}
    turns.see(system("background_tasks_changed", tasks=None))
    assert turns.background == {}
