"""Steps: what a run did, recorded in one transaction with its usage and its event, guarded by the fence."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from tasks_app.domain import context
from tasks_app.domain.errors import LeaseLost
from tasks_app.domain.events import EventKind
from tasks_app.domain.statuses import RunStatus, StepKind
from tasks_app.domain.text import clean, clean_json, mask_json, mask_secrets, one_line
from tasks_app.models import Run, Step, Team
from tasks_app.runners.port import StepDraft
from tasks_app.services import agents, budgets, events, keys, rows, runs, usage
from tasks_app.services.usage import Spent


@dataclass(frozen=True)
class Recorded:
    """The number of the last step, and how the tightest budget stands where the steps say that something was used."""

    last: int
    budget: budgets.Reading | None


@dataclass(frozen=True)
class Batch:
    """Steps of one life of a run that follow its step `after`."""

    run_id: str
    fence: int
    after: int
    drafts: Sequence[StepDraft]

    @property
    def last(self) -> int:
        """The number of the last of them."""
        return self.after + len(self.drafts)


@dataclass
class _Said:
    """What batches of one team have said: its events, what its row changes by, and what the server's day has cost more."""

    team: Team | None = None
    lines: list[events.Line] = field(default_factory=list)
    put: dict[str, Any] = field(default_factory=dict)
    add: Counter[str] = field(default_factory=Counter)
    usd: Decimal = usage.ZERO

    def spend(self, run: Run, spent: Spent) -> None:
        """A run has used something."""
        changes = budgets.spend(run, spent)
        self.put |= changes.put
        self.add.update(changes.add)
        self.usd += usage.ZERO if run.team.rehearsal else spent.usd

    def say(self) -> None:
        """Write it. The row of the server's day, which all teams share, is the last that is locked."""
        if self.usd:
            budgets.add_server_usage(self.usd)
        if self.team is not None and self.lines:
            events.append_all(self.team.pk, self.lines, team=rows.Changes(self.put, self.add))


def record(run_id: str, fence: int, *, after: int, drafts: Sequence[StepDraft]) -> Recorded:
    """Record the steps that follow step `after`.

    The guard, the steps, their usage and their event are one commit of a constant number of queries. Repeating a call whose
    commit was not seen changes nothing. Raises `LeaseLost` where the run belongs to another life.
    """
    [found] = record_all([Batch(run_id, fence, after, drafts)])
    if isinstance(found, LeaseLost):
        raise found
    return found


def record_all(batches: Sequence[Batch]) -> list[Recorded | LeaseLost]:
    """`record` of runs of one team in one commit; returns in their order what `record` returns or raises.

    A batch of a life that is over changes nothing, and the others are stored. What raises undoes them all.
    """
    made = [(_rows(batch), _now_text(batch.drafts)) for batch in batches]  # before the lock: masking takes time
    said, held = _Said(), list[Run | None]([None] * len(batches))
    with transaction.atomic():
        rows.lock_team_of(batches[0].run_id)  # always the team first, then the runs, these in the order of the heartbeat:
        for place in sorted(range(len(batches)), key=lambda place: batches[place].run_id):  # one order of locks, no deadlock
            batch, run = batches[place], rows.recorded(batches[place].run_id)
            if run is None or not _may_follow(run, batch):
                continue
            run.team = said.team = said.team or run.team  # what one of them uses all of them have used
            if run.last_seq == batch.after:
                _record(run, batch.drafts, *made[place], said)
            held[place] = run
        said.say()
        return [_recorded(batch, run) for batch, run in zip(batches, held, strict=True)]


def _recorded(batch: Batch, run: Run | None) -> Recorded | LeaseLost:
    if run is None:
        return LeaseLost(f"Run {batch.run_id} belongs to another worker now.")
    used = any(draft.usage or draft.cost for draft in batch.drafts)
    return Recorded(batch.last, budgets.stand(run) if used else None)


def _rows(batch: Batch) -> list[Step]:
    return [_row(batch.run_id, batch.fence, batch.after + n, draft) for n, draft in enumerate(batch.drafts, 1)]


def _may_follow(run: Run, batch: Batch) -> bool:
    held = (run.fence, run.status) == (batch.fence, RunStatus.RUNNING.value)
    return held and run.last_seq in (batch.after, batch.last)


