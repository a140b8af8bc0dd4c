"""Teams as pages show them: progress, spending and the most urgent thing in each."""

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from decimal import Decimal
from typing import Any

from django.db.models import Count, QuerySet

from tasks_app.domain.budget import PACE_MIN_S, Stand
from tasks_app.domain.budget import of_team as budget_of_team
from tasks_app.domain.context import Level
from tasks_app.domain.deciders import TURN
from tasks_app.domain.errors import NotFound
from tasks_app.domain.estimate import Course
from tasks_app.domain.messaging import Wait, team_wait
from tasks_app.domain.statuses import TaskStatus, TeamStatus
from tasks_app.models import Task, Team
from tasks_app.selectors import agents, courses, inbox
from tasks_app.selectors.agents import AgentCard
from tasks_app.selectors.compiled import Compiled
from tasks_app.selectors.look import once
from tasks_app.selectors.states import STATE, STUCK, URGENCY, AgentState, TaskState, TeamState
from tasks_app.selectors.stored_teams import stored

NOT_BEGUN = Course()


@dataclass(frozen=True)
class Counts:
    """How many tasks are in each state."""

    waiting: int = 0
    failed: int = 0
    blocked: int = 0
    in_flight: int = 0
    queued: int = 0
    done: int = 0
    cancelled: int = 0
    stuck: int = 0  # of the blocked ones: a dependency was cancelled

    @property
    def total(self) -> int:
        """All tasks that are still meant to be done, and the done ones."""
        return self.waiting + self.failed + self.blocked + self.in_flight + self.queued + self.done


@dataclass(frozen=True)
class TeamSummary:
    """All that a header says about a team."""

    pk: int
    slug: str
    name: str
    goal: str
    status: TeamStatus
    rehearsal: bool
    sandbox: bool  # commands of its agents are kept in the workspace and off the network
    workspace: str
    state: TeamState
    counts: Counts
    waiting: int  # open decisions, snoozed ones included
    agents: int
    budget_usd: Decimal | None
    budget_tokens: int | None
    run_budget: Mapping[str, Any]  # what each run may use: `usd`, `tokens`
    used_usd: Decimal | None  # None: never reported
    cost_partial: bool  # it has cost at least this
    used_tokens: int
    created_at: dt.datetime
    ended_at: dt.datetime | None
    archived_at: dt.datetime | None
    open_runs: int
    last_seq: int
    course: Course = NOT_BEGUN

    @property
    def percent(self) -> int | None:
        """Whole percent of the dollar budget, or of the token budget where there is no dollar figure; None: unknown."""
        if self.budget_usd and self.used_usd is not None:
            return int(self.used_usd * 100 / self.budget_usd)
        return self.used_tokens * 100 // self.budget_tokens if self.budget_tokens else None

    @property
    def stand(self) -> Stand:
        """How it stands with the budgets of its own that hold."""
        return budget_of_team(float(self.used_usd or 0), self.used_tokens, self.budget_usd, self.budget_tokens)

    @property
    def unfinished(self) -> bool:
        """Whether a task is left to do; an archived team has put it aside."""
        return self.counts.total > self.counts.done and self.archived_at is None

    @property
    def can_pause(self) -> bool:
        """Whether pausing keeps anything from starting."""
        return self.status is TeamStatus.ACTIVE and self.unfinished

    @property
    def can_resume(self) -> bool:
        """Whether there is work to take up again, after a pause or a stop."""
        return self.status is not TeamStatus.ACTIVE and self.unfinished

    @property
    def can_stop(self) -> bool:
        """Whether stopping ends anything or keeps anything from starting."""
        return self.status is not TeamStatus.STOPPED and (self.unfinished or self.open_runs > 0)

    @property
    def can_archive(self) -> bool:
        """Whether it has ended: nothing is left to do or it was stopped, and nothing is open."""
        over = not self.unfinished or self.status is TeamStatus.STOPPED
        return over and self.archived_at is None and not self.open_runs and not self.waiting

    def pace_usd(self, now: dt.datetime) -> Decimal | None:
        """What the whole team will have cost if the rest costs like what is done; None before ten minutes or a done task."""
        if self.used_usd is None or not self._paces(now):
            return None
        total = self.course.total_usd(float(self.used_usd))
        return None if total is None else Decimal(str(round(total, 6)))

    def pace_tokens(self, now: dt.datetime) -> int | None:
        """How many tokens the whole team will have used, under the same conditions."""
        total = self.course.total_tokens(self.used_tokens) if self._paces(now) else None
        return None if total is None else round(total)

    def _paces(self, now: dt.datetime) -> bool:
        return ((self.ended_at or now) - self.created_at).total_seconds() >= PACE_MIN_S


@dataclass(frozen=True)
class Mark:
    """A team in a list of teams."""

    pk: int
    slug: str
    name: str
    rehearsal: bool
    waiting: int
    failed: int


def visible(team_ids: Collection[int]) -> list[TeamSummary]:
    """Return these teams without archived ones, most urgent first, then newest; eight queries, whatever their number."""
    found = summaries(listed(team_ids)).values()
    return sorted(found, key=lambda team: (URGENCY[team.state], -team.created_at.timestamp(), team.pk))


@once
def listed(team_ids: Collection[int]) -> frozenset[int]:
    """Return these teams without archived ones; one query."""
    return frozenset(Team.objects.filter(pk__in=team_ids, archived_at=None).values_list("pk", flat=True))


