"""The peer: a plain script around the SDK that plays the same rehearsal, with nothing of ours but the scripted model.

`python -m bench.plain_sdk SCRIPT WORKSPACE COUNT [watched]` runs COUNT conversations at once and prints JSON: the wall seconds of
each, the processor seconds of this process and of its children, and its memory at the beginning and at its peak. `watched`: the
script asks for what a supervised run cannot be without, hooks around each call and a session store, and does nothing in them.
"""

import asyncio
import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    InMemorySessionStore,
    ResultMessage,
    create_sdk_mcp_server,
    tool,
)
from claude_agent_sdk.types import SystemPromptPreset

from tasks_app.rehearsal import scripts
from tasks_app.rehearsal.server import RehearsalServer

LIKE_OURS: SystemPromptPreset = {"type": "preset", "preset": "claude_code"}
"""Without a word the SDK sends no instructions at all: its requests are smaller than those of an agent that is to write code."""


@tool("TaskUpdate", "Report", {"taskId": str, "status": str, "summary": str})
async def report(arguments: dict[str, Any]) -> dict[str, Any]:
    """Take the report, as a script would: it only says thanks."""
    return {"content": [{"type": "text", "text": "Stored."}]}


async def allow(_given: Any, _id: str | None, _context: Any) -> Any:
    """Let every call go on."""
    return {
        "hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow", "permissionDecisionReason": "a rule"}
    }


async def after(_given: Any, _id: str | None, _context: Any) -> Any:
    """Look at what came of a call, and say nothing."""
    return {}


def watch() -> dict[str, Any]:
    """Return the options of a script that hears of each call before and after it, and keeps the transcript in memory."""
    later = [HookMatcher(hooks=[after])]
    hooks = {"PreToolUse": [HookMatcher(hooks=[allow])], "PostToolUse": later, "PostToolUseFailure": later}
    return {"hooks": hooks, "session_store": InMemorySessionStore(), "session_store_flush": "eager"}


async def converse(url: str, workspace: Path, number: int, more: dict[str, Any]) -> float:
    """Hold one conversation to its end, with these options more; returns its seconds."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="crewdesk-plain-") as home:
        env = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "rehearsal", "HOME": home, "CLAUDE_CONFIG_DIR": f"{home}/.claude"}
        env |= {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1"}
        options = ClaudeAgentOptions(
            cwd=workspace,
            env=env,
            system_prompt=LIKE_OURS,
            allowed_tools=["Bash", "Read", "Edit", "Write", "mcp__crew__TaskUpdate"],
            mcp_servers={"crew": create_sdk_mcp_server("crew", tools=[report])},
            setting_sources=[],
            model="claude-sonnet-4-5",
            **more,
        )
        async with ClaudeSDKClient(options) as client:
            await client.query(f"Do task T-{number}.")
            async for message in client.receive_response():
                if isinstance(message, ResultMessage) and message.is_error:
                    raise RuntimeError(f"the plain script failed: {message.result}")
    return time.monotonic() - begun


async def main(script: Path, workspace: Path, count: int, *, watched: bool) -> dict[str, Any]:
    """Play the script COUNT times at once."""
    server = RehearsalServer()
    part = scripts.load(script).parts[0]
    for number in range(1, count + 1):
        words = {"task": f"T-{number}", "agent": "plain", "attempt": 1, "workspace": str(workspace)}
        server.register(f"k{number}", part, words, ("done",))
    urls = [server.url(f"k{number}") for number in range(1, count + 1)]
    await converse(urls[0], workspace, 1, watch() if watched else {})  # what is loaded on first use is no cost of a run
    own, peak = psutil.Process(), [0]
    memory, before = own.memory_info().rss, _cpu()
    watching = asyncio.create_task(_watch(own, peak))
    each = (converse(url, workspace, number, watch() if watched else {}) for number, url in enumerate(urls, 1))
    walls = await asyncio.gather(*each)
    watching.cancel()
    after = _cpu()
    server.stop()
    return {
        "walls": list(walls),
        "own_cpu": after[0] - before[0],
        "children_cpu": after[1] - before[1],
        "memory_before": memory,
        "memory_peak": peak[0],
    }


async def _watch(process: psutil.Process, peak: list[int]) -> None:
    while True:
        peak[0] = max(peak[0], process.memory_info().rss)
        await asyncio.sleep(0.1)


def _cpu() -> tuple[float, float]:
    """Return the processor seconds of this process and of its children that have ended."""
    ours, theirs = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return ours.ru_utime + ours.ru_stime, theirs.ru_utime + theirs.ru_stime


if __name__ == "__main__":
    os.environ.pop("CLAUDECODE", None)
    found = asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), watched=sys.argv[4:] == ["watched"]))
    print(json.dumps(found))
