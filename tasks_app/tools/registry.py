"""All crew tools by name, and the one way to call them: bad arguments and refusals become text that the agent can act on."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from typing import Any

from pydantic import ValidationError

from tasks_app.domain.errors import DomainError, Forbidden, LeaseLost
from tasks_app.domain.text import clean_json
from tasks_app.runners.port import ToolSpec
from tasks_app.services import calls, checkpoints, deciding, runs
from tasks_app.tools import context, escalate, lead, messages, tasks
from tasks_app.tools.base import Caller, CrewTool

TOOLS: dict[str, CrewTool] = {tool.name: tool for module in (tasks, messages, escalate, context, lead) for tool in module.TOOLS}


@cache  # the schemas are the same for every run, and making them is a twelfth of what a short run costs
def specs(*, lead: bool = False) -> tuple[ToolSpec, ...]:
    """Return what the runner registers as the MCP server `crew`; `lead`: for the lead agent, with the tools it alone has."""
    return tuple(tool.spec() for tool in TOOLS.values() if lead or not tool.lead)


def freezes(name: str) -> bool:
    """Whether a call of this tool waits for git."""
    tool = TOOLS.get(name)
    return tool is not None and tool.freezes


def call(name: str, caller: Caller, arguments: Mapping[str, Any], tool_use_id: str = "") -> tuple[str, bool]:
    """Run a tool; returns (text, is_error). Only `LeaseLost` is raised: the run is not this caller's any more.

    What a tool writes is one transaction that holds the run: a refusal leaves nothing half-written, a stale life writes nothing.
    """
    tool = TOOLS.get(name)
    if tool is None:
        return f"There is no tool {name[:60]}. There are: {', '.join(TOOLS)}.", True
    if not isinstance(arguments, Mapping):
        return "The arguments are not right. They must be one JSON object.", True
    try:
        parsed = tool.arguments.model_validate(clean_json(dict(arguments)))
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(str(p) for p in e['loc']) or 'arguments'}: {e['msg']}" for e in error.errors()[:10])
        return f"The arguments are not right. {wrong}", True
    try:
        if tool.freezes:
            caller = replace(caller, frozen=checkpoints.freeze(caller.team_id))
        with runs.holding(caller.run_id, caller.fence) if tool.writes else nullcontext():
            _may_call(tool, caller)
            return _run(tool, replace(caller, tool_use_id=tool_use_id), parsed), False
    except LeaseLost:
        raise
    except DomainError as error:
        if tool.refused is not None:
            tool.refused(caller, parsed, error)
        return f"Refused: {_words(error)}", True


def _may_call(tool: CrewTool, caller: Caller) -> None:
    if tool.lead:
        lead_agent = deciding.lead_agent(caller.team_id)
        if lead_agent is None or lead_agent.pk != caller.agent_id:
            raise Forbidden(f"Only the lead agent of a team has {tool.name}.")


def _run(tool: CrewTool, caller: Caller, arguments: Any) -> str:
    """Do what the tool does; not again what this very call has done already, for the answer to a commit may be lost, nor what an
    earlier life of the run did, and forgot."""
    same = tool.once(arguments) if tool.once else None
    if same is None and (tool.harmless or not (tool.writes and caller.tool_use_id)):
        return tool.handle(caller, arguments)
    key = calls.key_of(tool.name, same) if same is not None else ""
    before = calls.repeated(caller.run_id, caller.fence, key=key, tool_use_id=caller.tool_use_id)
    if before is not None:
        return before
    result = tool.handle(caller, arguments)
    calls.keep(caller.run_id, caller.fence, key=key, tool_use_id=caller.tool_use_id, result=result)
    return result


def _words(error: DomainError) -> str:
    problems = [str(p) for p in getattr(error, "problems", ()) if p.message != error.message]
    return " ".join([error.message, *problems[:10]])
