"""What a person writes of a task, before it is stored: a new one, or one that still waits, with what is wrong or weak in it."""

import math
import re
from collections.abc import Iterable
from typing import Any

from tasks_app.domain import budget, criteria, task_review
from tasks_app.domain.errors import Invalid
from tasks_app.domain.ids import parse_task_label, task_label
from tasks_app.domain.plan_model import MAX_MINUTES
from tasks_app.domain.task_review import Finding, Written
from tasks_app.domain.text import clean
from tasks_app.models import Agent, Dependency, Task
from tasks_app.services.tasks import UNFINISHED, Draft, must_have_someone, words_of
from tasks_app.task_types import registry

EDITABLE = ("title", "description", "criteria", "role", "assignee_id", "priority", "expected_min", "expected_max")
"""What may be changed of a task that waits."""
MINUTES = "Write two times in minutes, the shorter first, such as 5-30."


def of(task: Task) -> Draft:
    """Return a task as it is written now."""
    return Draft(criteria=tuple(task.criteria), **{name: getattr(task, name) for name in EDITABLE if name != "criteria"})


def columns(team_id: int, draft: Draft) -> dict[str, Any]:
    """Return what is stored of `EDITABLE`. Raises `Invalid` or `TooLarge` that names the field."""
    words = words_of(draft)
    must_have_someone(team_id, draft)
    check(team_id, draft)
    return {name: words.get(name, getattr(draft, name)) for name in EDITABLE}


def check(team_id: int, draft: Draft) -> None:
    """Raise `Invalid` for what a plan file would refuse as well: type, priority, minutes, budgets, a judge that nobody is, no
    criteria.
    """
    if draft.type not in registry.TYPES:
        raise Invalid(f"There is no type of task “{draft.type[:40]}”. There are: {', '.join(registry.TYPES)}.", field="type")
    if not 0 <= draft.priority <= 9:
        raise Invalid("The priority is from 0 (first) to 9.", field="priority")
    low, high = draft.expected_min, draft.expected_max
    if not (math.isfinite(low) and math.isfinite(high) and 0 < low <= high <= MAX_MINUTES):
        raise Invalid(MINUTES, field="minutes")
    budget.amounts(draft.budget_usd, draft.budget_tokens)
    budget.amounts(draft.run_budget_usd, draft.run_budget_tokens)
    if not draft.criteria:
        raise Invalid("Write at least one acceptance criterion: a fact that a stranger could check.", field="criteria")
    _judges(team_id, draft)


def _judges(team_id: int, draft: Draft) -> None:
    named = {one.value for one in criteria.read(draft.criteria) if one.proof is criteria.Proof.JUDGE} - {criteria.LEAD}
    if not named:
        return
    crew = set(Agent.objects.filter(team_id=team_id).values_list("name", flat=True))
    if strange := sorted(named - crew):
        raise Invalid(
            f"Nobody here is called “{strange[0]}”. Judges: {criteria.LEAD}, {', '.join(sorted(crew))}.", field="criteria"
        )


def minutes(text: str) -> tuple[float, float]:
    """Return `5-30` or `20` as two times. Raises `Invalid`."""
    found = re.fullmatch(r"\s*(\d{1,5}(?:\.\d{1,3})?)\s*(?:[-–]\s*(\d{1,5}(?:\.\d{1,3})?))?\s*", text, re.ASCII)
    if found is None:
        raise Invalid(MINUTES, field="minutes")
    return float(found[1]), float(found[2] or found[1])


def needs(team_id: int, labels: Iterable[str]) -> tuple[int, ...]:
    """Return the tasks of these labels (`T-3` or `3`). Raises `Invalid` that says which ones there are."""
    known = dict(Task.objects.filter(team_id=team_id).order_by("number").values_list("number", "pk"))
    found = []
    for label in labels:
        number = parse_task_label(label)
        if number not in known:
            there = f"There are {task_label(min(known))} to {task_label(max(known))}." if known else "There is none yet."
            raise Invalid(f"This team has no task “{clean(label)[:20]}”. {there}", field="depends_on")
        found.append(known[number])
    return tuple(found)


def findings(
    draft: Draft, *, label: str = "The task", team_id: int | None = None, task_id: int | None = None
) -> tuple[Finding, ...]:
    """Return what could be written better in it; beside the unfinished tasks of its team too, where that or its task is given."""
    rows = Task.objects.none()
    if team_id is not None or task_id is not None:
        mine = {"team_id": team_id} if task_id is None else {"team__tasks": task_id}
        rows = Task.objects.filter(**mine, status__in=UNFINISHED).exclude(pk=task_id or 0).order_by("number")
    others = list(rows.values_list("pk", "number", "title", "description"))
    places = {other[0]: place for place, other in enumerate(others)}
    if task_id is not None:
        places[task_id] = len(others)
    waits: dict[int, list[int]] = {}
    for one, need in Dependency.objects.filter(task__in=places, needs__in=places).values_list("task_id", "needs_id"):
        waits.setdefault(one, []).append(places[need])
    new = [places[pk] for pk in draft.depends_on if pk in places] if task_id is None else waits.get(task_id, [])
    texts, minutes = criteria.texts(draft.criteria), (draft.expected_min, draft.expected_max)
    beside = [Written(task_label(row[1]), row[2], row[3], needs=tuple(waits.get(row[0], ()))) for row in others]
    return task_review.review_one(Written(label, draft.title, draft.description, texts, minutes, tuple(new)), beside)
