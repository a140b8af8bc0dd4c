"""The audit: reads the event log and the tables of one home and proves that nothing was lost or done twice. It only reads.

Its program is `python -m bench.auditor`.
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from django.db.models import Sum

from bench.audit_script import Scripted
from tasks_app.domain.events import EventKind
from tasks_app.domain.statuses import DecisionStatus, RunStatus, TaskStatus
from tasks_app.models import CostReading, Decision, Event, MessageUsage, Run, Step, Task, Team


@dataclass
class Report:
    """What was found; `asked` counts decisions by task title and kind, `parked` how often a run was parked on one.

    `scripted` has sums of rehearsals whose script prices every turn: what was counted against what was scripted.
    """

    teams: int = 0
    tasks: int = 0
    runs: int = 0
    events: int = 0
    handoffs: int = 0
    asked: dict[str, int] = field(default_factory=dict)
    summaries: dict[str, str] = field(default_factory=dict)
    parked: int = 0
    scripted: dict[str, float] = field(default_factory=dict)
    cut: int = 0
    """Teams whose oldest events were removed by retention: what needs the whole log was not checked there."""
    violations: list[str] = field(default_factory=list)


def audit(*, must_be_done: bool = True) -> Report:
    """Return the report over every team of this home."""
    report = Report()
    for team in Team.objects.all():
        report.teams += 1
        report.tasks += Task.objects.filter(team=team).count()
        report.runs += Run.objects.filter(team=team).count()
        report.events += Event.objects.filter(team=team).count()
        report.handoffs += Run.objects.filter(team=team).aggregate(n=Sum("handoffs"))["n"] or 0
        whole = not team.last_seq or Event.objects.filter(team=team, seq=1).exists()
        report.cut += not whole
        for check in (_sequence, _steps, _usage, *((_tasks, _leases, _decisions) if whole else ())):
            report.violations += [f"{team.slug}: {line}" for line in check(team)]
        scripted = Scripted(team)
        report.violations += [f"{team.slug}: {line}" for line in scripted.check()]
        for name, value in scripted.sums.as_words().items():
            report.scripted[name] = report.scripted.get(name, 0) + value
        if must_be_done:
            report.violations += [f"{team.slug}: {line}" for line in _done(team)]
        report.summaries |= dict(Task.objects.filter(team=team).values_list("title", "output"))
        report.parked += Event.objects.filter(team=team, kind=EventKind.RUN_PARKED.value, data__reason="parked").count()
        asked = Decision.objects.filter(team=team).values_list("task__title", "kind")
        report.asked = {f"{title} / {kind}": n for (title, kind), n in sorted(Counter(asked).items())}
    return report


def _sequence(team: Team) -> Iterator[str]:
    """Sequence numbers run up to the counter without a gap or a repeat; retention takes them from the front."""
    numbers = list(Event.objects.filter(team=team).order_by("seq").values_list("seq", flat=True))
    if numbers and numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        yield "the event sequence has a gap or a repeat"
    if numbers and team.last_seq != numbers[-1]:
        yield f"the counter says {team.last_seq}, the log ends with {numbers[-1]}"


def _tasks(team: Team) -> Iterator[str]:
    """A task is completed at most once between two reopenings, and claims alternate with releases."""
    for task in Task.objects.filter(team=team):
        state = "pending"
        for kind in Event.objects.filter(team=team, task_number=task.number).order_by("seq").values_list("kind", flat=True):
            if kind == EventKind.TASK_COMPLETED.value:
                if state == "completed":
                    yield f"{task.label} was completed twice"
                state = "completed"
            elif kind == EventKind.TASK_CLAIMED.value:
                if state != "pending":
                    yield f"{task.label} was claimed while {state}"
                state = "in_progress"
            elif kind in (EventKind.TASK_RELEASED.value, EventKind.TASK_REOPENED.value):
                state = "pending"
        if (state == "completed") != (task.status == TaskStatus.COMPLETED.value):
            yield f"{task.label} is {task.status}, its events say {state}"


def _done(team: Team) -> Iterator[str]:
    for task in Task.objects.filter(team=team).exclude(status=TaskStatus.COMPLETED.value):
        yield f"{task.label} is {task.status}, not completed"
    for run in Run.objects.filter(team=team, status__in=(RunStatus.PENDING.value, RunStatus.RUNNING.value)):
        yield f"run {run.pk} is still {run.status}"


def _leases(team: Team) -> Iterator[str]:
    """A run is started only when nobody has it, each time with the next fence; it ends once."""
    ends = {EventKind.RUN_COMPLETED.value, EventKind.RUN_FAILED.value, EventKind.RUN_KILLED.value}
    gives_back = {EventKind.RUN_PARKED.value, EventKind.RUN_RESUMABLE.value}
    state: dict[str, str] = defaultdict(lambda: "free")
    fences: dict[str, int] = defaultdict(int)
    for event in Event.objects.filter(team=team).exclude(run_id="").order_by("seq"):
        if event.kind == EventKind.RUN_STARTED.value:
            if state[event.run_id] != "free":
                yield f"run {event.run_id} was started while {state[event.run_id]}"
            if event.data["fence"] != fences[event.run_id] + 1:
                yield f"run {event.run_id} got fence {event.data['fence']} after {fences[event.run_id]}"
            state[event.run_id], fences[event.run_id] = "held", event.data["fence"]
        elif event.kind in gives_back and state[event.run_id] != "ended":
            state[event.run_id] = "free"
        elif event.kind in ends:
            if state[event.run_id] == "ended":
                yield f"run {event.run_id} ended twice"
            state[event.run_id] = "ended"


def _steps(team: Team) -> Iterator[str]:
    """Steps are gapless per run and their fences never fall; retention takes them from the front of runs that have ended."""
    for run in Run.objects.filter(team=team):
        rows = list(Step.objects.filter(run=run).order_by("seq").values_list("seq", "fence"))
        first = rows[0][0] if rows and run.ended_at else run.last_seq + 1 if run.ended_at else 1
        if [seq for seq, _ in rows] != list(range(first, run.last_seq + 1)):
            yield f"run {run.pk}: its steps have a gap"
        if any(a > b for (_, a), (_, b) in itertools.pairwise(rows)):
            yield f"run {run.pk}: a step of an old life came after one of a newer"


def _decisions(team: Team) -> Iterator[str]:
    """Nothing is asked twice, answered twice, or handed over twice to one life."""
    asked = Counter(Decision.objects.filter(team=team, run__isnull=False).values_list("run_id", "kind", "ask_key"))
    yield from (f"run {run}: {kind} was asked {n} times" for (run, kind, _), n in asked.items() if n > 1)
    answers = Counter(_ids(team, EventKind.DECISION_ANSWERED))
    yield from (f"decision {pk} was answered {n} times" for pk, n in answers.items() if n > 1)
    delivered = Event.objects.filter(team=team, kind=EventKind.DECISION_DELIVERED.value)
    lives = Counter((e.decision_id, e.data["fence"]) for e in delivered)
    yield from (f"decision {pk} reached life {fence} {n} times" for (pk, fence), n in lives.items() if n > 1)
    for decision in Decision.objects.filter(
        team=team, status=DecisionStatus.ANSWERED.value, run__status=RunStatus.COMPLETED.value
    ):
        if decision.pk not in answers:
            yield f"decision {decision.pk} is answered without an event"
        if decision.consumed_at is None:
            facts = (
                f"{decision.kind} of {decision.run_id}, delivered to life {decision.delivered_fence}, parked {decision.parked}"
            )
            yield f"decision {decision.pk} was answered and its effect never reached the transcript ({facts})"
    for decision in Decision.objects.filter(
        team=team, status=DecisionStatus.WITHDRAWN.value, run__status=RunStatus.COMPLETED.value
    ):
        yield f"decision {decision.pk} of a completed run was withdrawn: {decision.closed_why}"


def _ids(team: Team, kind: EventKind) -> list[str]:
    return list(Event.objects.filter(team=team, kind=kind.value).values_list("decision_id", flat=True))


def _usage(team: Team) -> Iterator[str]:
    """Sums of what was counted equal what runs, tasks, agents and the team say."""
    fields = ("input_tokens", "cache_creation_tokens", "cache_read_tokens", "output_tokens")
    total = 0
    for run in Run.objects.filter(team=team):
        counted = MessageUsage.objects.filter(run=run).aggregate(**{f: Sum(f) for f in fields})
        for name in fields:
            if (counted[name] or 0) != getattr(run, name):
                yield f"run {run.pk}: {name} is {getattr(run, name)}, counted {counted[name] or 0}"
        total += sum(counted[f] or 0 for f in fields)
        cost = CostReading.objects.filter(run=run).aggregate(s=Sum("usd"))["s"]
        if cost is not None and run.cost_usd is not None and abs(cost - run.cost_usd) > 1e-6:
            yield f"run {run.pk}: cost is {run.cost_usd}, its processes say {cost}"
    tasks = sum(Task.objects.filter(team=team).values_list("used_tokens", flat=True))
    if not total == team.used_tokens == tasks:
        yield f"tokens: counted {total}, team {team.used_tokens}, tasks {tasks}"
