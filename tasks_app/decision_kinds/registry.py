"""Where each kind of decision lives."""

from collections import ChainMap
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import cast

from tasks_app.decision_kinds.base import Kind
from tasks_app.domain.statuses import DecisionKind

KINDS: dict[DecisionKind, str] = {
    DecisionKind.PERMISSION: "tasks_app.decision_kinds.permission",
    DecisionKind.PLAN: "tasks_app.decision_kinds.plan",
    DecisionKind.QUESTION: "tasks_app.decision_kinds.question",
    DecisionKind.ESCALATION: "tasks_app.decision_kinds.escalation",
    DecisionKind.BUDGET: "tasks_app.decision_kinds.budget",
    DecisionKind.STALL: "tasks_app.decision_kinds.stall",
    DecisionKind.REVIEW: "tasks_app.decision_kinds.review",
}


@cache
def get(kind: str) -> Kind:
    """Return the module of a kind; raises ValueError for an unknown word."""
    return cast(Kind, import_module(KINDS[DecisionKind(kind)]))


@cache
def _choices() -> Mapping[str, str]:
    return ChainMap(*(dict(get(kind).CHOICES) for kind in KINDS))


def choice_word(choice: str) -> str:
    """Return what was decided, for people: `allowed once`; the choice itself where no kind knows it, `closed` for none."""
    return _choices().get(choice, choice.replace("_", " ") or "closed")
