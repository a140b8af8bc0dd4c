"""What a process is given while it works: results of crew tools, and between its calls what is due for the agent."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tasks_app.domain.errors import LeaseLost
from tasks_app.domain.statuses import StepKind
from tasks_app.runners.claude.content import kept
from tasks_app.runners.claude.desk import PARKED, Desk
from tasks_app.runners.claude.emitter import Emitter
from tasks_app.runners.claude.permissions import Gate
from tasks_app.runners.port import Parked, Port, StepDraft

log = logging.getLogger(__name__)

ENDING = "This run is being ended."
HELD_S = 30.0
"""How long a call that parks the run is left without a result: the process is ended meanwhile, and its model not asked again."""
NOT_ASKED = "The lead was not asked: this call needs a decision first. Make it again."


@dataclass(frozen=True)
class Replies:
    """Answers the hook after each call and the calls of crew tools. Never raises: the SDK would tell the agent our exception."""

    port: Port
    desk: Desk
    gate: Gate
    emitter: Emitter

    async def after_tool(self, given: Any, tool_use_id: str | None, context: Any) -> Any:
        """The hook after each call: the lead's note on it, and on the main thread the messages that are due."""
        try:
            parts = [self.gate.after.pop(str(tool_use_id), ""), *await self._due(given)]
        except LeaseLost:
            self.desk.lose()
            return {}
        except Exception:
            log.exception("handing over messages failed", extra={"tool_use_id": tool_use_id})
            return {}
        text = "\n\n".join(part for part in parts if part)
        if not text:
            return {}
        return {"hookSpecificOutput": {"hookEventName": given["hook_event_name"], "additionalContext": text}}

    async def _due(self, given: Mapping[str, Any]) -> list[str]:
        if given.get("agent_id"):
            return []
        async with self.desk.handing:
            if self.desk.ends or self.desk.interrupting:
                return []
            notes = list(await self.port.notes())
        self.emitter.add([StepDraft(StepKind.PROMPT, kept(note).text, {"from": "message"}) for note in notes])
        return notes

    async def call_tool(self, name: str, arguments: Mapping[str, Any], tool_use_id: str) -> tuple[str, bool]:
        """Run a crew tool; where the call was itself a question to the lead, its result is the answer."""
        answer = self.gate.answers.pop(tool_use_id, None)
        if answer is not None:
            return answer, False
        if self.gate.is_question(name):
            return NOT_ASKED, True
        try:
            return await self.port.call_tool(name, arguments, tool_use_id)
        except Parked:
            self.desk.park()
            await asyncio.sleep(HELD_S)
            return PARKED, True
        except LeaseLost:
            self.desk.lose()
            return ENDING, True
        except Exception:
            log.exception("crew tool failed", extra={"tool": name, "tool_use_id": tool_use_id})
            return f"{name} failed inside Crewdesk. Try once more, then go on without it.", True
