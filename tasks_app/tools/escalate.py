"""The crew tool that asks the lead for a choice. The runner asks before it calls: the answer is the call's result."""

from pydantic import Field

from tasks_app.domain.statuses import DecisionKind
from tasks_app.tools.base import Arguments, Caller, CrewTool


class Option(Arguments):
    """One way out."""

    label: str
    effect: str = ""
    cost: str = ""
    recommended: bool = False


class Escalate(Arguments):
    """A problem that needs the lead."""

    problem: str = Field(description="What stops you, in a sentence or two")
    tried: list[str] = Field(default_factory=list, description="What you tried and what came of it")
    options: list[Option] = Field(default_factory=list, description="Concrete ways out, each with its effect")
    recommendation: str = ""


def _escalate(caller: Caller, args: Escalate) -> str:
    return "The lead has not answered. Do not go on with what you asked for."


TOOLS = (
    CrewTool(
        "Escalate",
        "Ask the lead when you are stuck or the choice is not yours. Give concrete options; the answer is the result.",
        Escalate,
        _escalate,
        asks=DecisionKind.ESCALATION,
        writes=False,
    ),
)
