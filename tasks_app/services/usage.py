"""Usage: what a batch of steps adds to what was counted before; sole writer of messages' tokens and processes' costs.

Whoever calls holds the team's lock: what is read here stays as it is until the commit. The number of queries is constant.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.utils import timezone

from tasks_app.domain import how_it_goes
from tasks_app.domain.ids import new_id
from tasks_app.domain.text import clean
from tasks_app.domain.usage import Tokens, cost_added, merge
from tasks_app.models import Agent, CostReading, MessageUsage, Run, Task, Team
from tasks_app.runners.port import Cost, StepDraft, Usage
from tasks_app.services import rows

ZERO = Decimal(0)
NONE = Tokens()
CENT = Decimal("0.000001")
"""Costs are stored to a millionth of a dollar."""
COUNTS = ("input_tokens", "cache_creation_tokens", "cache_read_tokens", "output_tokens")
"""The columns of `Tokens`, in its order."""


@dataclass(frozen=True)
class Spent:
    """What a batch added, after everything counted before was left out."""

    tokens: Tokens = NONE
    usd: Decimal = ZERO
    cost_known: bool = False

    def __bool__(self) -> bool:
        return bool(self.tokens.total) or self.cost_known


def word(text: str, limit: int = 80) -> str:
    """An id or name from outside, as a column takes it."""
    return clean(text)[:limit]


def count(run: Run, drafts: Sequence[StepDraft]) -> Spent:
    """Count what the steps say was used, and return what that adds. A replayed message or report adds nothing."""
    usages = [draft.usage for draft in drafts if draft.usage]
    costs = [draft.cost for draft in drafts if draft.cost]
    tokens = _count_messages(run, usages) if usages else NONE
    _mark_coordination(run, drafts)
    usd = _count_costs(run, costs) if costs else ZERO
    return Spent(tokens, usd, cost_known=bool(costs))


def tokens_of(row: Run) -> Tokens:
    """Return what a row has counted."""
    return Tokens(*(getattr(row, name) for name in COUNTS))


def columns(tokens: Tokens) -> dict[str, int]:
    """Return tokens by the name of their column."""
    counts = (tokens.input, tokens.cache_creation, tokens.cache_read, tokens.output)
    return dict(zip(COUNTS, counts, strict=True))


def _count_messages(run: Run, usages: Sequence[Usage]) -> Tokens:
    """An API message counts once: the same id again adds only what it has grown by. One without an id counts by itself."""
    named = [(word(usage.message_id) or new_id("anonymous-"), usage) for usage in usages]
    first = dict(reversed(named))
    seen_before = rows.read(MessageUsage, ("message_id", *COUNTS), {"team_id": run.team_id, "message_id": list(first)})
    known = {name: Tokens(*counts) for name, *counts in seen_before}
    total, grown = NONE, dict[str, Tokens]()
    for name, usage in named:
        seen = Tokens(usage.input_tokens, usage.cache_creation_tokens, usage.cache_read_tokens, usage.output_tokens)
        now, added = merge(known.get(name), seen)
        if name not in known or added != NONE:
            known[name] = grown[name] = now
        total = total + added
    _store_messages(run, [(name, first[name], now) for name, now in grown.items()])
    return total


def _store_messages(run: Run, grown: Sequence[tuple[str, Usage, Tokens]]) -> None:
    """A message stays with the run that was first seen to spend it: of a known one only the tokens change."""
    at = timezone.now()
    rows.add(
        [
            MessageUsage(
                team_id=run.team_id,
                run_id=run.pk,
                message_id=name,
                model=word(usage.model),
                subagent=word(usage.subagent),
                at=at,
                **columns(now),
            )
            for name, usage, now in grown
        ],
        known=f"ON CONFLICT (team_id, message_id) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in COUNTS)}",
    )


def _mark_coordination(run: Run, drafts: Sequence[StepDraft]) -> None:
    """A message whose tool call is there to agree with others is marked: a call may come in a later batch than the usage."""
    calls = {word(d.message_id) for d in drafts if d.message_id and how_it_goes.coordinates(str(d.data.get("tool", "")))}
    if calls:
        MessageUsage.objects.filter(team_id=run.team_id, message_id__in=calls).update(coordinates=True)


def _count_costs(run: Run, costs: Sequence[Cost]) -> Decimal:
    """A process reports its cost so far: only what it rose by counts; a new process starts at 0."""
    named = [(word(cost.process, 60), cost.usd) for cost in costs]
    known = dict(CostReading.objects.filter(run_id=run.pk, process__in={name for name, _ in named}).values_list("process", "usd"))
    total = ZERO
    for name, usd in named:
        before = known.get(name, ZERO)
        rise = Decimal(str(cost_added(float(before), usd))).quantize(CENT)
        known[name], total = before + rise, total + rise
    CostReading.objects.bulk_create(
        [CostReading(run_id=run.pk, process=name, usd=usd) for name, usd in known.items()],
        update_conflicts=True,
        unique_fields=["run", "process"],
        update_fields=["usd"],
    )
    return total


def note_unreported_cost(run: Run) -> None:
    """A life of the run is over: what its last turn has cost was never reported where it is still due, and is not guessed."""
    if rows.change(Run, {"id": run.pk, "cost_due": True}, rows.Changes({"cost_due": False})):
        note_partial_cost(run)


def note_partial_cost(run: Run) -> None:
    """What the run has cost is more than was reported: everything that adds it up says "at least" from now on."""
    Run.objects.filter(pk=run.pk).update(cost_partial=True)
    Task.objects.filter(pk=run.task_id).update(cost_partial=True)
    Agent.objects.filter(pk=run.agent_id).update(cost_partial=True)
    Team.objects.filter(pk=run.team_id).update(cost_partial=True)
