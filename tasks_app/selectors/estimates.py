"""What tasks of a plan will probably take, from the attempts that this installation has finished."""

from collections.abc import Sequence

from tasks_app.domain.estimate import Finished, Kind, Total, estimate, size_of, total
from tasks_app.domain.plan_model import Plan, Task
from tasks_app.domain.statuses import RunStatus
from tasks_app.models import Run

NEWEST = 500
"""So many finished attempts are looked at: what was long ago was with other models."""


def finished(*, rehearsal: bool) -> list[Finished]:
    """Return the newest completed attempts. Rehearsed ones are told from real ones: their figures are scripted. One query."""
    rows = Run.objects.filter(status=RunStatus.COMPLETED.value, team__rehearsal=rehearsal, started_at__isnull=False)
    fields = ("task__type", "task__expected_max", "agent__role", "agent__model", "started_at", "ended_at")
    counts = ("input_tokens", "cache_creation_tokens", "output_tokens", "cost_usd", "context_peak")
    return [
        Finished(
            Kind(row["task__type"], size_of(row["task__expected_max"]), row["agent__role"], row["agent__model"]),
            tokens=row["input_tokens"] + row["cache_creation_tokens"] + row["output_tokens"],
            minutes=(row["ended_at"] - row["started_at"]).total_seconds() / 60,
            usd=None if row["cost_usd"] is None else float(row["cost_usd"]),
            context_peak=row["context_peak"],
        )
        for row in rows.order_by("-ended_at").values(*fields, *counts)[:NEWEST]
        if row["ended_at"]
    ]


def of_plan(plan: Plan, *, rehearsal: bool) -> Total:
    """Return what all tasks of a plan will probably take together."""
    known = finished(rehearsal=rehearsal)
    return total([estimate(_kind(plan, task), known, expected_min=task.expected_minutes) for task in plan.tasks])


def _kind(plan: Plan, task: Task) -> Kind:
    """Who does a task is known where it is assigned, or where its role has one model."""
    able: Sequence[tuple[str, str]] = [
        (agent.role, agent.model or "")
        for agent in plan.agents
        if (not task.assignee or agent.name == task.assignee) and (not task.role or agent.role == task.role)
    ]
    roles, models = {role for role, _ in able}, {model for _, model in able}
    role, model = (next(iter(found)) if len(found) == 1 else "" for found in (roles, models))
    return Kind(task.type, size_of(task.expected_minutes[1]), role, model)
