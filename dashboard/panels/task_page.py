"""The blocks of a task's page: what it is, its attempts side by side, and what the lead can do with it."""

from typing import Any

from dashboard.access import Viewer
from dashboard.panels.base import Block
from tasks_app.domain.statuses import OPEN_RUN
from tasks_app.execution import handover
from tasks_app.selectors import attempts, comparison, estimates, tasks
from tasks_app.selectors.states import TaskState
from tasks_app.services import keys

WHICH, ALL = "attempts", "all"
"""The parameter of the page that asks for every attempt, and its value."""


def _keys(task_pk: int, team_pk: int) -> frozenset[str]:
    return frozenset({keys.task(task_pk), keys.tasks(team_pk)})


class TaskHead:
    """State and reason, what is asked for, what it waits for and what waits for it, evidence and output."""

    name = "task-head"
    template = "panels/task_head.html"

    def block(self, task_pk: int, team_pk: int) -> Block:
        """Return the head of one task."""
        return Block(f"{self.name}-{task_pk}", self.name, (task_pk,), _keys(task_pk, team_pk), team_pk)

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any] | None:
        """Return the task in full, or None when it is gone."""
        found = attempts.page(int(block.args[0]))
        if found is None:
            return None
        return {"task": found, "card": found.card, "probably": estimates.of_task(found.card.pk)}


class Attempts:
    """The newest attempts, or every one, each with its dossier, side by side."""

    name = "task-attempts"
    template = "panels/task_attempts.html"

    def block(self, task_pk: int, team_pk: int, which: str = "") -> Block:
        """Return the attempts of one task, with `which` "all" every one; what an open one uses changes with its steps."""
        open_run = attempts.open_run(task_pk)
        changes = _keys(task_pk, team_pk) | ({keys.run(open_run)} if open_run else frozenset())
        return Block(f"{self.name}-{task_pk}", self.name, (task_pk, ALL if which == ALL else ""), changes, team_pk)

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any] | None:
        """Return the attempts, or None when the task is gone."""
        pk, which = int(block.args[0]), block.args[1]
        card = tasks.one(pk)
        if card is None:
            return None
        runs = attempts.of_task(pk) if which == ALL else attempts.newest(pk)
        count = attempts.count(pk) if len(runs) == attempts.MOST else len(runs)
        return {"attempts": runs, "count": count, "most": attempts.MOST, "card": card, "compared": comparison.compare(runs)}


class Handover:
    """What the next attempt will be told, and the lead's own words in it, to be edited."""

    name = "task-handover"
    template = "panels/task_handover.html"

    def block(self, task_pk: int, team_pk: int) -> Block:
        """Return the hand-over of one task; what the team shares is part of it."""
        changes = _keys(task_pk, team_pk) | {keys.context(team_pk), keys.agents(team_pk)}
        return Block(f"{self.name}-{task_pk}", self.name, (task_pk,), changes, team_pk)

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any] | None:
        """Return what will be told; nothing for a task that is under way, over or gone."""
        pk = int(block.args[0])
        return {"pk": pk, "told": handover.of_waiting(pk)}


class TaskActions(TaskHead):
    """Reassign with guidance, complete by hand, cancel, reopen, move, change the budget."""

    name = "task-actions"
    template = "panels/task_actions.html"

    def block(self, task_pk: int, team_pk: int) -> Block:
        """Return the actions; whom the task can be given to changes with the agents."""
        changes = _keys(task_pk, team_pk) | {keys.agents(team_pk)}
        return Block(f"{self.name}-{task_pk}", self.name, (task_pk,), changes, team_pk)

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any] | None:
        """Return the task, who it can be given to, and which acts make sense in its state."""
        found = attempts.page(int(block.args[0]))
        if found is None:
            return None
        card = found.card
        runs = attempts.newest(card.pk)
        up, down = attempts.neighbours(card) if card.state is TaskState.QUEUED else (False, False)
        return {
            "task": found,
            "card": card,
            "members": attempts.members(card.team_id),
            "last": runs[-1] if runs else None,
            "open": next((run for run in runs if run.status in OPEN_RUN), None),
            "ended": card.state in (TaskState.DONE, TaskState.CANCELLED),
            "starts": card.state in (TaskState.FAILED, TaskState.WAITING, TaskState.IN_FLIGHT),
            "up": up,
            "down": down,
        }
