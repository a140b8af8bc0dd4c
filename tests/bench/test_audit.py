"""What a fault would leave in the log and in the rows, made by hand: the auditor says what is wrong with each."""

from collections.abc import Callable
from decimal import Decimal

import pytest
from django.db.models import F

from bench import audit
from tasks_app.domain.events import EventKind as Kind
from tasks_app.domain.leases import NEVER
from tasks_app.domain.statuses import DecisionStatus, RunStatus, TaskStatus
from tasks_app.models import Agent, CostReading, CrewCall, Decision, Event, Message, MessageUsage, Run, Step, Task, Team
from tasks_app.services import clock
from tests.bench.finished import Finished
from tests.factories import TaskFactory

pytestmark = pytest.mark.django_db


def test_a_team_that_worked_in_order_is_in_order() -> None:
    Finished.make()
    assert audit.audit().violations == []


def set_run(number: int, **values: object) -> Callable[[Finished], None]:
    return lambda done: Run.objects.filter(pk=done.run(number).pk).update(**values)


def no_step(done: Finished) -> None:
    Step.objects.filter(run=done.run(1)).delete()


def old_life_writes(done: Finished) -> None:
    """The second run's last steps, stored by its second life, are said to be of its first."""
    Step.objects.filter(run=done.run(2)).update(fence=1)


def a_task_is_gone(done: Finished) -> None:
    done.task(2).delete()


def moved_tokens(done: Finished) -> None:
    for number, more in ((1, 5), (2, -5)):
        Task.objects.filter(pk=done.task(number).pk).update(used_tokens=F("used_tokens") + more)


def counted_thrice(done: Finished) -> None:
    """In a run with two lives: once more than there were lives."""
    run = done.run(2)
    row = MessageUsage.objects.filter(run=run).latest("pk")
    for number in range(2):
        row.pk, row.message_id = None, f"again_{number}"
        row.save()


def called_twice(done: Finished) -> None:
    for _ in range(2):
        CrewCall.objects.create(run=done.run(1), fence=1, key="", tool_use_id="toolu_9", result="", at=clock.now())


def called_again(done: Finished) -> None:
    """What no transcript of the first life held, the second did again instead of taking it over."""
    for fence in (1, 2):
        CrewCall.objects.create(run=done.run(2), fence=fence, key="k", tool_use_id=f"toolu_{fence}", result="", at=clock.now())


def waits_for_nothing(done: Finished) -> None:
    """Both in the rows and in the log: a run that was parked, and nothing that it asked is open."""
    done.drop(Kind.RUN_COMPLETED, 2)
    done.drop(Kind.TASK_COMPLETED, 2)
    Run.objects.filter(pk=done.run(2).pk).update(status=RunStatus.PENDING.value, due_at=NEVER, ended_at=None)
    Task.objects.filter(pk=done.task(2).pk).update(status=TaskStatus.IN_PROGRESS.value)


def sign(event: Event, run: Run) -> None:
    event.actor = f"agent:{run.agent.name}"


def put(event: Event, **data: object) -> None:
    event.data = {**event.data, **data}


