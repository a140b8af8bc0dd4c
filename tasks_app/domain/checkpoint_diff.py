"""What restoring a checkpoint would change, computed from what it holds and what is now; and the states that it leads to."""

import datetime as dt
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tasks_app.domain.checkpoint import AgentState, Content, EntryState, TaskState
from tasks_app.domain.ids import task_label
from tasks_app.domain.statuses import UNFINISHED, TaskStatus

SHORT: Final = 7
"""Characters of a snapshot's id that people are shown."""


class Turn(StrEnum):
    """What becomes of a shared entry or of an agent's session."""

    CHANGES = "changes"  # an entry gets the value it had
    COMES_BACK = "comes back"  # an entry that was deleted since
    GOES = "goes"  # an entry that was made since
    EXPIRED = "has expired"  # an entry whose time was over meanwhile: it stays away
    GOES_BACK = "goes back"  # a session, to where it was
    STARTS_FRESH = "starts fresh"  # it had no session, or its transcript is gone


@dataclass(frozen=True)
class TaskChange:
    """A task that would stand differently. `since`: it was made after the checkpoint; `to`: whom it goes to."""

    number: int
    title: str
    before: TaskStatus
    target: TaskState
    since: bool = False

    @property
    def label(self) -> str:
        """`T-3`."""
        return task_label(self.number)

    @property
    def words(self) -> str:
        """`goes back to the queue, for ada`, and why where that is not plain."""
        after = self.target.status
        if self.since:
            return "was made since: it is cancelled, and can be reopened"
        if after is TaskStatus.COMPLETED:
            return "is completed again" if self.before is not after else "is completed as it was then"
        if after is TaskStatus.CANCELLED:
            return "is cancelled: its review begins anew" if self.target.review_of else "is cancelled again"
        who = f", for {self.target.assignee}" if self.target.assignee else ""
        return f"goes back to the queue{who}" if self.before is not after else f"stays in the queue, as it was then{who}"


@dataclass(frozen=True)
class EntryChange:
    """A shared entry that would be written or deleted."""

    name: str
    turn: Turn
    then: EntryState | None


@dataclass(frozen=True)
class SessionChange:
    """An agent that would go on elsewhere than it stands now."""

    agent: str
    turn: Turn
    then: AgentState


@dataclass(frozen=True)
class Difference:
    """All that a restore would change in the database; `workspace` is the snapshot that the files go back to, if any."""

    tasks: tuple[TaskChange, ...]
    entries: tuple[EntryChange, ...]
    sessions: tuple[SessionChange, ...]
    workspace: str
    same_workspace: bool

    @property
    def written(self) -> tuple[EntryChange, ...]:
        """The entries without those that stay away."""
        return tuple(one for one in self.entries if one.turn is not Turn.EXPIRED)

    @property
    def words(self) -> str:
        """One sentence without a full stop: `3 tasks go back to the queue, files go back to abc1234, 2 shared entries change`."""
        parts = [*self._task_words(), *self._other_words()]
        return ", ".join(parts) if parts else "nothing would change"

    def _task_words(self) -> Iterable[str]:
        since = [one for one in self.tasks if one.since]
        rest = [one for one in self.tasks if not one.since]
        for status, one, many in (
            (TaskStatus.PENDING, "task goes back to the queue", "tasks go back to the queue"),
            (TaskStatus.COMPLETED, "task is completed again", "tasks are completed again"),
            (TaskStatus.CANCELLED, "task is cancelled", "tasks are cancelled"),
        ):
            if found := sum(change.target.status is status for change in rest):
                yield f"{found} {one if found == 1 else many}"
        if since:
            yield f"{len(since)} made since {'is' if len(since) == 1 else 'are'} cancelled"

    def _other_words(self) -> Iterable[str]:
        if self.workspace and not self.same_workspace:
            yield f"files go back to {self.workspace[:SHORT]}"
        if found := len(self.written):
            yield f"{found} shared {'entry changes' if found == 1 else 'entries change'}"
        if found := len(self.sessions):
            yield f"{found} {'agent goes' if found == 1 else 'agents go'} on from an earlier place"


def difference(then: Content, now: Content, *, at: dt.datetime, held: Mapping[str, int], only: int | None = None) -> Difference:
    """Return what restoring `then` would change.

    `held`: how many lines of each session are stored now; `at`: the time by which entries have expired; `only`: just this task,
    with the agent that worked on it, and nothing that is shared.
    """
    tasks = _tasks(then, now, only)
    names = {one.worker for one in then.tasks if one.number == only} if only else None
    return Difference(
        tasks=tuple(tasks),
        entries=() if only else tuple(_entries(then, now, at)),
        sessions=tuple(_sessions(then, now, held, names)),
        workspace=then.workspace,
        same_workspace=bool(then.workspace) and then.workspace == now.workspace,
    )


def target(then: TaskState) -> TaskState:
    """Return where a task stands after the restore: what was being worked on or judged goes back to the queue.

    A review that was open is over, for its task is done again.
    """
    if then.status not in UNFINISHED:
        return then.model_copy(update={"worker": ""})
    if then.review_of:
        return then.model_copy(update={"status": TaskStatus.CANCELLED, "worker": "", "failed": False, "held": False})
    return then.model_copy(update={"status": TaskStatus.PENDING, "assignee": then.worker or then.assignee, "worker": ""})


def _tasks(then: Content, now: Content, only: int | None) -> Iterable[TaskChange]:
    known = {one.number: one for one in then.tasks}
    for present in now.tasks:
        if only not in (None, present.number):
            continue
        before = known.get(present.number)
        if before is None:
            if present.status is not TaskStatus.CANCELLED:
                gone = present.model_copy(update={"status": TaskStatus.CANCELLED, "worker": "", "failed": False, "held": False})
                yield TaskChange(present.number, present.title, present.status, gone, since=True)
            continue
        wanted = target(before).model_copy(update={"title": present.title, "review_of": present.review_of})
        if wanted != present:
            yield TaskChange(present.number, present.title, present.status, wanted)


def _entries(then: Content, now: Content, at: dt.datetime) -> Iterable[EntryChange]:
    present = {one.name: one for one in now.context}
    kept = {one.name for one in then.context}
    for one in then.context:
        if one.expires_at and dt.datetime.fromisoformat(one.expires_at) <= at:
            if one.name in present:
                yield EntryChange(one.name, Turn.GOES, None)
            else:
                yield EntryChange(one.name, Turn.EXPIRED, one)
        elif one.name not in present:
            yield EntryChange(one.name, Turn.COMES_BACK, one)
        elif _meaning(one) != _meaning(present[one.name]):
            yield EntryChange(one.name, Turn.CHANGES, one)
    for name in present:
        if name not in kept:
            yield EntryChange(name, Turn.GOES, None)


def _meaning(one: EntryState) -> tuple[object, ...]:
    """What of an entry counts: a version number rises with each restore."""
    return (one.digest, one.scope, one.task_number if one.scope == "task" else None, one.expires_at)


def _sessions(then: Content, now: Content, held: Mapping[str, int], names: Collection[str] | None) -> Iterable[SessionChange]:
    present = {one.name: one for one in now.agents}
    for one in then.agents:
        if (names is not None and one.name not in names) or one.name not in present:
            continue
        place = one.position
        there = bool(place.session_id) and held.get(place.session_id, 0) >= place.lines > 0
        if place == present[one.name].position and (there or not place.session_id):
            continue
        if there or present[one.name].position.session_id:
            yield SessionChange(one.name, Turn.GOES_BACK if there else Turn.STARTS_FRESH, one)