@once
def summaries(team_ids: Collection[int]) -> dict[int, TeamSummary]:
    """Return these teams by pk; seven queries, whatever the number of teams."""
    teams, found = stored(team_ids).values(), counts(team_ids)
    waiting, known = inbox.counts(team_ids), courses.of_teams(team_ids)
    crews: dict[int, list[AgentCard]] = {team.pk: [] for team in teams}
    for card in agents.of_teams(team_ids):
        crews[card.team_id].append(card)
    return {
        team.pk: replace(
            _summary(team, found.get(team.pk, Counts()), waiting.get(team.pk, inbox.NONE).open, crews[team.pk]),
            course=known.get(team.pk, NOT_BEGUN),
        )
        for team in teams
    }


def summary(team_id: int) -> TeamSummary:
    """Return a team; as `summaries`. Raises `NotFound` where it is gone."""
    if team_id not in (found := summaries([team_id])):
        raise NotFound("There is no such team any more.")
    return found[team_id]


def sums(team_ids: Collection[int]) -> tuple[Counts, int]:
    """Return the task counts of these teams together, without archived ones, and how many decisions are open; three queries."""
    found = [astuple(one) for one in counts(listed(team_ids)).values()]
    return Counts(*(sum(column) for column in zip(*found, strict=True))), inbox.total(team_ids).open


def marks(team_ids: Collection[int], *, archived: bool = False) -> list[Mark]:
    """Return these teams by name, each with what calls for the lead; with `archived` also those. Four queries."""
    waiting = inbox.counts(team_ids)
    failed = dict(
        Task.objects.filter(team_id__in=team_ids, status=TaskStatus.PENDING.value, failed=True)
        .order_by()
        .values_list("team_id")
        .annotate(Count("pk"))
    )
    wanted = team_ids if archived else listed(team_ids)
    rows = Team.objects.filter(pk__in=wanted).order_by("name", "pk").values_list("pk", "slug", "name", "rehearsal")
    return [Mark(*row, waiting.get(row[0], inbox.NONE).open, failed.get(row[0], 0)) for row in rows]


def slug_of(team_pk: int) -> str | None:
    """Return the address of a team, or None."""
    return Team.objects.filter(pk=team_pk).values_list("slug", flat=True).first()


def reads_nothing(team_pk: int) -> Wait | None:
    """Return why a team reads no messages now; None where it does, or where there is no such team."""
    found = Team.objects.filter(pk=team_pk).values_list("status", "ended_at", "archived_at").first()
    return team_wait(status=found[0], ended=found[1] is not None, archived=found[2] is not None) if found else None


@dataclass(frozen=True)
class Identity:
    """Which team it is."""

    pk: int
    slug: str
    name: str
    rehearsal: bool


def identity(slug: str) -> Identity | None:
    """Return the team of that address, or None; one query."""
    row = Team.objects.filter(slug=slug).values_list("pk", "slug", "name", "rehearsal").first()
    return Identity(*row) if row else None


@once
def counts(team_ids: Collection[int]) -> Mapping[int, Counts]:
    """Return how many tasks of each team are in each state; a team without tasks is missing. One query.

    A turn of the lead agent that came to nothing is no task of the plan: it is not among the cancelled ones.
    """
    found: dict[int, dict[str, int]] = {}
    for team_id, state, count, stuck in _COUNTS.values(team_ids):
        mine = found.setdefault(team_id, {"stuck": 0})
        mine[state] = count
        mine["stuck"] += stuck if state == TaskState.BLOCKED else 0
    return {team_id: Counts(**numbers) for team_id, numbers in found.items()}


def _counts(team_ids: Collection[int]) -> QuerySet[Task, tuple[int, str, int, int]]:
    rows = Task.objects.filter(team_id__in=team_ids).exclude(type=TURN, status=TaskStatus.CANCELLED.value).annotate(state=STATE)
    counted = rows.values("team_id", "state").annotate(n=Count("pk"), n_stuck=Count("pk", filter=STUCK))
    return counted.values_list("team_id", "state", "n", "n_stuck").order_by()


_COUNTS = Compiled(_counts)


def _summary(team: Team, counts: Counts, waiting: int, crew: Sequence[AgentCard]) -> TeamSummary:
    return TeamSummary(
        pk=team.pk,
        slug=team.slug,
        name=team.name,
        goal=team.goal,
        status=TeamStatus(team.status),
        rehearsal=team.rehearsal,
        sandbox=bool(team.limits.get("sandbox")),
        workspace=team.workspace,
        state=rollup(counts, waiting, crew),
        counts=counts,
        waiting=waiting,
        agents=len(crew),
        budget_usd=team.budget_usd,
        budget_tokens=team.budget_tokens,
        run_budget=team.limits.get("run_budget") or {},
        used_usd=team.used_usd if team.cost_known else None,
        cost_partial=team.cost_partial,
        used_tokens=team.used_tokens,
        created_at=team.created_at,
        ended_at=team.ended_at,
        archived_at=team.archived_at,
        open_runs=sum(card.run is not None for card in crew),
        last_seq=team.last_seq,
    )


def rollup(counts: Counts, waiting: int, crew: Sequence[AgentCard]) -> TeamState:
    """Return the most urgent thing about a team, in the order of `TeamState`."""
    standing = counts.blocked > 0 and not (counts.in_flight or counts.queued)
    found = {
        TeamState.WAITING: waiting > 0 or counts.waiting > 0,
        TeamState.FAILED: counts.failed > 0,
        TeamState.LOST: any(card.state is AgentState.LOST for card in crew),
        TeamState.OVER_TIME: any(card.over and card.state is AgentState.WORKING for card in crew),
        TeamState.BLOCKED: counts.stuck > 0 or standing,
        TeamState.CONTEXT: any(card.context.level is Level.CRITICAL and card.run is not None for card in crew),
        TeamState.IN_FLIGHT: counts.in_flight > 0,
        TeamState.QUEUED: counts.queued > 0 or counts.total + counts.cancelled == 0,
        TeamState.DONE: True,
    }
    return next(state for state in TeamState if found[state])
