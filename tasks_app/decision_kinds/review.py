"""Review: an agent reports its task as completed, and criteria are left that a person judges."""

from collections.abc import Mapping
from typing import Any

from tasks_app.decision_kinds.base import Given, Unanswered
from tasks_app.domain.errors import Invalid
from tasks_app.domain.text import one_line

CHOICES = {"approve": "approved", "revise": "sent back"}
GRANTS: frozenset[str] = frozenset({"approve"})
STANDING: frozenset[str] = frozenset()
UNANSWERED = Unanswered("revise", "the work is sent back", "the work was sent back")


def title(payload: Mapping[str, Any], agent: str) -> str:
    """`ada asks for a review: T-3 Payment API`."""
    return one_line(f"{agent} asks for a review: {payload.get('task', '')}", 200)


def check(given: Given, payload: Mapping[str, Any]) -> Given:
    """Work that is sent back needs comments."""
    if given.choice == "revise" and not given.note.strip():
        raise Invalid("Say what to change: the agent goes on by your words.", field="note")
    return Given(given.choice, given.note)


def tell(given: Given, payload: Mapping[str, Any]) -> str:
    """Say whether to report again or what to change."""
    note = f" {given.who} adds: {given.note}" if given.note else ""
    if given.choice == "revise":
        return f"{given.who} looked at your work and sent it back.{note} Change it, then report the task as completed again."
    return (
        f"{given.who} looked at your work and accepted it. Repeat exactly the call of mcp__crew__TaskUpdate that you made, with "
        f"the same evidence and summary; nothing else is needed.{note}"
    )