LOG: dict[str, tuple[Callable[[Finished], None], str]] = {
    "its first event": (lambda done: done.log()[0].delete(), "its first events are missing"),
    "all of it": (lambda done: Event.objects.all().delete(), "its first events are missing"),
    "one in the middle": (lambda done: done.log()[9].delete(), "a gap or a repeat"),
    "a task made": (lambda done: done.drop(Kind.TASK_CREATED, 1), "T-1 was made without an event"),
    "a task claimed": (lambda done: done.drop(Kind.TASK_CLAIMED, 1), "had not been claimed for it"),
    "a run started": (lambda done: done.drop(Kind.RUN_STARTED, 1), "has fence 1, its events say 0"),
    "a run that ended": (lambda done: done.drop(Kind.RUN_COMPLETED, 1), "is completed, its events say open"),
    "steps": (lambda done: done.drop(Kind.RUN_STEPS, 1), "has 3 steps, 0 were told of"),
    "a request": (lambda done: done.drop(Kind.DECISION_OPENED, 1), "was opened without an event"),
    "an answer": (lambda done: done.drop(Kind.DECISION_ANSWERED, 1), "is answered, its events say open"),
    "a message sent": (lambda done: done.drop(Kind.MESSAGE_SENT), "was sent without an event"),
    "a message told": (lambda done: done.drop(Kind.MESSAGE_DELIVERED), "its events say to nobody"),
}
TWICE: dict[str, tuple[Callable[[Finished], None], str]] = {
    "a task completed": (lambda done: done.double(Kind.TASK_COMPLETED, 1), "T-1 was completed twice"),
    "a task claimed": (lambda done: done.double(Kind.TASK_CLAIMED, 1), "T-1 was claimed while in_progress"),
    "a run opened": (lambda done: done.double(Kind.TASK_CLAIMED, 1), "was opened while its agent had run"),
    "a run started": (lambda done: done.double(Kind.RUN_STARTED, 1), "was started while held"),
    "a run ended": (lambda done: done.double(Kind.RUN_COMPLETED, 1), "ended twice"),
    "steps told of": (lambda done: done.double(Kind.RUN_STEPS, 1), "were told of after"),
    "an answer": (lambda done: done.double(Kind.DECISION_ANSWERED, 1), "was answered 2 times"),
    "an answer told": (lambda done: done.double(Kind.DECISION_DELIVERED, 1), "reached life 1 2 times"),
    "a message told": (lambda done: done.double(Kind.MESSAGE_DELIVERED, 1), "reached life 1 of run"),
    "a message counted": (counted_thrice, "a turn was counted 3 times in 2 lives"),
    "a call": (called_twice, "the call toolu_9 was done 2 times"),
    "a call under another id": (called_again, "life 2 did again what life 1 had done (toolu_1)"),
}
ORDER: dict[str, tuple[Callable[[Finished], None], str]] = {
    "a task before what it needs": (
        lambda done: done.move_to_front(Kind.TASK_CLAIMED, 2, of=Kind.TASK_COMPLETED, of_task=1),
        "T-2 was given out before T-1 was completed",
    ),
    "an answer told before it was given": (
        lambda done: done.move_to_front(Kind.DECISION_DELIVERED, 1, of=Kind.DECISION_ANSWERED, of_task=1),
        "was delivered before it was answered",
    ),
    "steps after the end": (
        lambda done: done.move_to_front(Kind.RUN_COMPLETED, 1, of=Kind.DECISION_OPENED, of_task=1),
        "and nobody had the run",
    ),
    "steps of a life that was over": (old_life_writes, "is of life 1, and life 2 had the run"),
    "a life that ends the run of another": (
        lambda done: done.change(Kind.RUN_COMPLETED, 2, lambda event: put(event, fence=1)),
        "ended by life 1, and life 2 had it",
    ),
    "an end by nobody of a run that somebody has": (
        lambda done: done.change(Kind.RUN_COMPLETED, 2, lambda event: event.data.pop("fence")),
        "ended by nobody, and life 2 had it",
    ),
    "given back by nobody while somebody has it": (
        lambda done: done.add_after(Kind.DECISION_DELIVERED, 1, Kind.RUN_RESUMABLE, reason="x"),
        "was given back by nobody, and life 1 had it",
    ),
    "an answer told to a life that was over": (
        lambda done: done.change(Kind.DECISION_DELIVERED, 1, lambda event: put(event, fence=9)),
        "reached life 9, which did not have the run",
    ),
    "a start in a team that was stopped": (
        lambda done: done.add_after(Kind.TASK_CLAIMED, 2, Kind.TEAM_STOPPED),
        "was started in a team that did not work",
    ),
    "a cancelled task given out": (
        lambda done: done.add_after(Kind.TASK_CREATED, 2, Kind.TASK_CANCELLED, why="no"),
        "T-2 was claimed while cancelled",
    ),
    "a cancelled task completed": (
        lambda done: done.add_after(Kind.TASK_CLAIMED, 2, Kind.TASK_CANCELLED, why="no"),
        "T-2 was completed after it was cancelled",
    ),
    "given back after the end": (
        lambda done: done.add_after(Kind.RUN_COMPLETED, 1, Kind.RUN_RESUMABLE, reason="x"),
        "was given back after its end",
    ),
    "an agent completes what no run of it has": (
        lambda done: done.change(Kind.RUN_COMPLETED, 1, lambda event: setattr(event, "kind", Kind.RUN_FAILED.value)),
        "T-1 was completed by an agent, and no run of it had been",
    ),
    "an agent completes what it never had": (
        lambda done: done.change(Kind.TASK_COMPLETED, 1, lambda event: sign(event, done.run(2))),
        "T-1 was completed by an agent, and no run of it had been",
    ),
}
ROWS: dict[str, tuple[Callable[[Finished], None], str]] = {
    "no steps": (no_step, "was told of and is not there"),
    "a fence that no life had": (set_run(1, fence=7), "has fence 7, its events say 1"),
    "a run that failed": (set_run(1, status=RunStatus.FAILED.value), "is failed, its events say completed"),
    "a run that nobody ended": (set_run(1, status=RunStatus.RUNNING.value), "by its events nobody has it"),
    "a run with a lease": (set_run(1, lease_until=4e9), "has ended and has a lease"),
    "a task that is cancelled": (
        lambda done: Task.objects.filter(pk=done.task(1).pk).update(status=TaskStatus.CANCELLED.value),
        "T-1 is cancelled, its events say completed",
    ),
    "a task that is open": (
        lambda done: Task.objects.filter(pk=done.task(1).pk).update(status=TaskStatus.PENDING.value),
        "T-1 is pending, its events say completed",
    ),
    "a task that nobody had been given": (
        lambda done: TaskFactory(team=done.team, number=3, status=TaskStatus.IN_PROGRESS.value),
        "T-3 is in_progress, its events say pending",
    ),
    "a run that waits for nothing": (waits_for_nothing, "nothing that it asked is open"),
    "no task": (a_task_is_gone, "tells of T-2, which is not there"),
    "no request": (lambda done: done.decision(1).delete(), "which is not there"),
    "another answer": (
        lambda done: Decision.objects.filter(pk=done.decision(1).pk).update(choice="deny"),
        "was answered “allow” and says “deny”",
    ),
    "an open request": (
        lambda done: Decision.objects.filter(pk=done.decision(1).pk).update(status=DecisionStatus.OPEN.value),
        "is open, and the run that asks has ended",
    ),
    **{
        f"a request that is {status}": (
            lambda done, status=status: Decision.objects.filter(pk=done.decision(1).pk).update(status=status),
            f"is {status}, its events say answered",
        )
        for status in (DecisionStatus.WITHDRAWN.value, DecisionStatus.EXPIRED.value)
    },
    "an answer without effect": (
        lambda done: Decision.objects.filter(pk=done.decision(1).pk).update(consumed_at=None),
        "its effect never reached the transcript",
    ),
    "an answer that no life had": (
        lambda done: Decision.objects.filter(pk=done.decision(1).pk).update(delivered_fence=None),
        "was handed to no life",
    ),
    "a message handed to another run": (
        lambda done: Message.objects.update(delivered_run=done.run(2).pk),
        "its events say to run",
    ),
    "a message handed to nobody": (lambda done: Message.objects.update(delivered_run=""), "was handed to nobody, its events say"),
    "no message": (lambda done: Message.objects.all().delete(), "tells of message"),
    "tokens of the team": (lambda done: Team.objects.update(used_tokens=1), "tokens: the team says 1"),
    "tokens of an agent": (lambda done: Agent.objects.update(used_tokens=10**9), "tokens: agent"),
    "tokens of another task": (moved_tokens, "tokens: task"),
    "cost of an agent": (lambda done: Agent.objects.update(used_usd=9), "cost: agent"),
    "cost of a task": (lambda done: Task.objects.update(used_usd=9), "cost: task"),
    "cost, by little": (
        lambda done: Team.objects.update(used_usd=F("used_usd") + Decimal("0.00005")),
        "cost: the team says",
    ),
    "no cost": (lambda done: CostReading.objects.filter(run=done.run(1)).delete(), "whose process reported no cost"),
    "a message that was never said": (
        lambda done: MessageUsage.objects.filter(run=done.run(2)).update(input_tokens=10**9),
        "counted messages stand in no script",
    ),
}


@pytest.mark.parametrize(
    ("group", "name"),
    [(group, name) for group, found in (("lost", LOG), ("twice", TWICE), ("order", ORDER), ("rows", ROWS)) for name in found],
)
def test_the_auditor_says_what_is_wrong(group: str, name: str) -> None:
    corrupt, words = {"lost": LOG, "twice": TWICE, "order": ORDER, "rows": ROWS}[group][name]
    done = Finished.make()
    corrupt(done)
    found = audit.audit().violations
    assert any(words in line for line in found), found


def test_where_rules_may_remove_the_oldest_it_is_counted() -> None:
    done = Finished.make()
    done.log()[0].delete()
    Step.objects.filter(run=done.run(1), seq=1).delete()
    found = audit.audit(must_be_whole=False)
    assert (found.violations, found.cut, found.short) == ([], 1, 1)


def test_steps_that_a_rule_has_removed_are_no_violation_in_a_whole_log() -> None:
    Finished.make()
    Step.objects.all().delete()
    assert audit.audit(must_be_whole=False).violations == []
