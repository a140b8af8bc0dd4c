"""Tasks: sole writer of their columns. Whoever changes a task's status does it by one guarded UPDATE here."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Coalesce
from django.utils import timezone

from tasks_app.domain import criteria, task_marks
from tasks_app.domain.criteria import Stored
from tasks_app.domain.errors import AlreadyClaimed, Blocked, Conflict, Invalid, NotFound, TooLarge
from tasks_app.domain.events import EventKind
from tasks_app.domain.statuses import TaskStatus
from tasks_app.domain.text import clean, clean_json, cut
from tasks_app.domain.transitions import CANCEL_TASK, CLAIM_TASK, COMPLETE_TASK, RELEASE_TASK, REOPEN_TASK, Move
from tasks_app.models import Agent, Dependency, Task, Team
from tasks_app.models.teams import LARGE_OF_TEAM
from tasks_app.selectors.queue import WAITS
from tasks_app.services import events, keys

TITLE_LIMIT = 200
TEXT_LIMIT = 200_000
METADATA_LIMIT = 20_000
"""Largest metadata of a task in characters of JSON."""
UNFINISHED = CANCEL_TASK.sources


@dataclass(frozen=True)
class Draft:
    """A task that is to be made. `depends_on` holds primary keys of tasks of the same team."""

    title: str
    description: str = ""
    criteria: tuple[Stored, ...] = ()
    depends_on: tuple[int, ...] = ()
    key: str = ""
    type: str = "agent"
    role: str = ""
    assignee_id: int | None = None
    priority: int = 5
    expected_min: float = 5
    expected_max: float = 30
    budget_usd: float | Decimal | None = None
    budget_tokens: int | None = None
    run_budget_usd: float | Decimal | None = None
    run_budget_tokens: int | None = None
    plan_mode: bool | None = None
    attempts_allowed: int = 3
    active_form: str = ""
    metadata: Mapping[str, Any] | None = None


def get(task_id: int) -> Task:
    """Return the task with its team; raises NotFound."""
    task = Task.objects.select_related("team", "assignee").defer(*LARGE_OF_TEAM).filter(pk=task_id).first()
    if task is None:
        raise NotFound("This task does not exist any more.")
    return task


@transaction.atomic
def create(team_id: int, draft: Draft, *, actor: str, marks: Mapping[str, Any] | None = None) -> Task:
    """Make a task and its dependencies; `marks` are Crewdesk's own metadata (`task_marks`).

    Raises `Invalid` naming the field: an empty title, bad criteria, a role or assignee that nobody in the team has, a
    dependency outside the team, metadata that is Crewdesk's own; `TooLarge` for texts beyond their limits.
    """
    words = words_of(draft)
    words["metadata"] |= marks or {}
    team = events.lock(team_id)
    must_have_someone(team_id, draft)
    needs = _needed(team_id, draft.depends_on)
    number = team.last_task_number + 1
    Team.objects.filter(pk=team_id).update(last_task_number=number)
    task = Task.objects.create(
        team_id=team_id,
        number=number,
        **words,
        key=draft.key,
        type=draft.type,
        role=draft.role,
        assignee_id=draft.assignee_id,
        priority=draft.priority,
        position=number,
        expected_min=draft.expected_min,
        expected_max=draft.expected_max,
        budget_usd=draft.budget_usd,
        budget_tokens=draft.budget_tokens,
        run_budget_usd=draft.run_budget_usd,
        run_budget_tokens=draft.run_budget_tokens,
        plan_mode=draft.plan_mode,
        attempts_allowed=draft.attempts_allowed,
        created_by=actor[:80],
        created_at=timezone.now(),
    )
    Dependency.objects.bulk_create([Dependency(task=task, needs_id=pk) for pk in needs])
    data = {"title": task.title, "waits_for": list(needs.values())}
    append_event(EventKind.TASK_CREATED, task, actor=actor, data=data, order=True)
    return task


def words_of(draft: Draft) -> dict[str, Any]:
    """Return its texts as they are stored; raises `Invalid` or `TooLarge`."""
    if not (title := clean(draft.title).strip()):
        raise Invalid("The title is empty. Say in a few words what is to be done.", field="title")
    task_marks.must_be_free(draft.metadata or ())
    if len(draft.description) > TEXT_LIMIT:
        raise TooLarge(f"The description is longer than {TEXT_LIMIT:,} characters.", field="description")
    return {
        "title": cut(title, TITLE_LIMIT),
        "description": clean(draft.description),
        "criteria": list(criteria.parse(draft.criteria)),
        "active_form": cut(clean(draft.active_form), TITLE_LIMIT),
        "metadata": plain_metadata(draft.metadata),
    }


def plain_metadata(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return metadata as it is stored; raises `TooLarge`."""
    stored: dict[str, Any] = clean_json(dict(given or {}))
    if len(json.dumps(stored, ensure_ascii=False)) > METADATA_LIMIT:
        raise TooLarge(f"The metadata is larger than {METADATA_LIMIT:,} characters. Put it in a file.", field="metadata")
    return stored


