"""`manage.py task TEAM T-3`: a task as its page shows it, as plain facts and as lines for a terminal."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils import timezone

from tasks_app.domain import budget
from tasks_app.domain.spans import span
from tasks_app.domain.statuses import REASON_WORD
from tasks_app.domain.text import mask_secrets, one_line, strip_ansi
from tasks_app.management import answers, message_json, status, words
from tasks_app.selectors import attempts, inbox, messages
from tasks_app.selectors.attempts import Attempt, Criterion, TaskPage
from tasks_app.selectors.inbox import Detail
from tasks_app.selectors.messages import Note

WIDTH = 300


@dataclass(frozen=True)
class View:
    """All that is shown of one task."""

    page: TaskPage
    attempts: Sequence[Attempt]
    ask: Detail | None
    notes: Sequence[Note]  # messages that its attempts were given, newest first


def read(task_id: int) -> View | None:
    """Return a task with everything around it, or None when it is gone."""
    page = attempts.page(task_id)
    if page is None:
        return None
    runs = attempts.of_task(task_id)
    ask = inbox.detail(page.card.ask.id) if page.card.ask else None
    return View(page, runs, ask, messages.of_runs(run.id for run in runs))


def as_json(view: View) -> dict[str, Any]:
    """Return the task as plain JSON values."""
    page = view.page
    return {
        **status.task_json(page.card),
        "team": page.team_slug,
        "description": mask_secrets(page.description),
        "criteria": [
            {"text": one.text, "proved_by": one.how or None, "met": _met(one), "says": mask_secrets(_says(one)) or None}
            for one in page.criteria
        ],
        "unmet": list(page.unmet),
        **_budget_json(page.budget_usd, page.budget_tokens, page.card.used_usd, page.card.used_tokens),
        "depends_on": [{"id": one.label, "title": one.title, "status": one.status.value} for one in page.needs],
        "unblocks": [one.label for one in page.dependants],
        "guidance": mask_secrets(page.guidance) or None,
        "output": mask_secrets(page.output) or None,
        "runs": [_attempt_json(one) for one in view.attempts],
        "decision": answers.as_json(view.ask) if view.ask else None,
        "messages": [message_json.note(one) for one in view.notes],
    }


def _attempt_json(one: Attempt) -> dict[str, Any]:
    return {
        "id": one.id,
        "attempt": one.number,
        "status": one.status.value,
        "reason": one.reason or None,
        "detail": one.detail or None,
        "agent": one.agent,
        "worked_s": round(one.time.worked_s),
        "waited_s": round(one.time.waited_s),
        "tokens": one.tokens,
        "cost_usd": one.cost_usd,
        "cost_partial": one.cost_partial,
        **_budget_json(one.budget_usd, one.budget_tokens, one.cost_usd, one.tokens),
        "changed": one.changed or None,
        "criteria_met": one.met,
    }


def _budget_json(usd: Decimal | None, tokens: int | None, used_usd: Decimal | None, used_tokens: int) -> dict[str, Any]:
    money, count = _over(usd, tokens, used_usd, used_tokens)
    return {"budget_usd": usd, "budget_tokens": tokens, "over_budget_usd": money, "over_budget_tokens": count}


def _over(usd: Decimal | None, tokens: int | None, used_usd: Decimal | None, used_tokens: int) -> tuple[float, int]:
    limit, spent = (float(value) if value is not None else None for value in (usd, used_usd))
    return budget.over(spent, limit), int(budget.over(used_tokens, tokens))


def _used(usd: Decimal | None, tokens: int | None, used_usd: Decimal | None, used_tokens: int) -> str:
    """What was used of a budget, and how far it was overshot; nothing where there is none."""
    parts = [f"${used_usd:.2f} of ${usd:.2f}" if used_usd else f"${usd:.2f}, {budget.spent('')}"] if usd is not None else []
    parts += [f"{words.tokens(used_tokens)} of {words.tokens(tokens)} tokens"] if tokens else []
    over = words.overshoot(*_over(usd, tokens, used_usd, used_tokens))
    return " · ".join([f"budget: {' and '.join(parts)}", *([over] if over else [])]) if parts else ""


def as_lines(view: View) -> Iterator[str]:
    """Yield the task for a terminal, harmless line by line."""
    card = view.page.card
    yield f"{card.label} {one_line(card.title, 200)}"
    yield status.task_words(card)
    yield f"attempts: {words.attempts(card)}"
    if used := _used(view.page.budget_usd, view.page.budget_tokens, card.used_usd, card.used_tokens):
        yield used
    yield f"for {card.assignee or (f'any {card.role}' if card.role else 'any agent')}"
    if view.page.description:
        yield from ("", *_text(view.page.description))
    yield from _part("Criteria", [_criterion(number, one) for number, one in enumerate(view.page.criteria, 1)])
    yield from _part("Depends on", [f"{one.label} {one_line(one.title, 120)} ({one.status.value})" for one in view.page.needs])
    yield from _part("Unblocks", [f"{one.label} {one_line(one.title, 120)}" for one in view.page.dependants])
    yield from _part("Guidance", list(_text(view.page.guidance)) if view.page.guidance else [])
    yield from _part("Attempts", [line for one in view.attempts for line in _attempt(one)])
    yield from _part("Output", list(_text(view.page.output)) if view.page.output else [])
    yield from _part("Messages", [_note(one) for one in reversed(view.notes)])
    if view.ask is not None:
        yield from ("", "Waiting for you", *answers.shown(view.ask))


def _part(name: str, lines: Sequence[str]) -> list[str]:
    return ["", name, *(f"  {line}" for line in lines)] if lines else []


def _text(text: str) -> Iterator[str]:
    yield from strip_ansi(mask_secrets(text)).splitlines()


def _met(one: Criterion) -> bool | None:
    return one.result.met if one.result else True if one.evidence else None


def _says(one: Criterion) -> str:
    return one.result.says if one.result else one.evidence


def _criterion(number: int, one: Criterion) -> str:
    mark = {True: "✓", False: "✗", None: "·"}[_met(one)]
    how = f" ({one_line(one.how, 120)})" if one.how else ""
    says = f": {one_line(mask_secrets(_says(one)), WIDTH)}" if _says(one) else ""
    return f"{mark} {number}. {one_line(one.text, WIDTH)}{how}{says}"


def _attempt(one: Attempt) -> Iterator[str]:
    cost = budget.spent("" if one.cost_usd is None else f"{'at least ' if one.cost_partial else ''}${one.cost_usd:.2f}")
    facts = [f"{span(one.time.worked_s)} working"] if one.started_at else ["not started"]
    facts += [f"{span(one.time.waited_s)} waiting for you"] if one.time.waited_s >= 1 else []
    facts += [f"{words.tokens(one.tokens)} tokens", cost, *([one.changed] if one.changed else [])]
    ended = REASON_WORD.get(one.reason, "") if one.reason not in ("", "done") else ""
    yield f"{one.number}. {one.agent}: {one.status.value}{f', {ended}' if ended else ''} · {' · '.join(facts)}"
    if used := _used(one.budget_usd, one.budget_tokens, one.cost_usd, one.tokens):
        yield f"   {used}"
    why = str(one.dossier.get("error") or one.detail)
    if why:
        yield f"   {one_line(mask_secrets(why), WIDTH)}"


def _note(one: Note) -> str:
    at = timezone.localtime(one.created_at)
    return f"{at:%H:%M:%S} {one.sender} → {one.recipient} ({one.receipt.value}): {one_line(mask_secrets(one.body), 120)}"
