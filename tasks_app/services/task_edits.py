"""Changes to a task that leave its status alone: words, dependencies, order and the rules the lead allowed for it."""

from collections.abc import Collection
from typing import Any

from django.db.models import Max, Min
from django.utils import timezone

from tasks_app.domain import graph
from tasks_app.domain.errors import Invalid, NotFound
from tasks_app.domain.events import EventKind
from tasks_app.domain.statuses import TaskStatus
from tasks_app.domain.text import clean, clean_json, cut
from tasks_app.models import Dependency, Task, TaskRule
from tasks_app.services import events
from tasks_app.services.tasks import TEXT_LIMIT, TITLE_LIMIT, append_event, dependencies_of, get


def add_dependencies(task_id: int, *, needs: Collection[int], actor: str) -> None:
    """Let the task wait for others too. Raises `Invalid` with the whole path where that closes a cycle."""
    task = get(task_id)
    events.lock(task.team_id)
    deps = dependencies_of(task.team_id)
    labels = dict(Task.objects.filter(team_id=task.team_id).values_list("pk", "number"))
    for pk in needs:
        if pk not in deps:
            raise Invalid("A dependency must be a task of the same team.", field="depends_on")
        if path := graph.would_cycle(deps, task_id, pk):
            names = graph.arrows([f"T-{labels[p]}" for p in path])
            raise Invalid(f"That would close a cycle: {names}.", field="depends_on")
        if pk not in deps[task_id]:
            deps[task_id].append(pk)
            Dependency.objects.create(task_id=task_id, needs_id=pk)
    append_event(EventKind.TASK_EDITED, task, actor=actor, data={"fields": ["depends_on"]})


def edit(task_id: int, *, actor: str, **fields: Any) -> None:
    """Change title, description, active_form or metadata of an unfinished task."""
    task = get(task_id)
    changed = {
        name: clean(value) if isinstance(value, str) else clean_json(value) for name, value in fields.items() if value is not None
    }
    if "title" in changed:
        changed["title"] = cut(changed["title"].strip(), TITLE_LIMIT)
        if not changed["title"]:
            raise Invalid("The title is empty.", field="title")
    if len(str(changed.get("description", ""))) > TEXT_LIMIT:
        raise Invalid(f"The description is longer than {TEXT_LIMIT:,} characters.", field="description")
    if changed:
        events.lock(task.team_id)
        Task.objects.filter(pk=task_id).update(**changed)
        append_event(EventKind.TASK_EDITED, task, actor=actor, data={"fields": sorted(changed)})


def move(task_id: int, *, up: bool, actor: str) -> None:
    """Swap the place of a queued task with its neighbour of the same priority; no neighbour is no error."""
    task = get(task_id)
    events.lock(task.team_id)
    same = Task.objects.filter(team_id=task.team_id, priority=task.priority, status=TaskStatus.PENDING.value)
    beside = (
        same.filter(position__lt=task.position).aggregate(p=Max("position"))
        if up
        else same.filter(position__gt=task.position).aggregate(p=Min("position"))
    )
    other = same.filter(position=beside["p"]).first() if beside["p"] is not None else None
    if other is None:
        return
    Task.objects.filter(pk=other.pk).update(position=task.position)
    Task.objects.filter(pk=task.pk).update(position=other.position)
    append_event(EventKind.TASK_EDITED, task, actor=actor, data={"fields": ["position"]})


def allow_rule(task: Task, rule: str, *, by: str) -> None:
    """Store a permission rule for this task; a second time is no error."""
    TaskRule.objects.get_or_create(task=task, rule=cut(rule, 300), defaults={"by": by, "at": timezone.now()})


def revoke_rule(rule_id: int, *, actor: str) -> None:
    """Take a rule back: later calls are asked again."""
    rule = TaskRule.objects.select_related("task").filter(pk=rule_id).first()
    if rule is None:
        raise NotFound("This rule was revoked already.")
    events.lock(rule.task.team_id)
    rule.delete()
    append_event(EventKind.TASK_EDITED, rule.task, actor=actor, data={"fields": ["rules"]}, order=False)


def rules(task_id: int) -> list[str]:
    """The rules that the lead allowed for the task."""
    return list(TaskRule.objects.filter(task_id=task_id).order_by("pk").values_list("rule", flat=True))
