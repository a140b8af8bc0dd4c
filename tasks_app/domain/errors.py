"""The tree of expected failures: each has a stable code, a sentence for people and, where it helps, the field.

Mapped once per surface: page and API (`status`), terminal (exit code 2), agent tool (text result with is_error).
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Problem:
    """One thing wrong with an input: where it is, what it is and how to mend it."""

    message: str
    path: str = ""  # dotted: tasks[3].depends_on[0]
    line: int | None = None  # 1-based, where the input has lines
    fix: str = ""

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line else ""
        return f"{where}{self.path + ': ' if self.path else ''}{self.message}{' ' + self.fix if self.fix else ''}"


class DomainError(Exception):
    """An expected failure. `code` is stable, `status` its HTTP status, `message` is for people."""

    code = "error"
    status = 400
    retryable = False

    def __init__(self, message: str, *, field: str = "", **facts: object) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.facts = facts


class Invalid(DomainError):
    """An input that cannot be taken; `problems` names every error at once."""

    code = "invalid"
    status = 422

    def __init__(self, message: str, *, field: str = "", problems: tuple[Problem, ...] = (), **facts: object) -> None:
        super().__init__(message, field=field, **facts)
        self.problems = problems or (Problem(message, path=field),)


class NotFound(DomainError):
    """Nothing of that name that this person may see."""

    code = "not_found"
    status = 404


class Forbidden(DomainError):
    """The person may see it but not do this."""

    code = "forbidden"
    status = 403


class Conflict(DomainError):
    """The state has moved on: the message says who did what and when."""

    code = "conflict"
    status = 409


class AlreadyClaimed(Conflict):
    """Another agent holds the task."""

    code = "already_claimed"


class Blocked(Conflict):
    """A dependency is not completed."""

    code = "blocked"


class AlreadyAnswered(Conflict):
    """The decision was answered before; facts: answered_by, answered_at."""

    code = "already_answered"


class DecisionGone(Conflict):
    """The decision was withdrawn or has expired."""

    code = "decision_gone"


class Stale(Conflict):
    """The answer was given to an older version of what is shown now."""

    code = "stale"


class TooLarge(DomainError):
    """An input over its size limit."""

    code = "too_large"
    status = 413


class TooMany(DomainError):
    """Too much of the same in too short a time: a guard against loops."""

    code = "too_many"
    status = 429
    retryable = True


class LeaseLost(DomainError):
    """This worker no longer holds the run: it must stop at once and write nothing."""

    code = "lease_lost"
    status = 409


class HandedOver(LeaseLost):
    """An answer that was handed over already, to this life or to another one."""

    code = "handed_over"


class Unavailable(DomainError):
    """A part of the system does not answer at the moment."""

    code = "unavailable"
    status = 503
    retryable = True


@dataclass(frozen=True)
class Problems:
    """A growing list of problems, raised together."""

    items: list[Problem] = field(default_factory=list)

    def add(self, message: str, *, path: str = "", line: int | None = None, fix: str = "") -> None:
        """Remember one problem."""
        self.items.append(Problem(message, path, line, fix))

    def raise_if_any(self, message: str) -> None:
        """Raise `Invalid` with everything found, or return."""
        if self.items:
            raise Invalid(message, problems=tuple(self.items))
