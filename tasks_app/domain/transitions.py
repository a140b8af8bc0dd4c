"""The moves that stored states may make; every guarded UPDATE takes its sources and its target from here."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tasks_app.domain.statuses import DecisionStatus, RunStatus, TaskStatus


@dataclass(frozen=True)
class Move:
    """One kind of transition: a row in any state of `before` may go to any state of `after`."""

    before: tuple[StrEnum, ...]
    after: tuple[StrEnum, ...]

    @property
    def sources(self) -> list[str]:
        """The stored words of the states it starts from, for `WHERE status IN`."""
        return [state.value for state in self.before]

    @property
    def target(self) -> str:
        """The stored word of the state it leads to, where that is one."""
        (state,) = self.after
        return state.value

    def to(self, state: StrEnum) -> str:
        """The stored word of one of the states it leads to; raises `ValueError` for any other."""
        if state not in self.after:
            raise ValueError(f"{state!r} cannot follow {', '.join(self.sources)}")
        return state.value


CLAIM_TASK: Final = Move((TaskStatus.PENDING,), (TaskStatus.IN_PROGRESS,))
FINISH_TASK: Final = Move((TaskStatus.IN_PROGRESS,), (TaskStatus.COMPLETED,))
"""By its run."""
COMPLETE_TASK: Final = Move((TaskStatus.PENDING, TaskStatus.IN_PROGRESS), (TaskStatus.COMPLETED,))
"""By hand: no run is needed."""
RELEASE_TASK: Final = Move((TaskStatus.IN_PROGRESS,), (TaskStatus.PENDING,))
CANCEL_TASK: Final = Move((TaskStatus.PENDING, TaskStatus.IN_PROGRESS), (TaskStatus.CANCELLED,))
REOPEN_TASK: Final = Move((TaskStatus.COMPLETED, TaskStatus.CANCELLED), (TaskStatus.PENDING,))

START_RUN: Final = Move((RunStatus.PENDING,), (RunStatus.RUNNING,))
GIVE_BACK_RUN: Final = Move((RunStatus.RUNNING,), (RunStatus.PENDING,))
"""Parked, or taken back from a lost worker: the same attempt goes on later."""
END_RUN: Final = Move((RunStatus.RUNNING,), (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.KILLED))
DROP_RUN: Final = Move((RunStatus.PENDING,), (RunStatus.FAILED, RunStatus.KILLED))
"""Ended while no process worked for it."""

ANSWER: Final = Move((DecisionStatus.OPEN,), (DecisionStatus.ANSWERED,))
WITHDRAW: Final = Move((DecisionStatus.OPEN,), (DecisionStatus.WITHDRAWN,))
EXPIRE: Final = Move((DecisionStatus.OPEN,), (DecisionStatus.EXPIRED,))
