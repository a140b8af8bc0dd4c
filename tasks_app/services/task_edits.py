"""Changes to a task that leave its status alone: words, dependencies, order and the rules the lead allowed for it."""

import dataclasses
from collections.abc import Collection, Mapping
from hashlib import sha256
from typing import Any

from django.db import transaction
from django.db.models import F, Max, Min
from django.utils import timezone

from tasks_app.domain import graph, task_marks
from tasks_app.domain.errors import Conflict, Invalid, NotFound, Stale, TooLarge
from tasks_app.domain.events import EventKind
from tasks_app.domain.statuses import TaskStatus
from tasks_app.domain.text import clean, cut
from tasks_app.models import Dependency, Task, TaskRule
from tasks_app.services import drafts, events
from tasks_app.services.tasks import TEXT_LIMIT, TITLE_LIMIT, UNFINISHED, append_event, dependencies_of, get, plain_metadata

WORDS = ("title", "active_form")
GUIDANCE_LIMIT = 20_000
"""Largest guidance of an attempt in characters."""


@transaction.atomic
def add_dependencies(task_id: int, *, needs: Collection[int], actor: str) -> None:
    """Let an unfinished task wait for others too. Raises `Invalid` with the whole path where that closes a cycle."""
    task = _locked(task_id)
    _must_be_unfinished(task)
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
    added = [f"T-{labels[pk]}" for pk in needs]
    append_event(EventKind.TASK_EDITED, task, actor=actor, data={"fields": ["depends_on"], "waits_for": added})


@transaction.atomic
def remove_dependency(task_id: int, *, needs: int, actor: str) -> None:
    """Let an unfinished task no longer wait for another one. Raises `Conflict` where it is over or does not wait for that."""
    task = _locked(task_id)
    _must_be_unfinished(task)
    other = Task.objects.filter(pk=needs, team_id=task.team_id).first()
    if other is None:
        raise NotFound("There is no such task in this team.", field="depends_on")
    if not Dependency.objects.filter(task_id=task_id, needs_id=needs).delete()[0]:
        raise Conflict(f"{task.label} does not depend on {other.label}.", field="depends_on")
    append_event(EventKind.TASK_EDITED, task, actor=actor, data={"fields": ["depends_on"], "waits_no_more": [other.label]})


@transaction.atomic
def change(task_id: int, given: Mapping[str, Any], *, actor: str) -> Task:
    """Change what a task that waits says (`drafts.EDITABLE`). Raises `Conflict` where an attempt has begun or it is over.

    Raises `Invalid` or `TooLarge` that names the field.
    """
    task = _locked(task_id)
    if task.status != TaskStatus.PENDING.value:
        raise Conflict(f"{task.label} is {task.status.replace('_', ' ')}. {TOO_LATE[TaskStatus(task.status)]}")
    before = drafts.of(task)
    columns = drafts.columns(task.team_id, dataclasses.replace(before, **given))
    changed = {name: value for name, value in columns.items() if value != getattr(task, name)}
    if changed:
        Task.objects.filter(pk=task_id).update(**changed)
        append_event(EventKind.TASK_EDITED, task, actor=actor, data={"fields": sorted(changed)})
    return get(task_id)


TOO_LATE: Mapping[TaskStatus, str] = {
    TaskStatus.IN_PROGRESS: "Send its agent a message, or stop the attempt and change it then.",
    TaskStatus.COMPLETED: "Reopen it to change it.",
    TaskStatus.CANCELLED: "Reopen it to change it.",
}
"""What a person can do about a task that cannot be changed any more."""


def _locked(task_id: int) -> Task:
    events.lock(get(task_id).team_id)
    return get(task_id)


def _must_be_unfinished(task: Task) -> None:
    if task.status not in UNFINISHED:
        raise Conflict(f"{task.label} is {task.status.replace('_', ' ')} and cannot be changed any more.", field="taskId")


