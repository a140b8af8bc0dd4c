"""Waiting for the end of a team: the exit codes, the scripted lead at work, the time limit."""

from collections.abc import Callable
from typing import Any

import pytest

from tasks_app.decision_kinds.base import payload_hash
from tasks_app.domain.errors import NotFound
from tasks_app.domain.statuses import DecisionKind, TaskStatus, TeamStatus
from tasks_app.management import lead
from tasks_app.management.scripted import ScriptedLead
from tasks_app.management.unattended import End, Watch
from tasks_app.models import Task, Team
from tests.factories import PAYLOADS, AgentFactory, DecisionFactory, EventFactory, RunFactory, TaskFactory, TeamFactory

pytestmark = pytest.mark.django_db


class Time:
    """A clock that moves when one sleeps; `then` happens at given seconds."""

    def __init__(self) -> None:
        self.now = 0.0
        self.then: dict[float, Callable[[], object]] = {}

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        for at in [at for at in self.then if at <= self.now]:
            self.then.pop(at)()


@pytest.fixture
def team() -> Any:
    return TeamFactory(slug="billing")


def watch(team: Any, time: Time, *, rules: str = "", timeout_s: float | None = None) -> tuple[Watch, list[str]]:
    told: list[str] = []
    scripted = ScriptedLead(lead.load(rules), team.pk, told.append, time) if rules else None
    return Watch(team.pk, told.append, scripted, lambda: None, timeout_s, time, time.sleep), told


def ask(team: Any, kind: DecisionKind = DecisionKind.PERMISSION, *, name: str = "ada", **payload: Any) -> Any:
    run = RunFactory(
        task=TaskFactory(team=team, in_progress=True, number=7, title="Page"), agent=AgentFactory(team=team, name=name)
    )
    facts = {**PAYLOADS[kind], **payload}
    return DecisionFactory(run=run, kind=kind.value, payload=facts, payload_hash=payload_hash(facts))


def test_all_completed_is_zero_and_says_so(team: Any) -> None:
    TaskFactory(team=team, done=True)
    ending = watch(team, Time())[0].until_the_end()
    assert (ending.end, ending.why) == (End.COMPLETED, "All 1 tasks are completed.")


def test_it_waits_while_an_agent_works(team: Any) -> None:
    run = RunFactory(task=TaskFactory(team=team, in_progress=True))
    time = Time()
    time.then[60] = lambda: (run.delete(), Task.objects.update(status=TaskStatus.COMPLETED.value))
    assert watch(team, time)[0].until_the_end().end is End.COMPLETED
    assert 59 < time.now < 62


def test_a_request_that_nobody_answers_is_three_once_nothing_else_moves(team: Any) -> None:
    ask(team)
    time = Time()
    ending = watch(team, time)[0].until_the_end()
    assert (ending.end, ending.why) == (End.WAITING, "Waiting for the lead: 1 request is open.")
    assert 2 < time.now < 10


def test_a_cancelled_task_or_a_stopped_team_is_one(team: Any) -> None:
    TaskFactory(team=team, done=True)
    TaskFactory(team=team, cancelled=True)
    assert watch(team, Time())[0].until_the_end().end is End.FAILED
    TaskFactory(team=team)
    Team.objects.update(status=TeamStatus.STOPPED.value)
    assert watch(team, Time())[0].until_the_end().why == "The team was stopped."


def test_a_turn_of_the_lead_agent_that_came_to_nothing_is_no_part_of_the_plan(team: Any) -> None:
    TaskFactory(team=team, done=True)
    TaskFactory(team=team, cancelled=True, type="lead")
    ending = watch(team, Time())[0].until_the_end()
    assert (ending.end, ending.why) == (End.COMPLETED, "All 1 tasks are completed.")


