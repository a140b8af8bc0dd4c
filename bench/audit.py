"""The audit: reads the event log and the tables of one home and proves that nothing was lost or done twice. It only reads.

Its program is `python -m bench.auditor`.
"""

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from django.db.models import Sum

from bench import audit_rows
from bench.audit_log import Walk
from bench.audit_script import Scripted
from tasks_app.domain.events import EventKind
from tasks_app.domain.statuses import RunStatus, TaskStatus
from tasks_app.models import Decision, Event, Run, Step, Task, Team
from tasks_app.services.moments import one_moment


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
    """Teams whose oldest events are not there: what needs the whole log was not checked."""
    short: int = 0
    """Ended runs whose oldest steps are not there."""
    violations: list[str] = field(default_factory=list)


def audit(*, must_be_done: bool = True, must_be_whole: bool = True) -> Report:
    """Return the report over every team of this home, as of one moment: others may write meanwhile.

    `must_be_whole`: no rule removes events or steps here, so that the oldest are missing is a violation; otherwise it is counted.
    """
    report, asked = Report(), Counter[str]()
    with one_moment():
        for team in Team.objects.order_by("pk"):
            _count(report, team)
            lines = [*_look_at(report, team, whole=must_be_whole), *(_done(team) if must_be_done else ())]
            report.violations += [f"{team.slug}: {line}" for line in lines]
            titles = Decision.objects.filter(team=team).values_list("task__title", "kind")
            asked.update(f"{title or 'the team'} / {kind}" for title, kind in titles)
    report.asked = dict(sorted(asked.items()))
    return report


def _count(report: Report, team: Team) -> None:
    report.teams += 1
    report.tasks += Task.objects.filter(team=team).count()
    report.runs += Run.objects.filter(team=team).count()
    report.events += Event.objects.filter(team=team).count()
    report.handoffs += Run.objects.filter(team=team).aggregate(n=Sum("handoffs"))["n"] or 0
    report.summaries |= dict(Task.objects.filter(team=team).values_list("title", "output"))
    report.parked += Event.objects.filter(team=team, kind=EventKind.RUN_PARKED.value, data__reason="parked").count()


def _look_at(report: Report, team: Team, *, whole: bool) -> Iterator[str]:
    cut = bool(team.last_seq) and not Event.objects.filter(team=team, seq=1).exists()
    report.cut += cut
    if cut and whole:
        yield "its first events are missing: little else can be proved"
    rows = (audit_rows.answers_spent, audit_rows.all_waits_end, audit_rows.calls_once, audit_rows.usage)
    for check in (_sequence, _decisions, *rows):
        yield from check(team)
    yield from _steps(report, team, whole=whole)
    if not cut:
        walk = Walk(team, steps_age_out=not whole)
        yield from walk.violations()
        yield from audit_rows.against_log(walk)
    scripted = Scripted(team)
    yield from scripted.check()
    for name, value in scripted.sums.as_words().items():
        report.scripted[name] = report.scripted.get(name, 0) + value


def _sequence(team: Team) -> Iterator[str]:
    """Sequence numbers run up to the counter without a gap or a repeat; retention takes them from the front."""
    numbers = list(Event.objects.filter(team=team).order_by("seq").values_list("seq", flat=True))
    if numbers and numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        yield "the event sequence has a gap or a repeat"
    if numbers and team.last_seq != numbers[-1]:
        yield f"the counter says {team.last_seq}, the log ends with {numbers[-1]}"


def _done(team: Team) -> Iterator[str]:
    for task in Task.objects.filter(team=team).exclude(status=TaskStatus.COMPLETED.value):
        yield f"{task.label} is {task.status}, not completed"
    for run in Run.objects.filter(team=team, status__in=(RunStatus.PENDING.value, RunStatus.RUNNING.value)):
        yield f"run {run.pk} is still {run.status}"


def _steps(report: Report, team: Team, *, whole: bool) -> Iterator[str]:
    """Steps are gapless per run and their fences never fall; a rule may take those of runs that have ended, from the front."""
    for run in Run.objects.filter(team=team):
        rows = list(Step.objects.filter(run=run).order_by("seq").values_list("seq", "fence"))
        first = rows[0][0] if rows else run.last_seq + 1
        aged = first > 1 and run.ended_at is not None and not whole
        report.short += aged
        if [seq for seq, _ in rows] != list(range(first if aged else 1, run.last_seq + 1)):
            yield f"run {run.pk}: its steps have a gap"
        if any(a > b for (_, a), (_, b) in itertools.pairwise(rows)):
            yield f"run {run.pk}: a step of an old life came after one of a newer"


def _decisions(team: Team) -> Iterator[str]:
    """Nothing is answered twice, or handed over twice to one life."""
    answered = Event.objects.filter(team=team, kind=EventKind.DECISION_ANSWERED.value)
    answers = Counter(answered.values_list("decision_id", flat=True))
    yield from (f"decision {pk} was answered {n} times" for pk, n in answers.items() if n > 1)
    delivered = Event.objects.filter(team=team, kind=EventKind.DECISION_DELIVERED.value)
    lives = Counter((e.decision_id, e.data["fence"]) for e in delivered)
    yield from (f"decision {pk} reached life {fence} {n} times" for (pk, fence), n in lives.items() if n > 1)
