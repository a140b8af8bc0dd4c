"""Drives the real Claude Code process against the scripted model, in folders of its own, and ends every process it starts."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    InMemorySessionStore,
    ResultMessage,
    create_sdk_mcp_server,
    tool,
)
from claude_agent_sdk.types import AssistantMessage, PermissionResultAllow, TextBlock, ToolResultBlock, ToolUseBlock, UserMessage

from tasks_app.rehearsal.scripts import load
from tasks_app.rehearsal.server import RehearsalServer

CanUseTool = Callable[[str, dict[str, Any], Any], Awaitable[Any]]


@dataclass
class Seen:
    """What one conversation with the process showed."""

    said: list[str] = field(default_factory=list)
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    usages: list[dict[str, Any]] = field(default_factory=list)
    ends: list[ResultMessage] = field(default_factory=list)
    error: str = ""

    @property
    def end(self) -> ResultMessage:
        return self.ends[-1]

    def note(self, message: object) -> None:
        if isinstance(message, ResultMessage):
            self.ends.append(message)
        elif isinstance(message, AssistantMessage):
            self.usages.append(message.usage or {})
            self.said += [block.text for block in message.content if isinstance(block, TextBlock)]
            self.calls += [(block.name, block.input) for block in message.content if isinstance(block, ToolUseBlock)]
        elif isinstance(message, UserMessage) and isinstance(message.content, list):
            self.results += [str(block.content) for block in message.content if isinstance(block, ToolResultBlock)]


class Claude:
    """One agent at one task: its script, its workspace, its stored session and the crew tools it called."""

    def __init__(self, folder: Path, server: RehearsalServer, script: str, *, criteria: tuple[str, ...] = ()) -> None:
        self.work = folder / "work"
        self.work.mkdir(parents=True)
        self.folder, self.criteria = folder, criteria
        self.store = InMemorySessionStore()
        self.session: str | None = None
        self.reports: list[dict[str, Any]] = []
        self.processes = 0
        self.can_use_tool: CanUseTool = allow
        self.moves_to(server, script)

    def moves_to(self, server: RehearsalServer, script: str) -> None:
        """Play `script` from `server` from now on."""
        part = load(script).part_for(agent="ann", title="Payment API")
        words = {"task": "T-3", "agent": "ann", "attempt": 1, "workspace": self.work}
        server.register(self.folder.name, part, words, self.criteria)
        self.server = server

    async def run(
        self, *prompts: str, on_message: Callable[[object, int], Awaitable[None]] | None = None, **options: Any
    ) -> Seen:
        """Start a process (it resumes the session if there is one), send the prompts in order, return what was seen."""
        seen = Seen()
        client = ClaudeSDKClient(self._options(options))
        await client.connect()
        pid = client._transport._process.pid  # type: ignore[union-attr]
        try:
            for prompt in prompts:
                await client.query(prompt)
                await self._read(client, seen, pid, on_message, command=prompt.startswith("/"))
        except Exception as error:
            seen.error = str(error)
        finally:
            with contextlib.suppress(Exception):
                await client.disconnect()
            end(pid)
        return seen

    async def _read(self, client: ClaudeSDKClient, seen: Seen, pid: int, on_message: Any, *, command: bool) -> None:
        async for message in client.receive_messages():
            seen.note(message)
            self.session = getattr(message, "session_id", None) or self.session
            if on_message:
                await on_message(message, pid)
            # a result without turns belongs to a notification left over from the process before
            if isinstance(message, ResultMessage) and (message.num_turns or command):
                return

    def _options(self, extra: dict[str, Any]) -> ClaudeAgentOptions:
        self.processes += 1
        home = self.folder / f"home{self.processes}"
        home.mkdir()
        return ClaudeAgentOptions(
            cwd=self.work,
            env={
                "ANTHROPIC_BASE_URL": self.server.url(self.folder.name),
                "ANTHROPIC_API_KEY": "sk-rehearsal",
                "HOME": str(home),
                "CLAUDE_CONFIG_DIR": str(home / ".claude"),
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "DISABLE_TELEMETRY": "1",
                "DISABLE_AUTOUPDATER": "1",
            },
            can_use_tool=self._ask,
            setting_sources=[],
            session_store=self.store,
            session_store_flush="eager",
            resume=self.session,
            mcp_servers={"crew": create_sdk_mcp_server("crew", tools=[self._task_update()])},
            allowed_tools=["mcp__crew__TaskUpdate"],
            **extra,
        )

    async def _ask(self, name: str, given: dict[str, Any], context: Any) -> Any:
        return await self.can_use_tool(name, given, context)

    def _task_update(self) -> Any:
        schema = {"type": "object", "properties": {"taskId": {"type": "string"}}, "additionalProperties": True}

        @tool("TaskUpdate", "Update a task", schema)
        async def update(arguments: dict[str, Any]) -> dict[str, Any]:
            self.reports.append(arguments)
            return {"content": [{"type": "text", "text": "Updated."}]}

        return update


async def allow(_name: str, given: dict[str, Any], _context: Any) -> Any:
    """Allow every call as it is."""
    return PermissionResultAllow(updated_input=given)


async def until(holds: Callable[[], bool], *, within_s: float = 20) -> None:
    """Wait until something that another process does is seen."""
    async with asyncio.timeout(within_s):
        while not holds():  # noqa: ASYNC110 - a file of another process sends no event
            await asyncio.sleep(0.02)


def end(pid: int) -> None:
    """Kill the process if it still runs."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def run(main: Any, *, within_s: float = 60) -> Any:
    """Run a coroutine to its end, at most `within_s` seconds."""
    return asyncio.run(asyncio.wait_for(main, within_s))