def test_when_nothing_can_go_on_it_ends_with_one_and_says_what_is_left(team: Any) -> None:
    gone = TaskFactory(team=team, cancelled=True)
    TaskFactory(team=team, needs=[gone])
    ending = watch(team, Time())[0].until_the_end()
    assert ending.end is End.FAILED
    assert "1 blocked" in ending.why


def test_the_time_limit_ends_the_wait(team: Any) -> None:
    RunFactory(task=TaskFactory(team=team, in_progress=True))
    time = Time()
    ending = watch(team, time, timeout_s=30)[0].until_the_end()
    assert (ending.end, ending.why) == (End.FAILED, "Time is up.")
    assert 29 < time.now < 32


def test_events_are_told_as_they_come_but_not_every_step(team: Any) -> None:
    TaskFactory(team=team, done=True)
    EventFactory(team=team, kind="note", data={"text": "hello"})
    EventFactory(team=team, kind="run.steps")
    watched, told = watch(team, Time())
    watched.until_the_end()
    assert [line.split(maxsplit=1)[1] for line in told] == ["Crewdesk made a note: hello"]


def test_the_scripted_lead_answers_after_its_pause(team: Any) -> None:
    decision = ask(team)
    time = Time()
    watched, _ = watch(
        team, time, rules="rules: [{when: {kind: permission, task: Page}, answer: {choice: allow, note: fine}, after: 5}]"
    )
    time.then[4] = lambda: decision.refresh_from_db() or decision.status == "open" or pytest.fail("too early")
    time.then[20] = lambda: Task.objects.update(status=TaskStatus.COMPLETED.value)
    assert watched.until_the_end().end is End.COMPLETED
    decision.refresh_from_db()
    assert (decision.choice, decision.note, decision.answered_by) == ("allow", "fine", "lead (scripted)")


def test_an_answer_that_is_refused_is_told_and_then_waits_for_a_person(team: Any) -> None:
    ask(team, DecisionKind.ESCALATION)
    watched, told = watch(team, Time(), rules="rules: [{when: {}, answer: {choice: answer, pick: Retire}}]")
    assert watched.until_the_end().end is End.WAITING
    assert any("was refused, so it waits for a person: “Retire” is not one of the options" in line for line in told)


def test_a_request_that_somebody_else_answered_first_is_no_failure(team: Any) -> None:
    decision = ask(team)
    time = Time()
    watched, told = watch(team, time, rules="rules: [{when: {}, answer: {choice: allow}, after: 5}]")
    time.then[2] = lambda: type(decision).objects.update(
        status="answered", choice="deny", answered_by="eve", answered_at=decision.opened_at
    )
    time.then[20] = lambda: Task.objects.update(status=TaskStatus.COMPLETED.value)
    assert watched.until_the_end().end is End.COMPLETED
    assert any("was not needed any more: Already decided by eve" in line for line in told)


def test_a_failed_attempt_goes_to_whom_the_rules_say(team: Any) -> None:
    ada = AgentFactory(team=team, name="ada")
    task = TaskFactory(team=team, number=3, key="payment-api", failed=True, attempts=1)
    RunFactory(task=task, failed=True, agent=AgentFactory(team=team, name="ben"))
    time = Time()
    rules = "rules: [{on_failed: {task: payment-api, attempt: 1}, reassign: {to: Ada, guidance: Read first., start: last}}]"
    time.then[10] = lambda: Task.objects.update(status=TaskStatus.COMPLETED.value)
    assert watch(team, time, rules=rules)[0].until_the_end().end is End.COMPLETED
    second = task.runs.get(attempt=2)
    assert (second.agent_id, second.guidance, second.start_from) == (ada.pk, "Read first.", "last")


def test_a_team_that_is_deleted_while_it_is_waited_for_is_said_in_words(team: Any) -> None:
    TaskFactory(team=team)
    time = Time()
    time.then[3.0] = team.delete
    with pytest.raises(NotFound, match="There is no such team any more"):
        watch(team, time)[0].until_the_end()
