"""How long a ready task and a free agent waited for each other, as the event log tells it.

A start counts from the moment since which there were both a task that was ready and an agent that was free, whichever they were:
of the tasks that wait when it begins the one that has been ready longest, of the agents that are idle the one that has been
free longest. That the scheduler gave the task to another agent, or took another task first, makes no sample kinder.
Times are those of the database in the statement that wrote the event.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from tasks_app.domain.events import EventKind

FREES = {kind.value for kind in (EventKind.RUN_COMPLETED, EventKind.RUN_FAILED, EventKind.RUN_KILLED, EventKind.RUN_PARKED)}
"""After these the agent of the run has nothing to do."""


@dataclass(frozen=True)
class Line:
    """What is read of an event."""

    kind: str
    at: datetime
    task: int
    run: str
    agent: int | None


@dataclass
class Wait:
    """One start: since when it could have been, when the scheduler gave it out, when a worker had it, when it spoke."""

    run: str
    since: datetime
    given: datetime
    started: datetime
    spoke: datetime | None = None


class Desk:
    """Who is idle and what is ready while the log goes on."""

    def __init__(self, needs: Mapping[int, Collection[int]], agents: Iterable[int], there: datetime) -> None:
        self.needs, self.there = needs, there
        self.free = dict.fromkeys(agents, there)
        self.done: set[int] = set()
        self.ready: dict[int, datetime] = {}
        self.given: dict[int, datetime] = {}
        self.waits: dict[str, Wait] = {}

    def take(self, line: Line) -> None:
        """Take the next line in."""
        if line.kind == EventKind.TASK_CREATED.value:
            self._look(line.task, line.at)
        elif line.kind == EventKind.TASK_COMPLETED.value:
            self.done.add(line.task)
            for task in [task for task, needed in self.needs.items() if line.task in needed]:
                self._look(task, line.at)
        elif line.kind == EventKind.TASK_CLAIMED.value:
            self.given[line.task] = line.at
        elif line.kind == EventKind.RUN_STARTED.value:
            self._start(line)
        elif line.kind == EventKind.RUN_STEPS.value and line.run in self.waits:
            self.waits[line.run].spoke = self.waits[line.run].spoke or line.at
        elif line.kind in FREES and line.agent is not None:
            self.free[line.agent] = line.at

    def _look(self, task: int, at: datetime) -> None:
        if self.done.issuperset(self.needs.get(task, ())):
            self.ready.setdefault(task, max(at, self.there))

    def _start(self, line: Line) -> None:
        since = max(min(self.ready.values(), default=line.at), min(self.free.values(), default=line.at))
        self.waits.setdefault(line.run, Wait(line.run, since, self.given.get(line.task, line.at), line.at))
        self.ready.pop(line.task, None)
        self.free.pop(line.agent or 0, None)


def of(log: Iterable[Line], *, needs: Mapping[int, Collection[int]], agents: Iterable[int], there: datetime) -> list[Wait]:
    """Return each first start of the log, oldest first.

    `needs`: task number → those that it waits for. `there`: the commit that made the team known; before it nobody could begin.
    """
    desk = Desk(needs, agents, there)
    for line in log:
        desk.take(line)
    return list(desk.waits.values())
