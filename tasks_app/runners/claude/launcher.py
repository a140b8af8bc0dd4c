"""How a Claude Code process is started: what its environment holds, its marker, and the orders to `start_process.py`."""

import importlib.util
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPT = HERE / "launch.sh"
STARTER = HERE / "start_process.py"
MARKER = "CREWDESK_RUN"
"""Every process of a run carries `CREWDESK_RUN=<run id>:<fence>` in its environment, and so do their children."""

SET_BY_SDK = ("CLAUDE_CODE_ENTRYPOINT", "CLAUDE_AGENT_SDK_VERSION", "CLAUDE_CODE_SDK_READS_SESSION_STATE", "PWD")
FOR_STARTER = ("CREWDESK_WATCHDOG", "LD_LIBRARY_PATH")
"""What the starter and its Python go by of the worker's environment."""
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1",  # how a run knows that the process is idle
}


@dataclass(frozen=True)
class Launch:
    """One start: the path to give the SDK as CLI, the environment to give it, and the file that will hold the pid."""

    cli_path: Path
    env: dict[str, str]
    pidfile: Path

    def pid(self) -> int | None:
        """Return the pid of the CLI (its process group and session too), None as long as it has not begun."""
        try:
            return int(self.pidfile.read_text())
        except (FileNotFoundError, ValueError):
            return None


def marker(run_id: str, fence: int) -> str:
    """Return the value of `MARKER` for a run: `r7k20xq9f:3`."""
    return f"{run_id}:{fence}"


def parse_marker(value: str) -> tuple[str, int] | None:
    """Return (run id, fence) of a marker, or None for anything else."""
    run_id, _, fence = value.rpartition(":")
    return (run_id, int(fence)) if run_id and fence.isascii() and fence.isdigit() else None


def bundled_cli() -> str:
    """Return the path of the Claude Code binary: `CREWDESK_CLAUDE_CLI` of the worker, else the one in the SDK's wheel.

    The wheel is found without importing the SDK, which takes a second: `up` and `doctor` only want the path.
    """
    given = os.environ.get("CREWDESK_CLAUDE_CLI", "").strip()
    if given:
        return given
    found = importlib.util.find_spec("claude_agent_sdk")
    folders = list(found.submodule_search_locations or []) if found else []
    return str(Path(folders[0] if folders else "/", "_bundled", "claude"))


def prepare(env: Mapping[str, str], *, run_id: str, fence: int, home: Path, nth: int = 1, cli: str | None = None) -> Launch:
    """Make the private folder of a run and return how to start its `nth` process.

    `env` is the agent's whole environment; HOME, CLAUDE_CONFIG_DIR and TMPDIR are set to `home`. The SDK passes the worker's own
    variables on: they are emptied, for other agents may look into the starter, which drops them.
    """
    temporary = home / "tmp"
    for folder in (home, home / ".claude", temporary):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    pidfile = home / f"claude-{fence}-{nth}.pid"
    pidfile.unlink(missing_ok=True)
    agent_env = {
        "PATH": os.defpath,
        **QUIET,
        **env,
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "TMPDIR": str(temporary),
        MARKER: marker(run_id, fence),
    }
    orders = {
        "CREWDESK_KEEP": ",".join((*agent_env, *SET_BY_SDK)),
        "CREWDESK_CLI": cli or bundled_cli(),
        "CREWDESK_PARENT": str(os.getpid()),
        "CREWDESK_PIDFILE": str(pidfile),
        "CREWDESK_PYTHON": sys.executable,
        "CREWDESK_STARTER": str(STARTER),
    }
    emptied = dict.fromkeys(os.environ.keys() - {*SET_BY_SDK, *FOR_STARTER}, "")
    return Launch(SCRIPT, {**emptied, **agent_env, **orders}, pidfile)