def must_have_someone(team_id: int, draft: Draft) -> None:
    """A task that nobody in the team may do would wait for ever."""
    crew = dict(Agent.objects.filter(team_id=team_id).values_list("pk", "role"))
    if draft.assignee_id is not None and draft.assignee_id not in crew:
        raise Invalid("The assignee is not an agent of this team.", field="assignee")
    if draft.role and draft.role not in crew.values():
        there = ", ".join(sorted(set(crew.values()))) or "none"
        raise Invalid(f"Nobody in this team has the role “{cut(clean(draft.role), 60)}”. There are: {there}.", field="role")


def _needed(team_id: int, given: Iterable[int]) -> dict[int, str]:
    """Return primary key → label: a log that travels knows tasks by their labels."""
    wanted = set(given)
    found = Task.objects.filter(team_id=team_id, pk__in=wanted).order_by("number").values_list("pk", "number")
    known = {pk: f"T-{number}" for pk, number in found}
    if missing := wanted - known.keys():
        raise Invalid(f"{len(missing)} of the dependencies are not tasks of this team.", field="depends_on")
    return known


def append_event(
    kind: EventKind, task: Task, *, actor: str, data: Mapping[str, Any] | None = None, order: bool = True, **ids: Any
) -> None:
    """Append an event about the task; `order`: the team's list of tasks becomes stale as well."""
    names = {keys.task(task.pk)} | ({keys.tasks(task.team_id)} if order else set())
    events.append(task.team_id, kind, actor=actor, keys=names, task_number=task.number, data=data, **ids)


def dependencies_of(team_id: int) -> dict[int, list[int]]:
    """Return task pk → pks it depends on, for the whole team (two queries)."""
    deps: dict[int, list[int]] = {pk: [] for pk in Task.objects.filter(team_id=team_id).values_list("pk", flat=True)}
    for task_id, needs_id in Dependency.objects.filter(task__team_id=team_id).values_list("task_id", "needs_id"):
        deps[task_id].append(needs_id)
    return deps


def open_blockers(task_id: int) -> list[Task]:
    """Return the tasks it depends on that are not completed, by number."""
    return list(Task.objects.filter(dependants__task_id=task_id).exclude(status=TaskStatus.COMPLETED.value).order_by("number"))


def mark_claimed(given: Sequence[tuple[Task, Agent]]) -> None:
    """pending → in_progress, all of them. Raises `Blocked` with the names, or `AlreadyClaimed` with who has it: to be undone."""
    by_id = {task.pk: task for task, _ in given}
    for pk in Dependency.objects.filter(WAITS, task_id__in=by_id).values_list("task_id", flat=True).distinct():
        must_not_be_blocked(by_id[pk])
    won = Task.objects.filter(pk__in=by_id, status__in=CLAIM_TASK.sources).update(
        status=CLAIM_TASK.target,
        started_at=Coalesce(F("started_at"), timezone.now()),
        failed=False,
        held=False,
        not_before=None,
    )
    if won < len(by_id):
        raise AlreadyClaimed(_why_not(*given[0]))


def _why_not(task: Task, agent: Agent) -> str:
    current = Task.objects.filter(pk=task.pk).values_list("status", "runs__agent__name").order_by("-runs__attempt").first()
    status, owner = current or ("gone", None)
    if status == TaskStatus.IN_PROGRESS.value:
        return f"{task.label} is already claimed by {owner or 'another agent'}."
    return f"{task.label} is {status}; {agent.name} cannot claim it."


def must_not_be_blocked(task: Task) -> None:
    """Raise `Blocked` with the names of what it waits for."""
    if blockers := open_blockers(task.pk):
        names = ", ".join(f"{b.label} {b.title}" for b in blockers)
        raise Blocked(f"{task.label} is blocked by {names}.", blockers=[b.label for b in blockers])


