"""What agents may read of their team through the crew tools: plain data, no rows."""

from collections.abc import Mapping
from typing import Any

from tasks_app.domain import criteria as rules
from tasks_app.domain.criteria import Stored, asked
from tasks_app.domain.messaging import Priority
from tasks_app.domain.statuses import RunStatus, TaskStatus
from tasks_app.models import Agent, Dependency, Message, Run, Task

OUTPUT_LIMIT = 20_000


def task_pk(team_id: int, number: int) -> int | None:
    """Return the primary key of task `number`, or None."""
    return Task.objects.filter(team_id=team_id, number=number).values_list("pk", flat=True).first()


def numbers(team_id: int) -> list[int]:
    """Return the numbers of all tasks of the team."""
    return list(Task.objects.filter(team_id=team_id).order_by("number").values_list("number", flat=True))


def task_list(team_id: int) -> list[dict[str, Any]]:
    """Return every task as TaskList shows it: id, subject, status, owner, blockedBy (only what is not completed)."""
    waits: dict[int, list[str]] = {}
    open_edges = Dependency.objects.filter(task__team_id=team_id).exclude(needs__status=TaskStatus.COMPLETED.value)
    for task_id, number in open_edges.values_list("task_id", "needs__number"):
        waits.setdefault(task_id, []).append(str(number))
    owners = dict(Run.objects.filter(team_id=team_id, status__in=("pending", "running")).values_list("task_id", "agent__name"))
    rows = (
        Task.objects.filter(team_id=team_id)
        .order_by("number")
        .values("pk", "number", "title", "status", "assignee__name", "completed_by")
    )
    return [
        {
            "id": str(row["number"]),
            "subject": row["title"],
            "status": row["status"],
            "owner": owners.get(row["pk"]) or row["completed_by"] or row["assignee__name"] or "",
            "blockedBy": waits.get(row["pk"], []),
        }
        for row in rows
    ]


def task_detail(task_id: int) -> dict[str, Any]:
    """Return one task as TaskGet shows it."""
    task = Task.objects.select_related("assignee").get(pk=task_id)
    needs = Dependency.objects.filter(task=task).values_list("needs__number", "needs__status")
    blocks = Dependency.objects.filter(needs=task).values_list("task__number", flat=True)
    return {
        "id": str(task.number),
        "subject": task.title,
        "description": task.description,
        "criteria": {str(one.number): asked(one) for one in rules.read(task.criteria)},
        "status": task.status,
        "blockedBy": [str(n) for n, status in needs if status != TaskStatus.COMPLETED.value],
        "wasBlockedBy": [str(n) for n, status in needs if status == TaskStatus.COMPLETED.value],
        "blocks": [str(n) for n in blocks],
        "failedAttempts": task.attempts,
        "metadata": task.metadata,
    }


def task_output(task_id: int) -> dict[str, Any]:
    """Return what a task has yielded so far."""
    task = Task.objects.get(pk=task_id)
    return {"id": str(task.number), "status": task.status, "output": task.output[:OUTPUT_LIMIT], "evidence": task.evidence}


def created_by(task_id: int) -> str:
    """Return the actor that made the task."""
    return Task.objects.values_list("created_by", flat=True).get(pk=task_id)


def agents(team_id: int) -> dict[str, int]:
    """Return the primary key of each agent of the team by its name."""
    return dict(Agent.objects.filter(team_id=team_id).order_by("position", "pk").values_list("name", "pk"))


def criteria(task_id: int) -> list[Stored]:
    """Return the acceptance criteria of the task as they are stored (domain/criteria)."""
    return list(Task.objects.values_list("criteria", flat=True).get(pk=task_id))


def is_review(task_id: int) -> bool:
    """Whether the task judges another one."""
    return Task.objects.filter(pk=task_id).exclude(review_of=None).exists()


def is_running(agent_id: int) -> bool:
    """Whether a process works for the agent right now."""
    return Run.objects.filter(agent_id=agent_id, status=RunStatus.RUNNING.value).exists()


def recent_messages(agent_id: int, *, limit: int = 20) -> list[Mapping[str, Any]]:
    """Return the latest messages to the agent, oldest first."""
    rows = Message.objects.filter(recipient_id=agent_id).exclude(priority=Priority.STATUS.value).order_by("-created_at")[:limit]
    return [
        {
            "id": m.pk,
            "from": m.sender_name,
            "at": m.created_at.isoformat(timespec="seconds"),
            "message": m.body,
            **({"no_reply": True} if m.no_reply else {}),
        }
        for m in reversed(rows)
    ]
