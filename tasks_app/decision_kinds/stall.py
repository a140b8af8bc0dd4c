"""Stall: a run has said nothing for long; wait, or stop it and try again."""

from collections.abc import Mapping
from typing import Any

from tasks_app.decision_kinds.base import Given, Unanswered

CHOICES = {"wait": "to wait", "retry": "to be tried again", "stop": "stopped"}
GRANTS: frozenset[str] = frozenset()
STANDING: frozenset[str] = frozenset()
UNANSWERED = Unanswered("", "nothing is done", "nothing was done")


def title(payload: Mapping[str, Any], agent: str) -> str:
    """`builder-1 has been quiet for 12 min`."""
    return f"{agent} has been quiet for {int(payload.get('quiet_s', 0)) // 60} min"


def check(given: Given, payload: Mapping[str, Any]) -> Given:
    """Nothing to check beyond the choice."""
    return Given(given.choice, given.note)


def tell(given: Given, payload: Mapping[str, Any]) -> str:
    """The lead's words."""
    return f"{given.who} saw that you were quiet for long and says: {given.note or 'go on'}."
