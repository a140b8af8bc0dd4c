"""The checkpoints of a team, what it would hold if it were saved now, and everything that work can go on from."""

import datetime as dt
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Max
from django.utils import timezone

from tasks_app.domain import checkpoint
from tasks_app.domain.checkpoint import AgentState, Content, EntryState, Position, RunState, TaskState, TeamMark
from tasks_app.domain.checkpoint_diff import Difference, difference
from tasks_app.domain.errors import NotFound
from tasks_app.domain.ids import task_label
from tasks_app.domain.shared import dumps
from tasks_app.domain.statuses import OPEN_RUN, RunStatus, TeamStatus
from tasks_app.models import Agent, Checkpoint, Run, Task, Team, TranscriptEntry
from tasks_app.selectors import context as shared
from tasks_app.selectors.checkpoint_contents import KEPT, Read

SHOWN = 50
"""Checkpoints that are listed, the newest first."""
OPEN = [status.value for status in OPEN_RUN]


@dataclass(frozen=True)
class Saved:
    """A checkpoint in a list. `problem`: why it cannot be restored; else `change` says what that would do."""

    id: str
    name: str
    by: str
    automatic: bool
    at: dt.datetime
    run_id: str
    change: Difference | None = None
    problem: str = ""

    @property
    def words(self) -> str:
        """What restoring it would do, or why it cannot be."""
        return self.problem or (self.change.words if self.change else "")


@dataclass(frozen=True)
class Resumable:
    """Something besides a checkpoint that work can go on from: an attempt without a process, or a team that is held."""

    what: str
    why: str
    then: str
    task_pk: int | None = None


@dataclass(frozen=True)
class Overview:
    """All that work of a team can go on from, as of event `seq`."""

    seq: int
    resumable: tuple[Resumable, ...]
    checkpoints: tuple[Saved, ...]
    putting_back: bool  # its files are being put back


def mark(team: Team) -> TeamMark:
    """Return what a checkpoint says of the team that it is of."""
    return TeamMark(slug=team.slug, created_at=team.created_at.astimezone(dt.UTC).isoformat())


def get(team_id: int, checkpoint_id: str) -> Checkpoint:
    """Return a checkpoint of the team with it. Raises `NotFound`."""
    found = Checkpoint.objects.select_related("team").filter(pk=checkpoint_id, team_id=team_id).first()
    if found is None:
        raise NotFound("This team has no such checkpoint, or it was removed.", field="checkpoint")
    return found


def content(saved: Checkpoint) -> Content:
    """Return what a checkpoint holds. Raises `Invalid` for a damaged or foreign one, or one of another schema."""
    return checkpoint.read(saved.data, team=mark(saved.team))


def capture(team: Team, *, workspace: str = "") -> Content:
    """Return where everything of the team stands: seven queries."""
    agents = list(Agent.objects.filter(team=team))
    names = {agent.pk: agent.name for agent in agents}
    runs = list(Run.objects.filter(team=team, status__in=OPEN).select_related("task").order_by("pk"))
    by_agent, by_task = {run.agent_id: run for run in runs}, {run.task_id: run for run in runs}
    sessions = {agent.pk: _session(agent, by_agent.get(agent.pk)) for agent in agents}
    places = positions(sessions.values())
    tasks = Task.objects.filter(team=team).select_related("review_of").order_by("number")
    return Content(
        team=mark(team),
        last_seq=team.last_seq,
        workspace=workspace,
        tasks=[_task(one, names, by_task.get(one.pk)) for one in tasks],
        context=[_entry(row) for row in shared.alive(team.pk).order_by("name").select_related("blob")],
        agents=[_agent(one, places.get(sessions[one.pk], NOWHERE)) for one in agents],
        runs=[_run(one, names) for one in runs],
    )


def _task(task: Task, names: Mapping[int, str], run: Run | None) -> TaskState:
    return TaskState.model_validate(
        {
            **{name: getattr(task, name) for name in ("number", "title", "status", "attempts", "attempts_allowed")},
            **{name: getattr(task, name) for name in ("failed", "held", "guidance", "output", "completed_by")},
            "completed_while_blocked_by": task.completed_while_blocked_by,
            "assignee": names.get(task.assignee_id or 0, ""),
            "worker": names.get(run.agent_id, "") if run else "",
            "evidence": dumps(task.evidence),
            "started_at": _moment(task.started_at),
            "completed_at": _moment(task.completed_at),
            "review_of": task.review_of.number if task.review_of else None,
        }
    )


def _moment(at: dt.datetime | None) -> str | None:
    return at.astimezone(dt.UTC).isoformat() if at else None


def _entry(row: Any) -> EntryState:
    text = None if row.blob_id else dumps(row.value)
    return EntryState(
        name=row.name,
        version=row.version,
        digest=row.blob.digest if text is None else checkpoint.digest(text),
        size=row.size,
        json_text=text,
        scope=row.scope,
        task_number=row.task_number,
        owner=row.owner,
        author=row.author,
        expires_at=_moment(row.expires_at),
    )


