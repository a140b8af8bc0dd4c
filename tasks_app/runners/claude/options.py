"""Turns a `RunSpec` into the options of one Claude Code process."""

import json
import warnings
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from claude_agent_sdk import CanUseTool, CanUseToolShadowedWarning, ClaudeAgentOptions, HookMatcher
from claude_agent_sdk.types import HookCallback, HookEvent

from tasks_app.domain.text import clean, mask_secrets, strip_ansi
from tasks_app.runners.claude.crew_server import Call, crew_server, permission_names
from tasks_app.runners.claude.launcher import Launch
from tasks_app.runners.port import RunSpec

# The SDK warns where an allowed tool passes `can_use_tool` by: for the crew tools that is what we mean, and the hook sees them.
warnings.filterwarnings("ignore", category=CanUseToolShadowedWarning)

MAX_LINE_BYTES = 64 * 1024 * 1024
"""One line of the process: the SDK's own limit of 1 MiB is overrun by one picture, and overrunning it is fatal."""
STDERR_BYTES = 64 * 1024
HOOK_S = 300.0
"""A hook that is slower than this counts as failed, and a failed one blocks the call."""

PLAN_MODE = (
    "You are in plan mode: read and think, but change nothing. When the plan is ready, present it with ExitPlanMode; "
    "the lead approves it or sends it back with comments."
)
DISALLOWED = (
    # one way to do each thing: the crew server's tools stand for these
    *("SendMessage", "ListAgents", "TaskCreate", "TaskGet", "TaskUpdate", "TaskList", "TaskOutput", "TaskStop", "TodoWrite"),
    # nothing may outlive the run or start one behind the lead's back
    *("CronCreate", "CronDelete", "CronList", "ScheduleWakeup", "RemoteTrigger", "Workflow", "TeamCreate", "TeamDelete"),
    # the workspace and plan mode are the lead's choice
    *("EnterWorktree", "ExitWorktree", "EnterPlanMode"),
)


@dataclass
class Stderr:
    """The last 64 KB that a process wrote to stderr, masked: the technical detail of an ending."""

    limit: int = STDERR_BYTES
    _lines: deque[str] = field(default_factory=deque)
    _size: int = 0

    def __call__(self, line: str) -> None:
        """Take one line; the SDK's callback."""
        kept = mask_secrets(strip_ansi(clean(line[: self.limit])))
        self._lines.append(kept)
        self._size += len(kept) + 1
        while self._size > self.limit and len(self._lines) > 1:
            self._size -= len(self._lines.popleft()) + 1

    def text(self) -> str:
        """Return what is kept."""
        return "\n".join(self._lines)


@dataclass(frozen=True)
class Callbacks:
    """What the process may ask of us while it works."""

    can_use_tool: CanUseTool
    before_tool: HookCallback
    after_tool: HookCallback
    call_tool: Call
    stderr: Stderr


@dataclass(frozen=True)
class Start:
    """Which conversation the process has: a new one under `session_id`, or the stored one to go on with.

    `fork_of`: the new one begins as a copy of this session, up to and with the message `fork_at`. `rows`: the stored
    conversation, which was read to see whether there is one.
    """

    session_id: str
    resume: bool
    plan_mode: bool
    fork_of: str = ""
    fork_at: str = ""
    rows: list[Any] = field(default_factory=list, repr=False)


def build(spec: RunSpec, launch: Launch, start: Start, callbacks: Callbacks, *, store: Any) -> ClaudeAgentOptions:
    """Return the options; everything that Claude Code would read from the workspace's or the user's settings stays off."""
    return ClaudeAgentOptions(
        cwd=spec.workspace,
        cli_path=str(launch.cli_path),
        env=launch.env,
        model=spec.model,
        system_prompt={"type": "preset", "preset": "claude_code", "append": _system_prompt(spec, start)},
        session_id=None if start.resume else start.session_id,
        resume=start.session_id if start.resume else start.fork_of or None,
        fork_session=bool(start.fork_of),
        resume_session_at=start.fork_at or None,
        session_store=store,
        session_store_flush="eager",
        setting_sources=[],
        settings=_settings(spec),
        strict_mcp_config=True,
        mcp_servers={"crew": crew_server(spec.tools, callbacks.call_tool)},
        tools=_builtin_tools(spec, start),
        allowed_tools=permission_names(spec.tools),
        disallowed_tools=list(DISALLOWED),
        permission_mode="plan" if start.plan_mode else "default",
        can_use_tool=callbacks.can_use_tool,
        hooks=_hooks(callbacks),
        max_turns=spec.max_turns,
        max_budget_usd=spec.max_budget_usd,
        max_buffer_size=MAX_LINE_BYTES,
        include_partial_messages=False,
        forward_subagent_text=True,
        verbatim_prompts=True,
        stderr=callbacks.stderr,
    )


def _hooks(callbacks: Callbacks) -> dict[HookEvent, list[HookMatcher]]:
    after = [HookMatcher(hooks=[callbacks.after_tool], timeout=HOOK_S)]
    return {
        "PreToolUse": [HookMatcher(hooks=[callbacks.before_tool], timeout=HOOK_S, on_failure="block")],
        "PostToolUse": after,
        "PostToolUseFailure": after,
    }


def _system_prompt(spec: RunSpec, start: Start) -> str:
    """Prompts sent verbatim come without Claude Code's own reminder of plan mode until after the first call [SDK docs]."""
    return clean(f"{spec.system_prompt}\n\n{PLAN_MODE}" if start.plan_mode else spec.system_prompt)


def _builtin_tools(spec: RunSpec, start: Start) -> list[str] | None:
    if spec.builtin_tools is None:
        return None
    return [*spec.builtin_tools, *(["ExitPlanMode"] if start.plan_mode and "ExitPlanMode" not in spec.builtin_tools else [])]


def _settings(spec: RunSpec) -> str | None:
    """The sandbox must fail loudly: by default a missing bubblewrap means running without one."""
    if not spec.sandbox:
        return None
    sandbox: Mapping[str, Any] = {
        "enabled": True,
        "failIfUnavailable": True,
        "allowUnsandboxedCommands": False,
        "autoAllowBashIfSandboxed": False,  # the lead's rules decide, sandbox or not
    }
    return json.dumps({"sandbox": sandbox})
