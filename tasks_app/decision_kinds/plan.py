"""Plan: an agent in plan mode asks for approval of what it means to do."""

from collections.abc import Mapping
from typing import Any

from tasks_app.decision_kinds.base import Given, Unanswered
from tasks_app.domain.asked import visible
from tasks_app.domain.errors import Invalid
from tasks_app.domain.text import clean

CHOICES = {"approve": "approved", "approve_changes": "approved with changes", "revise": "sent back"}
GRANTS: frozenset[str] = frozenset()
STANDING: frozenset[str] = frozenset()
UNANSWERED = Unanswered("revise", "the plan is sent back", "the plan was sent back")


def title(payload: Mapping[str, Any], agent: str) -> str:
    """`planner proposes a plan (version 2)`."""
    version = int(payload.get("version") or 1)
    return f"{agent} proposes a plan{f' (version {version})' if version > 1 else ''}"


def check(given: Given, payload: Mapping[str, Any]) -> Given:
    """A plan sent back needs comments; an approval with changes needs a text that is another one."""
    if given.choice == "revise" and not given.note.strip():
        raise Invalid("Say what to change: the agent revises the plan by your words.", field="note")
    text = str(given.data.get("plan") or "").strip()
    if given.choice == "approve_changes" and not text:
        raise Invalid("The changed plan is empty. Edit the text, or approve it as it is.", field="plan")
    if given.choice == "approve_changes" and not changed(text, payload):
        raise Invalid("Nothing in the plan was changed. Edit the text first, or approve the plan as it is.", field="plan")
    return Given(given.choice, given.note, {"plan": text} if given.choice == "approve_changes" else {})


def changed(text: str, payload: Mapping[str, Any]) -> bool:
    """Whether a text says something else than the plan that was shown."""
    return _lines(text) != _lines(str(payload.get("plan") or ""))


def _lines(text: str) -> list[str]:
    """The lines that a person sees: what a form does to line ends and a page to characters that cannot be seen is no change."""
    return [line.rstrip() for line in visible(clean(text), prose=True).strip().splitlines()]


def tell(given: Given, payload: Mapping[str, Any]) -> str:
    """Say whether to carry it out or to revise it."""
    note = f" {given.who} adds: {given.note}" if given.note else ""
    if given.choice == "revise":
        return f"{given.who} sent your plan back. Stay in plan mode and present a revised plan with ExitPlanMode.{note}"
    if given.choice == "approve_changes":
        return (
            f"{given.who} approved your plan with changes. Plan mode is over; carry out this text:\n{given.data['plan']}\n{note}"
        )
    return f"{given.who} approved your plan:\n{payload.get('plan', '')}\nPlan mode is over; carry it out now.{note}"
