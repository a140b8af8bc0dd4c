"""Plans that are sent back: how often the lead is shown one, and what stands in the place of one more."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from tasks_app.domain.statuses import DecisionKind

MAX_REJECTED: Final = 4
"""A plan that was sent back so often is not shown a fifth time: the lead gets an escalation instead."""
APPROVE_LAST: Final = "Approve the last plan"
APPROVALS: Final = frozenset({"approve", "approve_changes"})


def approves(kind: str, payload: Mapping[str, Any], choice: str, data: Mapping[str, Any]) -> bool:
    """Whether this answer ends plan mode: a plan approved, or the last one in the escalation about it."""
    if kind == DecisionKind.PLAN:
        return choice in APPROVALS
    return kind == DecisionKind.ESCALATION and bool(payload.get("plan")) and data.get("option") == APPROVE_LAST


def sent_back(answers: Iterable[tuple[str, str, str]]) -> tuple[str, ...]:
    """Return the lead's comments on plans sent back in a row, of (kind, choice, note) of each answer about plans."""
    row: list[str] = []
    for kind, choice, note in answers:
        row = [*row, note] if (kind, choice) == (DecisionKind.PLAN, "revise") else []
    return tuple(row)
