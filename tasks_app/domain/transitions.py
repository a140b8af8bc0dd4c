"""The transitions that stored states may take; every guarded UPDATE takes its sources from here (design.md §3)."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, TypeVar

from tasks_app.domain.statuses import DecisionStatus, RunStatus, TaskStatus

S = TypeVar("S", bound=StrEnum)

TASK: Final[Mapping[TaskStatus, frozenset[TaskStatus]]] = {
    TaskStatus.PENDING: frozenset({TaskStatus.IN_PROGRESS, TaskStatus.COMPLETED, TaskStatus.CANCELLED}),
    TaskStatus.IN_PROGRESS: frozenset({TaskStatus.COMPLETED, TaskStatus.PENDING, TaskStatus.CANCELLED}),
    TaskStatus.COMPLETED: frozenset({TaskStatus.PENDING}),  # reopened
    TaskStatus.CANCELLED: frozenset({TaskStatus.PENDING}),  # reopened
}
"""From each state to those that may follow. `pending → completed` is by hand: no run was needed."""
RUN: Final[Mapping[RunStatus, frozenset[RunStatus]]] = {
    RunStatus.PENDING: frozenset({RunStatus.RUNNING, RunStatus.KILLED, RunStatus.FAILED}),
    RunStatus.RUNNING: frozenset({RunStatus.PENDING, RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.KILLED}),
    RunStatus.COMPLETED: frozenset(),
    RunStatus.FAILED: frozenset(),
    RunStatus.KILLED: frozenset(),
}
"""`running → pending` parks a run or takes it back from a lost worker; the three last states are final."""
DECISION: Final[Mapping[DecisionStatus, frozenset[DecisionStatus]]] = {
    DecisionStatus.OPEN: frozenset({DecisionStatus.ANSWERED, DecisionStatus.WITHDRAWN, DecisionStatus.EXPIRED}),
    DecisionStatus.ANSWERED: frozenset(),
    DecisionStatus.WITHDRAWN: frozenset(),
    DecisionStatus.EXPIRED: frozenset(),
}
START: Final = (TaskStatus.PENDING, RunStatus.PENDING, DecisionStatus.OPEN)
"""The state each begins in."""


def sources(target: S) -> tuple[S, ...]:
    """Return the states from which `target` may be entered, in the order of the enum."""
    return tuple(state for state, following in _table(target).items() if target in following)


def allowed(current: S, target: S) -> bool:
    """Whether `current` may become `target`."""
    return target in _table(current)[current]


def is_final(state: S) -> bool:
    """Whether nothing follows `state`."""
    return not _table(state)[state]


def _table(state: S) -> Mapping[S, frozenset[S]]:
    return _TABLES[type(state)]


_TABLES: Final[Mapping[type[StrEnum], Mapping[Any, frozenset[Any]]]] = {
    TaskStatus: TASK,
    RunStatus: RUN,
    DecisionStatus: DECISION,
}
"""By type: members of different enums with the same word are equal."""
