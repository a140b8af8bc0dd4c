"""When a worker came to each stage of a life: `<Unix seconds> <run id>:<fence> <stage>` in CREWDESK_HOME/stamps.log.

Loaded by the workers of a benchmark through `bench.stamped_settings`; elsewhere only read.
"""

import os
import time
from collections.abc import Callable, Iterable
from functools import cache, wraps
from importlib import import_module
from pathlib import Path
from typing import Any

NAME = "stamps.log"
WORKER = "-"
"""Stands for the run where a stage is one of the worker, not of a life."""
LOADED, GONE, SPEC, READY, SPAWNED, ANSWERED, SAID, ASKED = (
    *("loaded", "old processes are gone", "spec", "transcript is on the disk"),
    *("started", "initialize answered", "prompt is written", "asks the model"),
)
_MARKER = "CREWDESK_RUN"


def note(life: str, stage: str) -> None:
    """Write one line."""
    with (Path(os.environ["CREWDESK_HOME"]) / NAME).open("a") as log:
        log.write(f"{time.time():.6f} {life} {stage}\n")


def read(home: Path) -> list[tuple[float, str, str]]:
    """Return (Unix seconds, life, stage), oldest first."""
    path = home / NAME
    lines = path.read_text().splitlines() if path.exists() else []
    found = (line.split(" ", 2) for line in lines)
    return sorted((float(at), life, stage) for at, life, stage in found)


def firsts(rows: Iterable[tuple[float, str, str]], *, since: float, lives: set[str]) -> dict[str, list[float]]:
    """Return per stage the seconds from `since` until the worker, or each of these lives, first came to it."""
    seen: dict[tuple[str, str], float] = {}
    for at, life, stage in rows:
        if at > since and (life in lives or life == WORKER):
            seen.setdefault((life, stage), at - since)
    found: dict[str, list[float]] = {}
    for (_, stage), took in seen.items():
        found.setdefault(stage, []).append(took)
    return found


def _after(module: str, name: str, stage: str, life: Callable[..., str]) -> None:
    """Note the stage whenever the function has returned; `life` is given what the function was given."""
    path, _, cls = module.partition(":")
    owner: Any = getattr(import_module(path), cls) if cls else import_module(path)
    inner = getattr(owner, name)

    @wraps(inner)
    async def awaited(*given: Any, **named: Any) -> Any:
        answer = await inner(*given, **named)
        note(life(*given, **named), stage)
        return answer

    @wraps(inner)
    def called(*given: Any, **named: Any) -> Any:
        answer = inner(*given, **named)
        note(life(*given, **named), stage)
        return answer

    setattr(owner, name, awaited if inner.__code__.co_flags & 0x80 else called)


def watch() -> None:
    """Let the functions of this worker note their stages. What is wrapped is what the worker calls anyway."""
    note(WORKER, LOADED)
    _after(
        "tasks_app.runners.claude.processes", "kill_run", GONE, lambda run, *, below_fence=None, **_: f"{run}:{below_fence or 0}"
    )
    _after("tasks_app.execution.spec", "build", SPEC, _life)
    _watch_requests()


def _life(run_id: str, fence: int) -> str:
    """The first spec is made when the SDK has been loaded: to load it sooner would hide what that takes."""
    _watch_sdk()
    return f"{run_id}:{fence}"


@cache
def _watch_sdk() -> None:
    sdk = "claude_agent_sdk._internal"
    _after(f"{sdk}.session_resume", "materialize_resume_session", READY, lambda options: options.env[_MARKER])
    _after(f"{sdk}.transport.subprocess_cli:SubprocessCLITransport", "connect", SPAWNED, lambda it: it._options.env[_MARKER])
    _after(f"{sdk}.query:Query", "initialize", ANSWERED, lambda it: it.transport._options.env[_MARKER])
    _after("claude_agent_sdk:ClaudeSDKClient", "query", SAID, lambda it, *_, **__: it.options.env[_MARKER])


def _watch_requests() -> None:
    """A request names its run; the life is the last that this worker has begun."""
    server: Any = import_module("tasks_app.rehearsal.server").RehearsalServer
    inner = server._messages

    async def asked(self: Any, request: Any) -> Any:
        note(":".join(request.path_params["key"].rsplit("-", 1)), ASKED)  # run-fence, as `execution/spec` registers it
        return await inner(self, request)

    server._messages = asked
