"""What a crew tool is: its arguments as a Pydantic model, and a handler that returns text for the agent."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from tasks_app.domain.criteria import Result
from tasks_app.domain.errors import DomainError, NotFound
from tasks_app.domain.ids import parse_task_label, task_label
from tasks_app.domain.statuses import DecisionKind
from tasks_app.runners.port import ToolSpec
from tasks_app.selectors import crew


class Arguments(BaseModel):
    """Arguments of a tool: unknown names are refused, so that a misspelt one is not silently lost."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=False, coerce_numbers_to_str=True)


@dataclass(frozen=True)
class Caller:
    """The run that calls."""

    run_id: str
    fence: int
    team_id: int
    agent_id: int
    agent: str
    task_id: int
    task_number: int
    tool_use_id: str = ""
    frozen: str = ""
    """The snapshot of the workspace, for a tool that `freezes`."""
    proofs: tuple[Result, ...] = ()
    """What came of proving the criteria for this very call; made before it, outside any transaction (execution/proving)."""

    @property
    def actor(self) -> str:
        """`agent:<name>`."""
        return f"agent:{self.agent}"


@dataclass(frozen=True)
class CrewTool:
    """One tool: the agent sees `name`, `description` and the schema of `arguments`."""

    name: str
    description: str
    arguments: type[Arguments]
    handle: Callable[[Caller, Any], str]
    asks: DecisionKind | None = None
    writes: bool = True
    """Whether it changes anything: then it is refused to a life that no longer holds the run, and is all or nothing."""
    refused: Callable[[Caller, Any, DomainError], None] | None = None
    """Called after a refusal, outside of what it undid: to tell the people who watch."""
    lead: bool = False
    """Only for the lead agent."""
    freezes: bool = False
    """Whether it needs a snapshot of the workspace: taken before its transaction, for that takes time."""
    once: Callable[[Any], Any] | None = None
    """For a tool whose repetition would do something twice: what of the arguments makes a call the same one, as JSON;
    None where this call may be repeated."""
    harmless: bool = False
    """Done twice it is as good as done once: its result, which may be long, is not kept."""

    def spec(self) -> ToolSpec:
        """Return what the runner registers."""
        return ToolSpec(self.name, self.description, self.arguments.model_json_schema(), self.asks)


def find_task(caller: Caller, text: str) -> int:
    """Return the primary key of the task an agent names; raises NotFound with what there is."""
    number = parse_task_label(text)
    found = crew.task_pk(caller.team_id, number) if number is not None else None
    if found is None:
        known = ", ".join(task_label(n) for n in crew.numbers(caller.team_id)[:50])
        raise NotFound(f"There is no task “{text[:40]}” in this team. There are: {known}.", field="taskId")
    return found
