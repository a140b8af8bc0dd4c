"""Who decides what in a team: the human, the lead agent or a rule that is there already; each subject has its default."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Final

from tasks_app.domain.errors import Invalid
from tasks_app.domain.messaging import LEAD_ROLE
from tasks_app.domain.statuses import DecisionKind, Reason

WAIT_MINUTES: Final = 10.0
"""So long the lead agent has for a request; then it is the human's."""
MOST_WAIT_MINUTES: Final = 1440.0
WAKES_PER_HOUR: Final = 12
MOST_WAKES: Final = 120
PREFIX: Final = "lead agent "
"""How an answer of the lead agent is signed. No person's name can hold a space, so it is never taken for one."""


class Decider(StrEnum):
    """Who decides."""

    HUMAN = "human"
    LEAD = "lead"  # the agent with the role `lead`; the human where it is not at work
    POLICY = "policy"  # a rule of the team, without asking anybody


class Subject(StrEnum):
    """What is decided: the kinds of decision, what follows a failed attempt, and who does what."""

    PERMISSION = "permission"
    PLAN = "plan"
    BUDGET = "budget"
    QUESTION = "question"
    ESCALATION = "escalation"
    STALL = "stall"
    REVIEW = "review"
    FAILURE = "failure"  # an attempt failed and others are left
    TASKS = "tasks"  # splitting, assigning and reassigning them


DEFAULTS: Final[Mapping[Subject, Decider]] = {
    Subject.PERMISSION: Decider.HUMAN,
    Subject.PLAN: Decider.HUMAN,
    Subject.BUDGET: Decider.HUMAN,
    Subject.QUESTION: Decider.LEAD,
    Subject.ESCALATION: Decider.LEAD,
    Subject.STALL: Decider.LEAD,
    Subject.REVIEW: Decider.HUMAN,
    Subject.FAILURE: Decider.POLICY,
    Subject.TASKS: Decider.LEAD,
}
POLICIES: Final[Mapping[Subject, str]] = {
    Subject.PERMISSION: "what no rule of the team settles is refused, and nobody is asked",
    Subject.FAILURE: "it is tried again, by another agent of the role where there is one (limits.on_failure)",
}
"""The subjects that a rule can decide, and what the rule is."""
MEANS: Final[Mapping[Subject, str]] = {
    Subject.PERMISSION: "A call that the rules leave open",
    Subject.PLAN: "An agent’s plan",
    Subject.BUDGET: "More money, or to stop",
    Subject.QUESTION: "A question of an agent",
    Subject.ESCALATION: "A choice that is not the agent’s, or a task that cannot go on",
    Subject.STALL: "An agent that has been quiet for long",
    Subject.REVIEW: "Finished work that the lead judges",
    Subject.FAILURE: "What follows a failed attempt, while others are left",
    Subject.TASKS: "To split, assign and reassign tasks",
}
TURN: Final = "lead"
"""The task type of a turn of the lead agent."""
HUMAN_ONLY_REASONS: Final = frozenset({Reason.AUTH.value, Reason.START_FAILED.value})
"""Failures that no agent can mend: a key, the machine."""


def allowed(subject: Subject) -> tuple[Decider, ...]:
    """Return who may decide on a subject."""
    people = (Decider.HUMAN, Decider.LEAD)
    return (*people, Decider.POLICY) if subject in POLICIES else people


def refused(subject: Subject, wanted: str) -> tuple[str, str] | None:
    """Return what is wrong with letting `wanted` decide on `subject` and what to write instead, or None."""
    words = [one.value for one in allowed(subject)]
    if wanted in words:
        return None
    if wanted == Decider.POLICY:
        return f"No policy decides on {subject.value}.", "Write human or lead."
    return f"must be {', '.join(words[:-1])} or {words[-1]}.", "Write human."


@dataclass(frozen=True)
class Settings:
    """Who decides what in a team, how long the lead agent has for it, and how often it is woken in an hour at most."""

    by: Mapping[Subject, Decider] = field(default_factory=lambda: dict(DEFAULTS))
    wait_minutes: float = WAIT_MINUTES
    wakes_per_hour: int = WAKES_PER_HOUR

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> "Settings":
        """Return what a team has stored, with defaults for the rest."""
        by = {subject: Decider(stored.get(subject.value, DEFAULTS[subject])) for subject in Subject}
        return cls(by, float(stored.get("wait_minutes", WAIT_MINUTES)), int(stored.get("wakes_per_hour", WAKES_PER_HOUR)))

    def changed(self, given: Mapping[str, Any]) -> "Settings":
        """Return these with some changed, by the names of `stored`. Raises `Invalid` naming the field."""
        known = self.stored()
        for name, value in given.items():
            if name not in known:
                raise Invalid(f"There is no setting “{name[:40]}”. There are: {', '.join(known)}.", field="decides")
            problem = refused(Subject(name), str(value)) if name in tuple(Subject) else None
            if problem is not None:
                raise Invalid(f"{name}: {problem[0]} {problem[1]}", field=name)
        wanted = Settings.of({**known, **_numbers(given)})
        if not 0 < wanted.wait_minutes <= MOST_WAIT_MINUTES:
            raise Invalid(f"The minutes must be above 0 and at most {MOST_WAIT_MINUTES:g}.", field="wait_minutes")
        if not 1 <= wanted.wakes_per_hour <= MOST_WAKES:
            raise Invalid(f"Wake-ups in an hour are a whole number from 1 to {MOST_WAKES}.", field="wakes_per_hour")
        return wanted

    def stored(self) -> dict[str, Any]:
        """Return these as a team keeps them, and as the API and the terminal say them."""
        rest = {name: value for name, value in asdict(self).items() if name != "by"}
        return {**{subject.value: decider.value for subject, decider in self.by.items()}, **rest}


def _numbers(given: Mapping[str, Any]) -> dict[str, Any]:
    read: dict[str, Any] = dict(given)
    for name, kind in (("wait_minutes", float), ("wakes_per_hour", int)):
        if name in read:
            try:
                read[name] = kind(read[name])
            except (TypeError, ValueError, OverflowError):
                raise Invalid("That is no number.", field=name) from None
    return read


def subject_of(kind: str, payload: Mapping[str, Any]) -> Subject:
    """Return by which setting a decision of this kind is decided: a plan stays one also where it is put as an escalation."""
    if kind == DecisionKind.ESCALATION and "plan" in payload:
        return Subject.PLAN
    return Subject(kind)


def subject_of_failure(reason: str, *, used_up: bool) -> Subject | None:
    """Return by which setting a failed task is decided, None where only the human can help."""
    if reason in HUMAN_ONLY_REASONS:
        return None
    if reason == Reason.BUDGET:
        return Subject.BUDGET
    return Subject.ESCALATION if used_up else Subject.FAILURE


def is_lead(role: str) -> bool:
    """Whether an agent of this role is a lead agent."""
    return role.casefold() == LEAD_ROLE


def signed(actor: str) -> str:
    """Return how an answer is signed: by a person's name, or as `lead agent ada`."""
    kind, _, name = actor.partition(":")
    return f"{PREFIX}{name}" if kind == "agent" else name or actor


def speaker(answered_by: str) -> str:
    """Return who speaks in what an agent is told of an answer: `The lead` is the human alone."""
    return f"The {answered_by}" if answered_by.startswith(PREFIX) else "The lead"
