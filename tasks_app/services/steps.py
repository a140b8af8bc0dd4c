"""Steps: what a run did, recorded in one transaction with its usage and its event, guarded by the fence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from tasks_app.domain import context
from tasks_app.domain.errors import LeaseLost
from tasks_app.domain.events import EventKind
from tasks_app.domain.ids import new_id
from tasks_app.domain.statuses import RunStatus, StepKind
from tasks_app.domain.text import clean, clean_json, mask_json, mask_secrets, one_line
from tasks_app.domain.usage import Tokens, cost_added, merge
from tasks_app.models import CostReading, MessageUsage, Run, Step, Team
from tasks_app.runners.port import Cost, StepDraft, Usage
from tasks_app.services import agents, budgets, events, keys, runs

ZERO = Decimal(0)
CENT = Decimal("0.000001")
"""Costs are stored to a millionth of a dollar."""


@dataclass(frozen=True)
class Spent:
    """What a batch added, after everything counted before was left out."""

    tokens: int = 0
    cached: int = 0
    usd: Decimal = ZERO
    cost_known: bool = False


@transaction.atomic
def record(run_id: str, fence: int, *, after: int, drafts: Sequence[StepDraft]) -> int:
    """Record the steps that follow step `after` and return the number of the last one.

    The guard, the steps, their usage and their event are one commit. Repeating a call whose commit was not seen changes
    nothing. Raises `LeaseLost` where the run belongs to another life.
    """
    run = Run.objects.only("id", "team_id", "task_id", "agent_id").filter(pk=run_id).first()
    if run is None:
        raise LeaseLost(f"Run {run_id} does not exist any more.")
    events.lock(run.team_id)  # always the team first, then the run: one order of locks, no deadlock
    held = Run.objects.filter(pk=run_id, fence=fence, status=RunStatus.RUNNING.value)
    last = after + len(drafts)
    done = {"crashes": 0} if any(draft.kind is not StepKind.PROMPT for draft in drafts) else {}  # our own words are no work
    done |= _cost_due(drafts)
    if not held.filter(last_seq=after).update(last_seq=last, last_step_at=Now(), **done):
        if held.filter(last_seq=last).exists():
            return last
        raise LeaseLost(f"Run {run_id} belongs to another worker now.")
    Step.objects.bulk_create([_row(run_id, fence, after + n, draft) for n, draft in enumerate(drafts, 1)])
    spent = _count(run, drafts)
    _apply_spent(run, spent)
    _apply_context(run, drafts)
    if now := _now_text(drafts):
        agents.now(run.agent_id, now)
    names = {keys.run(run_id), keys.agent(run.agent_id)} | (
        {keys.task(run.task_id)} if spent.tokens or spent.cost_known else set()
    )
    events.append(
        run.team_id,
        EventKind.RUN_STEPS,
        keys=names,
        run_id=run_id,
        agent_id=run.agent_id,
        data={"first": after + 1, "last": last},
    )
    return last


def _cost_due(drafts: Sequence[StepDraft]) -> dict[str, Any]:
    """Whether the last turn of the batch still owes its cost: a process reports it at a turn's end, or dies before."""
    for draft in reversed(drafts):
        if draft.cost:
            return {"cost_due": False}
        if draft.usage or draft.kind is StepKind.PROMPT:
            return {"cost_due": True}
    return {}


def _row(run_id: str, fence: int, seq: int, draft: StepDraft) -> Step:
    return Step(
        run_id=run_id,
        seq=seq,
        fence=fence,
        kind=draft.kind.value,
        text=mask_secrets(clean(draft.text)),
        data=mask_json(clean_json(dict(draft.data))),
        tool_use_id=_word(draft.tool_use_id),
        parent_tool_use_id=_word(draft.parent_tool_use_id),
        at=timezone.now(),
    )


def _word(text: str, limit: int = 80) -> str:
    """An id or name from outside, as a column takes it."""
    return clean(text)[:limit]


def _count(run: Run, drafts: Sequence[StepDraft]) -> Spent:
    total = Spent()
    for draft in drafts:
        if draft.usage:
            total = _plus(total, _count_usage(run, draft.usage))
        if draft.cost:
            total = _plus(total, _count_cost(run, draft.cost))
    return total


def _plus(a: Spent, b: Spent) -> Spent:
    return Spent(a.tokens + b.tokens, a.cached + b.cached, a.usd + b.usd, a.cost_known or b.cost_known)


def _count_usage(run: Run, usage: Usage) -> Spent:
    """Count one API message once: the same id again adds only what it has grown by. One without an id counts by itself."""
    row, _ = MessageUsage.objects.get_or_create(
        team_id=run.team_id,
        message_id=_word(usage.message_id) or new_id("anonymous-"),
        defaults={"run": run, "model": _word(usage.model), "subagent": _word(usage.subagent), "at": timezone.now()},
    )
    known = Tokens(row.input_tokens, row.cache_creation_tokens, row.cache_read_tokens, row.output_tokens)
    seen = Tokens(usage.input_tokens, usage.cache_creation_tokens, usage.cache_read_tokens, usage.output_tokens)
    _, added = merge(known, seen)
    _add_tokens(MessageUsage.objects.filter(pk=row.pk), added)
    _add_tokens(Run.objects.filter(pk=run.pk), added)
    return Spent(tokens=added.total, cached=added.cached)


