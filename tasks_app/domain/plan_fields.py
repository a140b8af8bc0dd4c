"""What the models of a plan file have in common: strict fields, and the block that says who decides what."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from tasks_app.domain import deciders
from tasks_app.domain.deciders import Decider, Subject
from tasks_app.domain.plan_criteria import refusal

Whole = Annotated[int, Field(strict=True)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class Strict(BaseModel):
    """A frozen model without unknown fields. A field left empty counts as left out."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True, hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _without_empty(cls, data: Any) -> Any:
        return {key: value for key, value in data.items() if value is not None} if isinstance(data, dict) else data


def _by(subject: Subject) -> BeforeValidator:
    def check(value: Any) -> Any:
        if problem := deciders.refused(subject, str(value)):
            raise refusal(*problem)
        return value

    words = Literal["human", "lead", "policy"] if subject in deciders.POLICIES else Literal["human", "lead"]
    return BeforeValidator(check, json_schema_input_type=words)


def _default(subject: Subject) -> Any:
    return Field(default=deciders.DEFAULTS[subject], description=deciders.MEANS[subject])


class Decides(Strict):
    """Who decides what: human, lead (the agent with that role; you, where there is none) or policy, where there is one."""

    permission: Annotated[Decider, _by(Subject.PERMISSION)] = _default(Subject.PERMISSION)
    plan: Annotated[Decider, _by(Subject.PLAN)] = _default(Subject.PLAN)
    budget: Annotated[Decider, _by(Subject.BUDGET)] = _default(Subject.BUDGET)
    question: Annotated[Decider, _by(Subject.QUESTION)] = _default(Subject.QUESTION)
    escalation: Annotated[Decider, _by(Subject.ESCALATION)] = _default(Subject.ESCALATION)
    stall: Annotated[Decider, _by(Subject.STALL)] = _default(Subject.STALL)
    review: Annotated[Decider, _by(Subject.REVIEW)] = _default(Subject.REVIEW)
    failure: Annotated[Decider, _by(Subject.FAILURE)] = _default(Subject.FAILURE)
    tasks: Annotated[Decider, _by(Subject.TASKS)] = _default(Subject.TASKS)
    wait_minutes: Annotated[Number, Field(gt=0, le=deciders.MOST_WAIT_MINUTES)] = Field(
        default=deciders.WAIT_MINUTES, description="Minutes the lead agent has for a request; then it is yours"
    )
    wakes_per_hour: Annotated[Whole, Field(ge=1, le=deciders.MOST_WAKES)] = Field(
        default=deciders.WAKES_PER_HOUR, description="How often the lead agent is woken in an hour at most; then all is yours"
    )
