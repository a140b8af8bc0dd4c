"""What the next agent of a task will be told, before its attempt starts: the very parts that its prompt is made of."""

from dataclasses import dataclass
from typing import Any

from tasks_app.domain.errors import NotFound
from tasks_app.domain.statuses import TaskStatus
from tasks_app.execution import prompts
from tasks_app.execution.prompts import Part
from tasks_app.execution.spec import carried_session
from tasks_app.selectors import context as shared
from tasks_app.selectors import runs as reading
from tasks_app.services import agents, task_edits, tasks


@dataclass(frozen=True)
class Told:
    """The prompt of an attempt that has not started.

    `seen` names the guidance that is shown: an edit of another one is refused. `agent`: whom it is made for; empty: nobody is
    named, so that what an agent left off with is not in it. `goes_on`: the agent goes on in its session and knows what it did.
    """

    attempt: int
    agent: str
    parts: tuple[Part, ...]
    guidance: str
    seen: str
    goes_on: bool

    @property
    def text(self) -> str:
        """The whole prompt."""
        return prompts.joined(self.parts)


@dataclass(frozen=True)
class _Next:
    task: Any
    attempt: int
    guidance: str
    fork: dict[str, Any]


def told(task_id: int, *, agent_id: int | None = None, guidance: str | None = None) -> Told:
    """Return what the next attempt would be told now, by `agent_id` (None: the assignee, if any), with other guidance if given.

    Raises `NotFound`. Nothing is noted as read: nobody has been told yet.
    """
    return _told(tasks.get(task_id), agent_id=agent_id, guidance=guidance)


def of_waiting(task_id: int) -> Told | None:
    """Return what the next attempt of a task that waits for one will be told; None for one under way or over, or that is gone."""
    try:
        task = tasks.get(task_id)
    except NotFound:
        return None
    return _told(task) if task.status == TaskStatus.PENDING.value else None


def _told(task: Any, *, agent_id: int | None = None, guidance: str | None = None) -> Told:
    known = agent_id or task.assignee_id
    agent = agents.get(known) if known else None
    carried = bool(agent and carried_session(task, agent, rehearsal=task.team.rehearsal))
    words = task.guidance if guidance is None else guidance
    attempt = reading.next_attempt(task.pk)
    entries = shared.of_task(task.team_id, task.number)
    following, dossiers = _Next(task, attempt, words, task.fork), reading.dossiers(task.pk)
    if task.fork and agent_id is None:
        found = prompts.forked(following, name=agent.name if agent else "", entries=entries, dossiers=dossiers)
    else:
        handover = agent.handover if agent and not carried else ""
        found = prompts.parts(following, needs=reading.needs(task.pk), entries=entries, dossiers=dossiers, handover=handover)
    return Told(attempt, agent.name if agent else "", found, words, task_edits.seen(task.guidance), carried)