def mark_completed(
    task: Task, *, by: str, evidence: Mapping[str, Any], output: str, actor: str, move: Move = COMPLETE_TASK
) -> bool:
    """→ completed, with evidence. Returns whether it landed; flags a completion while a dependency was open."""
    blocked_by = ", ".join(b.label for b in open_blockers(task.pk))
    landed = Task.objects.filter(pk=task.pk, status__in=move.sources).update(
        status=move.target,
        completed_at=timezone.now(),
        completed_by=by[:80],
        evidence=clean_json(dict(evidence)),
        output=clean(output),
        completed_while_blocked_by=blocked_by[:200],
        failed=False,
        held=False,
    )
    if landed:
        append_event(
            EventKind.TASK_COMPLETED,
            task,
            actor=actor,
            data={"by": by, "evidence": dict(evidence), "while_blocked_by": blocked_by},
        )
    return bool(landed)


def mark_released(
    task: Task, *, failed: bool, held: bool, counts: bool, reason: str, detail: str, attempt: int, actor: str
) -> bool:
    """in_progress → pending: failed, stopped or given back; the failure stays attached to its run."""
    landed = Task.objects.filter(pk=task.pk, status__in=RELEASE_TASK.sources).update(
        status=RELEASE_TASK.target, failed=failed, held=held, attempts=F("attempts") + (1 if counts else 0)
    )
    if landed:
        data = {"reason": reason, "detail": cut(detail, 500), "attempt": attempt}
        append_event(EventKind.TASK_RELEASED, task, actor=actor, data=data)
    return bool(landed)


def mark_ready_again(task: Task, *, agent_id: int | None, guidance: str, start: str, actor: str, extra_attempt: bool) -> None:
    """A pending task may start again: with whom, with what guidance, from what state. Raises `Conflict` otherwise."""
    landed = Task.objects.filter(pk=task.pk, status=TaskStatus.PENDING.value).update(
        failed=False,
        held=False,
        not_before=None,
        assignee_id=agent_id,
        guidance=clean(guidance),
        start_from=start,
        fork={},
        attempts_allowed=F("attempts_allowed") + (1 if extra_attempt else 0),
    )
    if not landed:
        raise Conflict(f"{task.label} is not waiting to be started: {Task.objects.get(pk=task.pk).status.replace('_', ' ')}.")
    to = Agent.objects.filter(pk=agent_id).values_list("name", flat=True).first() if agent_id else "any free agent"
    append_event(EventKind.TASK_REASSIGNED, task, actor=actor, data={"to": to, "guidance": guidance, "start": start})


def start_next_from(task: Task, start: str) -> None:
    """The files that the next attempt starts from (`clean` or `last`), until somebody says otherwise."""
    Task.objects.filter(pk=task.pk).update(start_from=start)


def plan_next(task: Task, *, agent_id: int | None, guidance: str, start: str, actor: str) -> None:
    """Say who gets a task, and how, once its running attempt is seen stopped."""
    Task.objects.filter(pk=task.pk).update(assignee_id=agent_id, guidance=clean(guidance), start_from=start, fork={})
    to = Agent.objects.filter(pk=agent_id).values_list("name", flat=True).first() if agent_id else "any free agent"
    append_event(EventKind.TASK_REASSIGNED, task, actor=actor, data={"to": to, "guidance": guidance, "start": start})


def mark_cancelled(task: Task, *, why: str, actor: str) -> None:
    """unfinished → cancelled. Raises `Conflict` for a finished one."""
    landed = Task.objects.filter(pk=task.pk, status__in=CANCEL_TASK.sources).update(
        status=CANCEL_TASK.target, failed=False, held=False
    )
    if not landed:
        raise Conflict(f"{task.label} is already {Task.objects.get(pk=task.pk).status}.")
    append_event(EventKind.TASK_CANCELLED, task, actor=actor, data={"why": cut(why, 500)})


def mark_reopened(task: Task, *, why: str, actor: str) -> None:
    """completed or cancelled → pending, from the files as they are, with the lead's words; one more attempt is allowed."""
    landed = Task.objects.filter(pk=task.pk, status__in=REOPEN_TASK.sources).update(
        status=REOPEN_TASK.target,
        completed_at=None,
        completed_by="",
        evidence={},
        failed=False,
        held=False,
        guidance=clean(why),
        start_from="last",
        fork={},
        attempts_allowed=F("attempts_allowed") + 1,
    )
    if not landed:
        raise Conflict(f"{task.label} is not finished, so it cannot be reopened.")
    append_event(EventKind.TASK_REOPENED, task, actor=actor, data={"why": cut(why, 500)})