def mark_forked(task: Task, *, agent_id: int, guidance: str, fork: Mapping[str, Any], extra_attempt: bool) -> bool:
    """A pending task starts next as a fork; returns whether it does: not where it is one already, or under way."""
    landed = Task.objects.filter(pk=task.pk, status=TaskStatus.PENDING.value, fork={}).update(
        failed=False,
        held=False,
        not_before=None,
        assignee_id=agent_id,
        guidance=clean(guidance),
        start_from="last",
        fork=dict(fork),
        attempts_allowed=F("attempts_allowed") + (1 if extra_attempt else 0),
    )
    return bool(landed)


@transaction.atomic
def edit(
    task_id: int,
    *,
    actor: str,
    title: str | None = None,
    description: str | None = None,
    active_form: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> None:
    """Change an unfinished task. Metadata is merged into what is there; a key with None goes, one of Crewdesk's own only
    where Crewdesk cannot have written it. Raises `Conflict`, `Invalid`.
    """
    task = _locked(task_id)
    given = {"title": title, "description": description, "active_form": active_form}
    changed: dict[str, Any] = {name: clean(value) for name, value in given.items() if value is not None}
    changed |= {name: cut(changed[name].strip(), TITLE_LIMIT) for name in WORDS if name in changed}
    if changed.get("title") == "":
        raise Invalid("The title is empty.", field="title")
    if len(changed.get("description", "")) > TEXT_LIMIT:
        raise TooLarge(f"The description is longer than {TEXT_LIMIT:,} characters.", field="description")
    if metadata:
        wrong = task_marks.odd(task.metadata, reviews=task.review_of_id is not None)
        task_marks.must_be_free(key for key, value in metadata.items() if value is not None or key not in wrong)
        changed["metadata"] = plain_metadata({k: v for k, v in {**task.metadata, **metadata}.items() if v is not None})
    if changed:
        _must_be_unfinished(task)
        Task.objects.filter(pk=task_id).update(**changed)
        append_event(EventKind.TASK_EDITED, task, actor=actor, data={"fields": sorted(changed)})


def seen(guidance: str) -> str:
    """Return what names this version of the guidance: an edit says which one it was made from."""
    return sha256(guidance.encode()).hexdigest()[:16]


def changed_meanwhile() -> Stale:
    """Return the refusal of an edit that was made from an older text."""
    return Stale("This was changed while you wrote. What it says now stands beside what you wrote; save again to replace it.")


def seen_of(task_id: int) -> str:
    """Return `seen` of the guidance that a task has now. Raises `NotFound`."""
    return seen(get(task_id).guidance)


@transaction.atomic
def set_guidance(task_id: int, guidance: str, *, made_from: str, actor: str, field: str = "guidance") -> None:
    """Set the lead's words for the next attempt. `made_from` is `seen` of the text that was edited.

    Raises `Stale` where it was changed meanwhile, `Conflict` where an attempt has begun or the task is over, `TooLarge`.
    """
    task = _locked(task_id)
    if len(guidance) > GUIDANCE_LIMIT:
        raise TooLarge(f"The guidance is longer than {GUIDANCE_LIMIT:,} characters.", field=field)
    if task.status != TaskStatus.PENDING.value:
        how = "has begun: send its agent a message, or reassign it" if task.status == TaskStatus.IN_PROGRESS.value else "is over"
        raise Conflict(f"{task.label} {how}. The guidance was not changed.")
    if made_from != seen(task.guidance):
        raise Stale("The guidance was changed while you wrote. Look at it again; your text is kept below.", field=field)
    Task.objects.filter(pk=task_id).update(guidance=clean(guidance).strip())
    append_event(EventKind.TASK_EDITED, task, actor=actor, data={"fields": ["guidance"]})


@transaction.atomic
def move(task_id: int, *, up: bool, actor: str) -> None:
    """Swap the place of a queued task with its neighbour of the same priority; no neighbour is no error. Raises `Conflict`."""
    task = _locked(task_id)
    if task.status != TaskStatus.PENDING.value:
        raise Conflict(f"{task.label} is {task.status.replace('_', ' ')}: only a queued task has a place in the queue.")
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


@transaction.atomic
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
