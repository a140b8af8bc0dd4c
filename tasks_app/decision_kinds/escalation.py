"""Escalation: an agent, or the system after the last attempt, needs a choice that only the lead can make."""

from collections.abc import Mapping
from typing import Any

from tasks_app.decision_kinds.base import Given, Unanswered
from tasks_app.domain.asked import visible
from tasks_app.domain.errors import Invalid
from tasks_app.domain.planning import APPROVE_LAST
from tasks_app.domain.text import one_line

CHOICES = {"answer": "answered"}
GRANTS: frozenset[str] = frozenset()
STANDING: frozenset[str] = frozenset()
UNANSWERED = Unanswered("", "nothing is chosen", "nothing was chosen")


PLAN_OVER = "Plan mode is over; carry this plan out now:\n{}"
PLAN_STAYS = "Your plan was not approved: stay in plan mode and change nothing."


def title(payload: Mapping[str, Any], agent: str) -> str:
    """The problem in one line."""
    return one_line(str(payload.get("problem") or f"{agent} needs a choice"), 200)


def check(given: Given, payload: Mapping[str, Any]) -> Given:
    """An option on offer, or free text, or both."""
    option = str(given.data.get("option") or "").strip()
    text = str(given.data.get("text") or "").strip()
    labels = [str(o.get("label")) for o in payload.get("options") or []]
    option = next((label for label in labels if visible(label, prose=True).strip() == visible(option, prose=True)), option)
    if option and option not in labels:
        raise Invalid(
            f"“{one_line(option, 60)}” is not one of the options: {', '.join(labels) or 'none are offered'}.", field="option"
        )
    if not option and not text and not given.note.strip():
        raise Invalid("Choose an option or write what to do.", field="option")
    if payload.get("auto") and not option:
        raise Invalid("Choose one of the options; your text goes with it as guidance.", field="option")
    return Given(given.choice, given.note, {"option": option, "text": text})


def tell(given: Given, payload: Mapping[str, Any]) -> str:
    """The option with its effect, and the lead's words."""
    chosen = next((o for o in payload.get("options") or [] if o.get("label") == given.data.get("option")), None)
    parts = [f"Problem: {payload.get('problem', '')}"]
    if chosen:
        parts.append(f"{given.who} chose: {chosen['label']}" + (f" ({chosen['effect']})" if chosen.get("effect") else ""))
    if "plan" in payload:
        parts.append(PLAN_OVER.format(payload["plan"]) if given.data.get("option") == APPROVE_LAST else PLAN_STAYS)
    parts += [f"{given.who} says: {text}" for text in (given.data.get("text"), given.note) if text]
    return "\n".join(parts)