def _session(agent: Agent, run: Run | None) -> str:
    """That of its open attempt once that has a transcript: there it goes on, whatever it left off with before."""
    return run.session_id if run and run.started_session else agent.session_id


def _agent(agent: Agent, place: Position) -> AgentState:
    return AgentState(
        name=agent.name,
        position=place,
        handover=agent.handover,
        context_tokens=agent.context_tokens,
        context_window=agent.context_window,
    )


def _run(run: Run, names: Mapping[int, str]) -> RunState:
    return RunState(
        id=run.pk,
        task=run.task.number,
        agent=names.get(run.agent_id, ""),
        attempt=run.attempt,
        status=RunStatus(run.status),
        workspace_commit=run.workspace_commit,
    )


NOWHERE = Position(session_id="", lines=0, last="")


def positions(session_ids: Iterable[str]) -> dict[str, Position]:
    """Return the place at the end of what is stored of each session; one of which nothing is stored is missing. Two queries."""
    lines = TranscriptEntry.objects.filter(session_id__in=set(session_ids) - {""}, subpath="").values("session_id")
    ends = list(lines.annotate(n=Count("pk"), end=Max("pk")).values_list("session_id", "n", "end"))
    last = dict(TranscriptEntry.objects.filter(pk__in=[end for _, _, end in ends]).values_list("pk", "uuid"))
    return {session: Position(session_id=session, lines=n, last=last[end] or "") for session, n, end in ends}


def held(session_ids: Collection[str]) -> dict[str, int]:
    """Return how many lines of each session are stored; one query."""
    rows = TranscriptEntry.objects.filter(session_id__in=session_ids, subpath="").values("session_id")
    return {row["session_id"]: row["n"] for row in rows.annotate(n=Count("pk"))}


def compare(then: Content, now: Content, *, only: int | None = None, at: dt.datetime | None = None) -> Difference:
    """Return what restoring `then` would change now; one query."""
    return difference(then, now, at=at or timezone.now(), held=held(_sessions(then)), only=only)


def _sessions(then: Read) -> set[str]:
    return set() if isinstance(then, str) else {one.position.session_id for one in then.agents} - {""}


def overview(team_id: int) -> Overview:
    """Return all that the work of a team can go on from. Raises `NotFound`."""
    team = Team.objects.filter(pk=team_id).first()
    if team is None:
        raise NotFound("This team does not exist any more.")
    now = capture(team)
    rows = list(Checkpoint.objects.filter(team=team).defer("data").order_by("-at", "-pk")[:SHOWN])
    contents = KEPT.of([row.pk for row in rows], team=mark(team))
    lines, at = held(set().union(*map(_sessions, contents.values()))), timezone.now()
    return Overview(
        seq=team.last_seq,
        resumable=tuple(_resumable(team, now)),
        checkpoints=tuple(_saved(row, contents[row.pk], now, lines, at) for row in rows if row.pk in contents),
        putting_back=bool(team.workspace_due),
    )


def _saved(row: Checkpoint, then: Read, now: Content, lines: Mapping[str, int], at: dt.datetime) -> Saved:
    facts = (row.pk, row.name, row.by, row.automatic, row.at, row.run_id)
    if isinstance(then, str):
        return Saved(*facts, problem=then)
    return Saved(*facts, change=difference(then, now, at=at, held=lines))


def _resumable(team: Team, now: Content) -> list[Resumable]:
    found = []
    if team.status != TeamStatus.ACTIVE.value and team.archived_at is None:
        queued = sum(one.status == "pending" for one in now.tasks)
        found.append(
            Resumable(
                "The whole team",
                f"{team.status} by the lead",
                f"Resume: it takes up {_tasks(queued)} that {'is' if queued == 1 else 'are'} queued, from the files as they are.",
            )
        )
    waiting = Run.objects.filter(team=team, status=RunStatus.PENDING.value).select_related("task", "agent").order_by("created_at")
    return [*found, *(_waiting(run, team) for run in waiting)]


def _tasks(count: int) -> str:
    return f"{count} task{'' if count == 1 else 's'}"


WHY = {
    "parked": ("waits for your answer, without a process", "Answer its request: {agent} goes on where it was."),
    "budget": ("its budget is used up", "Answer its request: {agent} goes on where it was."),
    "interrupted": ("was interrupted", "Nothing to do: {agent} goes on where it was, on the next free worker."),
    "worker_lost": ("its worker was lost", "Nothing to do: {agent} goes on where it was, on the next free worker."),
    "": ("waits for a worker", "Nothing to do: {agent} begins on the next free worker."),
}
AGAIN = ("is to be tried again: {reason}", "Nothing to do: {agent} goes on where it was, by itself.")


def _waiting(run: Run, team: Team) -> Resumable:
    why, then = WHY.get(run.reason, AGAIN)
    words = {"agent": run.agent.name, "reason": run.reason.replace("_", " ")}
    held_back = "" if team.status == TeamStatus.ACTIVE.value else " Resume the team first."
    what = f"{run.agent.name} at {task_label(run.task.number)} {run.task.title}"
    return Resumable(what, why.format(**words), then.format(**words) + held_back, run.task_id)
