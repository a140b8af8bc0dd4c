"""Claims: which worker has a run. Sole writer of fence and lease at its start; one winner, whoever comes at the same moment."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from math import ceil

from django.db import transaction
from django.db.models import Count, F, Q
from django.db.models.functions import Coalesce
from django.utils import timezone

from tasks_app import wake
from tasks_app.domain.deciders import TURN
from tasks_app.domain.errors import NotFound
from tasks_app.domain.events import EventKind
from tasks_app.domain.leases import LEASE_S
from tasks_app.domain.statuses import AgentStatus, RunStatus, TeamStatus
from tasks_app.domain.transitions import START_RUN
from tasks_app.models import Run, Team
from tasks_app.selectors.places import parallel
from tasks_app.selectors.workers import alive
from tasks_app.services import capacity, events, runs, worktime
from tasks_app.services.clock import DatabaseNow
from tasks_app.services.runs import Held


def claim(run_id: str, *, worker: str, host: str) -> Held | None:
    """Take a due run: a higher fence and a lease, in one UPDATE. None where it is not to be had now."""
    return next(iter(claim_all([run_id], worker=worker, host=host)), None)


def claim_all(
    run_ids: Sequence[str],
    *,
    worker: str,
    host: str,
    more: int | None = None,
    apart: Collection[str] = (),
    tried: dict[str, Held] | None = None,
) -> list[Held]:
    """`claim` of many runs, one transaction and one UPDATE per team; returns those it got.

    The team's caps are counted under its lock, so two workers never start one run too many: those named first come first.
    `more`: places besides those of the named runs. In these, and in those of named runs that are not to be had, what else is due
    in their teams is taken along, no more than this worker's share of the work. None: only the named.
    `apart`: runs that are not taken along.
    `tried`: what earlier tries of this call have claimed; those commits that are done count, whether or not they were answered.
    """
    tried = {} if tried is None else tried
    won = confirmed(tried, worker=worker)
    left = None if more is None else more - sum(held.id not in run_ids for held in won)
    mine = {held.id for held in won}
    wanted = [run_id for run_id in dict.fromkeys(run_ids) if run_id not in mine]
    for team_id, ids in _by_team(wanted, along=left is not None).items():
        with transaction.atomic():
            claimed = _claim(team_id, ids, worker=worker, host=host, more=left, apart=apart)
            tried.update({held.id: held for held in claimed})
        left = None if left is None else left + len(ids) - len(claimed)
        won += claimed
    return won


def _by_team(run_ids: Sequence[str], *, along: bool) -> dict[int, list[str]]:
    """Return the named runs by team, in the order they were named, of the teams in which there is something to claim.

    That is one of the named, or with `along` whatever is due. Of fifty nudges in one moment the first twenty-five may name
    runs that the worker which came first has taken along: the second must not wait for the next.
    """
    rows = {pk: (team, status) for pk, team, status in Run.objects.filter(pk__in=run_ids).values_list("pk", "team_id", "status")}
    named: dict[int, list[str]] = defaultdict(list)
    for run_id in run_ids:
        if run_id in rows:
            named[rows[run_id][0]].append(run_id)
    waits = {team_id for team_id, status in rows.values() if status == RunStatus.PENDING.value}
    if along and (others := named.keys() - waits):
        due = Run.objects.filter(team_id__in=others, status=RunStatus.PENDING.value, due_at__lte=DatabaseNow())
        waits.update(due.values_list("team_id", flat=True).distinct())
    return {team_id: ids for team_id, ids in named.items() if team_id in waits}


def confirmed(tried: Mapping[str, Held], *, worker: str) -> list[Held]:
    """Return which of these the worker holds, with exactly these fences, and renew their leases; not one that is over."""
    if not tried:
        return []
    mine = Run.objects.filter(pk__in=list(tried), worker=worker, status=RunStatus.RUNNING.value, lease_until__gt=DatabaseNow())
    worktime.renew(mine)
    fences = dict(mine.values_list("pk", "fence"))
    return [held for held in tried.values() if fences.get(held.id) == held.fence]


def follow(run_id: str, *, team_id: int, worker: str, host: str) -> Held | None:
    """Claim a run that was given out just now, in the transaction of that, for a place that is free here.

    Where it is not to be had, or it is not its turn, others are nudged for it.
    """
    won = _claim(team_id, [run_id], worker=worker, host=host, more=None) if _is_next(run_id) else []
    if not won:
        transaction.on_commit(partial(wake.nudge, run_id), robust=True)
    return won[0] if won else None


def _is_next(run_id: str) -> bool:
    """Whether no run of another team has been due for longer: a place that is free is for who has waited longest."""
    run = Run.objects.filter(pk=run_id).values("team_id", "due_at").first()
    others = Run.objects.filter(status=RunStatus.PENDING.value, team__status=TeamStatus.ACTIVE.value)
    return run is not None and not others.exclude(team_id=run["team_id"]).filter(due_at__lt=run["due_at"]).exists()


def hand_on(run_id: str) -> bool:
    """Nudge others for a run for which there is no place here; False where the broker does not answer."""
    due = Run.objects.filter(pk=run_id, status=RunStatus.PENDING.value, due_at__lte=DatabaseNow())
    return not due.exists() or wake.nudge(run_id)


def _claim(
    team_id: int, run_ids: list[str], *, worker: str, host: str, more: int | None, apart: Collection[str] = ()
) -> list[Held]:
    try:
        team = events.lock(team_id)
    except NotFound:
        return []
    fences = _to_be_had(team, run_ids, worker=worker, more=more, apart=apart)
    if not fences:
        return []
    Run.objects.filter(pk__in=fences, status__in=START_RUN.sources, due_at__lte=DatabaseNow()).update(
        status=START_RUN.target,
        fence=F("fence") + 1,
        lease_until=DatabaseNow() + LEASE_S,
        worker=worker,
        host=host,
        pid=0,
        nudged_at=0,
        reason="",
        detail="",
        raw="",
        waits_for=None,
        started_at=Coalesce(F("started_at"), timezone.now()),
    )
    # what the UPDATE has taken for us, and nothing else, has exactly the next fence under our name
    ours = {run.pk: run for run in Run.objects.select_related("task").filter(pk__in=fences, worker=worker)}
    won = [ours[pk] for pk, fence in fences.items() if pk in ours and ours[pk].fence == fence + 1]
    if won:
        events.append_all(team_id, [_started(run) for run in won])
    return [Held(run.pk, run.fence, run.team_id, run.task_id, run.agent_id) for run in won]


def _to_be_had(team: Team, run_ids: list[str], *, worker: str, more: int | None, apart: Collection[str]) -> dict[str, int]:
    """Return the runs that may start within the team's cap, with their fences: in the order they were named, then others."""
    if team.status != TeamStatus.ACTIVE.value:
        return {}
    due = Run.objects.filter(
        team=team, status=RunStatus.PENDING.value, due_at__lte=DatabaseNow(), agent__status=AgentStatus.ACTIVE.value
    ).order_by("due_at", "pk")
    found = {pk: (fence, kind) for pk, fence, kind in due.values_list("pk", "fence", "task__type")}
    named = [run_id for run_id in run_ids if run_id in found]
    others = [run_id for run_id in found if run_id not in named and run_id not in apart]
    if more is not None and more < 0:  # an earlier try has taken others along into places that the named ones were to have
        named = named[: max(0, len(run_ids) + more)]
    most = 0 if more is None else more + len(run_ids) - len(named)
    places = parallel(team.limits) - capacity.at_work(team.pk)
    fences = {}
    for run_id in named + others[: _along(worker, len(named), len(others), most=most)]:
        fence, kind = found[run_id]
        if kind == TURN or places > 0:
            places -= kind != TURN
            fences[run_id] = fence
    return fences


def _along(worker: str, named: int, others: int, *, most: int) -> int:
    """How many others are taken along: up to the worker's share of all that runs and is due. The rest is for other workers."""
    if not others or most <= 0:
        return 0
    running = Run.objects.filter(status=RunStatus.RUNNING.value)
    held = running.aggregate(all=Count("pk"), mine=Count("pk", filter=Q(worker=worker)))
    share = ceil((held["all"] + named + others) / max(1, len(alive())))
    return max(0, min(most, int(share - held["mine"] - named)))


def _started(run: Run) -> events.Line:
    data = {"fence": run.fence, "worker": run.worker, "resumed": run.fence > 1}
    return runs.line(run, EventKind.RUN_STARTED, data=data)
