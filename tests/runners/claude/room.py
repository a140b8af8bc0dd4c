"""A gate without a process, for tests: what it is asked, what it waits for and what it says."""

from pathlib import Path
from typing import Any

from claude_agent_sdk import ToolPermissionContext

from tasks_app.domain.statuses import DecisionKind
from tasks_app.runners.claude.desk import Desk
from tasks_app.runners.claude.permissions import Gate
from tasks_app.runners.fake_port import Answering, FakePort
from tasks_app.runners.port import RunSpec, ToolSpec

ESCALATE = ToolSpec("Escalate", "Asks the lead.", {"type": "object"}, asks=DecisionKind.ESCALATION)


class Room:
    """A gate with a port, and what was noticed of it."""

    def __init__(self, folder: Path, answering: Answering, **rules: Any) -> None:
        self.port = FakePort(answering=answering)
        self.woken = 0
        self.waited: list[str] = []  # what a call waited for
        self.modes: list[str] = []
        self.plans: dict[str, str] = {}
        self.desk = Desk(self.port, wake=self.wake)
        common = {"team_id": 1, "agent": "a", "task_label": "T-1", "attempt": 1, "prompt": "", "system_prompt": "", "model": None}
        spec = RunSpec(
            run_id="rtest0001",
            fence=1,
            workspace=str(folder),
            home=str(folder / "home"),
            plan_mode=False,
            session_id=None,
            new_session_id="n",
            tools=(ESCALATE,),
            **common,
            **rules,
        )
        self.gate = Gate(spec, self.desk, self.mode, self.recorded, self.stored, self.plans, {"a1": "explore"})

    def wake(self) -> None:
        self.woken += 1

    async def mode(self, mode: str) -> None:
        self.modes.append(mode)

    async def recorded(self, tool_use_id: str) -> bool:
        self.waited.append(f"recorded {tool_use_id}")
        return True

    async def stored(self, tool_use_id: str) -> bool:
        self.waited.append(f"stored {tool_use_id}")
        return True

    async def rule(self, tool: str, given: dict[str, Any], *, mode: str = "default") -> str:
        """The word of the hook about a call, empty where it has no opinion."""
        hook = {"tool_name": tool, "tool_input": given, "permission_mode": mode, "transcript_path": ""}
        output = await self.gate.before_tool(hook, "toolu_1", None)
        return str(output.get("hookSpecificOutput", {}).get("permissionDecision", ""))

    async def decide(self, tool: str, given: dict[str, Any], *, call: str = "toolu_1", agent: str | None = None) -> Any:
        """The gate's decision about a call that Claude Code would prompt for."""
        return await self.gate.can_use_tool(tool, given, ToolPermissionContext(tool_use_id=call, agent_id=agent))
