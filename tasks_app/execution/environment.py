"""The environment of an agent's process: an allow-list, never the worker's own; and whether there is a key at all."""

import os
import shutil
from pathlib import Path

from tasks_app.execution import keychain

PLAIN = ("PATH", "LANG", "LC_ALL", "TZ", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE")
PREFIXES = ("ANTHROPIC_", "CLAUDE_CODE_USE_")
TOKENS = ("CLAUDE_CODE_OAUTH_TOKEN",)
CLOUDS = {
    "CLAUDE_CODE_USE_BEDROCK": ("AWS_",),
    "CLAUDE_CODE_USE_VERTEX": ("GOOGLE_", "VERTEX_", "CLOUD_ML_"),
    "CLAUDE_CODE_USE_FOUNDRY": ("AZURE_",),
}
"""What asks for a cloud's models → its variables. Those of another cloud may be the keys of something else, backups say."""
FIXED = {
    "TERM": "dumb",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
}
CREDENTIALS = ".credentials.json"
SIGNED_IN = "a signed-in Claude Code"


def _signed_in_file() -> Path:
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude") / CREDENTIALS


def key_source() -> str:
    """Return where real agents get their credentials from, in words; "" where there are none."""
    if os.environ.get("ANTHROPIC_API_KEY") or os.environ.get("ANTHROPIC_AUTH_TOKEN"):
        return "an API key in the environment"
    if os.environ.get("CLAUDE_CODE_OAUTH_TOKEN"):
        return "a Claude Code token in the environment"
    if any(map(os.environ.get, CLOUDS)):
        return "a cloud provider in the environment"
    return SIGNED_IN if _signed_in_file().is_file() or keychain.token() else ""


def _base() -> dict[str, str]:
    found = {name: os.environ[name] for name in PLAIN if name in os.environ}
    found.setdefault("PATH", os.defpath)
    found.setdefault("LANG", "C.UTF-8")
    return found


def for_check(*, home: Path, run_id: str, fence: int) -> dict[str, str]:
    """Return the whole environment of a command that proves a criterion: no key of any kind; makes its private folders (0700).

    It carries the run's marker, so that what it leaves behind is found and ended with the run.
    """
    temp = home / "tmp"
    for folder in (home, temp):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    names = {"HOME": str(home), "TMPDIR": str(temp), "TERM": "dumb", "CI": "1", "CREWDESK_RUN": f"{run_id}:{fence}"}
    return {**_base(), **names, "PYTHONDONTWRITEBYTECODE": "1"}


def for_run(*, home: Path, run_id: str, fence: int, rehearsal_url: str | None) -> dict[str, str]:
    """Return the whole environment of the process; makes its private folders (0700)."""
    config, temp = home / ".claude", home / "tmp"
    for folder in (home, config, temp):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    env = {
        **_base(),
        **FIXED,
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(config),
        "TMPDIR": str(temp),
        "CREWDESK_RUN": f"{run_id}:{fence}",
    }
    if rehearsal_url:
        # the loopback server takes any key; real ones must not reach a rehearsal
        return {**env, "ANTHROPIC_BASE_URL": rehearsal_url, "ANTHROPIC_API_KEY": "rehearsal", "NO_PROXY": "127.0.0.1"}
    prefixes = (*PREFIXES, *(each for asked, of_cloud in CLOUDS.items() if os.environ.get(asked) for each in of_cloud))
    env |= {name: value for name, value in os.environ.items() if name in TOKENS or name.startswith(prefixes)}
    if _signed_in_file().is_file():
        shutil.copy2(_signed_in_file(), config / CREDENTIALS)
    elif key_source() == SIGNED_IN and (token := keychain.token()):  # it may have run out between the two looks
        env["CLAUDE_CODE_OAUTH_TOKEN"] = token
    return env