def _add_tokens(rows: QuerySet[Any], added: Tokens) -> None:
    rows.update(
        input_tokens=F("input_tokens") + added.input,
        cache_creation_tokens=F("cache_creation_tokens") + added.cache_creation,
        cache_read_tokens=F("cache_read_tokens") + added.cache_read,
        output_tokens=F("output_tokens") + added.output,
    )


def _count_cost(run: Run, cost: Cost) -> Spent:
    """A process reports its cost so far: only what it rose by counts; a new process starts at 0."""
    row, _ = CostReading.objects.get_or_create(run=run, process=_word(cost.process, 60), defaults={"usd": ZERO})
    rise = Decimal(str(cost_added(float(row.usd), cost.usd))).quantize(CENT)
    CostReading.objects.filter(pk=row.pk).update(usd=F("usd") + rise)
    known = Run.objects.values_list("cost_usd", flat=True).get(pk=run.pk)
    Run.objects.filter(pk=run.pk).update(cost_usd=(known or ZERO) + rise)
    return Spent(usd=rise, cost_known=True)


def _apply_spent(run: Run, spent: Spent) -> None:
    if not spent.tokens and not spent.cost_known:
        return
    agents.add_usage(run.agent_id, tokens=spent.tokens, cached=spent.cached, usd=spent.usd, cost_known=spent.cost_known)
    budgets.add_task_usage(run.task_id, tokens=spent.tokens, usd=spent.usd)
    if spent.usd and not Team.objects.values_list("rehearsal", flat=True).get(pk=run.team_id):
        budgets.add_server_usage(spent.usd)
    known = {"cost_known": True} if spent.cost_known else {}
    Team.objects.filter(pk=run.team_id).update(
        used_tokens=F("used_tokens") + spent.tokens, used_usd=F("used_usd") + spent.usd, **known
    )


def _apply_context(run: Run, drafts: Sequence[StepDraft]) -> None:
    for draft in drafts:
        if draft.context_window and draft.context_tokens is None and not draft.context_reset:
            runs.set_window(run.pk, draft.context_window)
            agents.set_window(run.agent_id, draft.context_window)
    readings = [d for d in drafts if d.context_tokens is not None or d.context_reset]
    if not readings:
        return
    last = readings[-1]
    tokens = None if last.context_reset else last.context_tokens
    window = next((d.context_window for d in reversed(readings) if d.context_window), None) or _window(run.pk, readings)
    peak = max((d.context_tokens for d in readings if d.context_tokens is not None), default=0)
    runs.raise_context(run.pk, tokens, window, peak=peak)
    agents.set_context(run.agent_id, tokens=tokens, window=window)


def _window(run_id: str, readings: Sequence[StepDraft]) -> int | None:
    """The window before the process has reported it, which it does at the end of a turn: of this run, else of this model."""
    known = Run.objects.values_list("context_window", flat=True).get(pk=run_id)
    models = [d.usage.model for d in readings if d.usage]
    return known or (context.reported_window(models[-1]) if models else None)


def _now_text(drafts: Sequence[StepDraft]) -> str:
    """The latest thing worth saying about the agent in one line."""
    for draft in reversed(drafts):
        if draft.parent_tool_use_id:
            continue
        if draft.kind is StepKind.TOOL_CALL:
            given = draft.data.get("input")
            words = given if isinstance(given, Mapping) else {}
            target = words.get("command") or words.get("file_path") or words.get("pattern") or words.get("subject") or ""
            name = str(draft.data.get("tool") or draft.text or "tool").removeprefix("mcp__crew__")
            return one_line(mask_secrets(f"{name} {target}".strip()), agents.NOW_LIMIT)
        if draft.kind is StepKind.SAID and draft.text.strip():
            return one_line(mask_secrets(draft.text), agents.NOW_LIMIT)
    return ""


@transaction.atomic
def note(run_id: str, text: str) -> None:
    """Add a notice of the system to a run that no worker holds (its fence stays)."""
    run = runs.get(run_id)
    events.lock(run.team_id)
    Run.objects.filter(pk=run_id).update(last_seq=F("last_seq") + 1)
    run.refresh_from_db(fields=["last_seq"])
    Step.objects.create(
        run=run, seq=run.last_seq, fence=run.fence, kind=StepKind.NOTICE.value, text=clean(text), at=timezone.now()
    )
    runs.append_event(run, EventKind.RUN_STEPS, data={"first": run.last_seq, "last": run.last_seq})