def _record(run: Run, drafts: Sequence[StepDraft], made: Sequence[Step], now: str, said: _Said) -> None:
    after, last = run.last_seq, run.last_seq + len(drafts)
    spent, reading = usage.count(run, drafts), _context(run, drafts)
    held = {"id": run.pk, "fence": run.fence, "status": run.status, "last_seq": after}
    put = {"last_seq": last, **_of_run(run, drafts, spent, reading)}
    if not rows.change(Run, held, rows.Changes({**put, "last_step_at": Now()})):
        raise LeaseLost(f"Run {run.pk} belongs to another worker now.")
    vars(run).update(put)
    rows.add(made)
    agents.went_on(run.agent_id, now=now, spent=spent, reading=reading)
    if any(draft.cost and draft.cost.partial for draft in drafts):  # what is partial is known, so it counts as spent, too
        usage.note_partial_cost(run)
    names = {keys.steps(run.team_id), keys.run(run.pk), keys.doing(run.agent_id)}
    if spent or reading:  # few steps change a figure, and all that shows figures would be drawn again for each of them
        names |= {keys.agent(run.agent_id), keys.task(run.task_id), keys.team(run.team_id)}
    data = {"first": after + 1, "last": last}
    if spent:
        said.spend(run, spent)
    said.lines.append(events.Line(EventKind.RUN_STEPS, keys=names, run_id=run.pk, agent_id=run.agent_id, data=data))


def _of_run(run: Run, drafts: Sequence[StepDraft], spent: Spent, reading: context.Reading | None) -> dict[str, Any]:
    """What changes in the row of the run. It is compared and set: the step number that was read guards every value."""
    changes = _cost_due(drafts)
    if any(draft.kind is not StepKind.PROMPT for draft in drafts):  # our own words are no work
        changes["crashes"] = 0
    if spent.tokens.total:
        changes |= usage.columns(usage.tokens_of(run) + spent.tokens)
    if spent.cost_known:
        changes["cost_usd"] = (run.cost_usd or usage.ZERO) + spent.usd
    if reading and reading.window:
        changes["context_window"] = reading.window
    if reading and reading.measured:
        changes["context_tokens"] = reading.tokens
    if reading and reading.first is not None and run.context_first is None:
        changes["context_first"] = reading.first
    if reading and reading.peak:
        changes["context_peak"] = max(run.context_peak or 0, reading.peak)
    return changes


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
        tool_use_id=usage.word(draft.tool_use_id),
        parent_tool_use_id=usage.word(draft.parent_tool_use_id),
        at=timezone.now(),
    )


def _context(run: Run, drafts: Sequence[StepDraft]) -> context.Reading | None:
    """What the batch says of the context; None where it says nothing.

    The window before its process has reported it, which it does at the end of a turn: of this run, else of this model.
    """
    readings = [d for d in drafts if d.context_tokens is not None or d.context_reset]
    window = next((d.context_window for d in reversed(drafts) if d.context_window and d not in readings), None)
    if not readings:
        return context.Reading(window=window) if window else None
    models = [d.usage.model for d in readings if d.usage]
    known = [d.context_tokens for d in readings if d.context_tokens is not None]
    guess = window or run.context_window or (context.reported_window(models[-1]) if models else None)
    return context.Reading(
        tokens=None if readings[-1].context_reset else readings[-1].context_tokens,
        window=next((d.context_window for d in reversed(readings) if d.context_window), None) or guess,
        first=next(iter(known), None),
        peak=max(known, default=0),
        measured=True,
    )


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
    data = {"first": run.last_seq, "last": run.last_seq}
    runs.append_event(run, EventKind.RUN_STEPS, data=data, more=(keys.steps(run.team_id),))


def forget_files(run_id: str) -> None:
    """The prompts of a run name no snapshot of the files any more."""
    prompts = Step.objects.filter(run=run_id, kind=StepKind.PROMPT.value).exclude(data__files=None).only("data")
    found = list(prompts)
    for step in found:
        step.data = {name: value for name, value in step.data.items() if name != "files"}
    Step.objects.bulk_update(found, ["data"], batch_size=200)
