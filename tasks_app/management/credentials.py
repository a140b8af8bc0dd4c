"""Whether this machine can reach the real API: which key or sign-in is there, never what it is."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

KEYS = {
    "ANTHROPIC_API_KEY": "an API key (ANTHROPIC_API_KEY)",
    "ANTHROPIC_AUTH_TOKEN": "a token (ANTHROPIC_AUTH_TOKEN)",
    "CLAUDE_CODE_OAUTH_TOKEN": "a Claude Code token (CLAUDE_CODE_OAUTH_TOKEN)",
    "CLAUDE_CODE_USE_BEDROCK": "Amazon Bedrock (CLAUDE_CODE_USE_BEDROCK)",
    "CLAUDE_CODE_USE_VERTEX": "Google Vertex (CLAUDE_CODE_USE_VERTEX)",
}
KEYCHAIN_ENTRY = "Claude Code-credentials"


@dataclass(frozen=True)
class Access:
    """How agents reach the model. `source` is for people; empty when there is no way."""

    source: str

    @property
    def real(self) -> bool:
        """Whether agents can be real."""
        return bool(self.source)

    def sentence(self, *, rehearse: bool) -> str:
        """Return the one sentence that `up` says about it."""
        if rehearse:
            return "Rehearsal: replies are scripted, no key is used. Tools, files and commands are real."
        if self.real:
            return f"Agents are real: Claude is reached with {self.source}."
        return (
            "There is no API key and no signed-in Claude Code, so teams can only rehearse: tick Rehearsal on New team, or start "
            "with --rehearse; for real agents set ANTHROPIC_API_KEY or sign in with `claude`, then start again."
        )


def find(env: Mapping[str, str] = os.environ, *, user_home: Path | None = None) -> Access:
    """Return how the real API could be reached: a key in the environment, else a signed-in Claude Code, else not at all."""
    for name, words in KEYS.items():
        if env.get(name, "").strip():
            return Access(words)
    folder = Path(env.get("CLAUDE_CONFIG_DIR") or (user_home or Path.home()) / ".claude")
    if (folder / ".credentials.json").is_file() or _in_keychain():
        return Access("your signed-in Claude Code")
    return Access("")


def _in_keychain() -> bool:
    """Whether macOS's keychain has an entry of Claude Code; asks for its existence, not for its content."""
    if sys.platform != "darwin":
        return False
    try:
        done = subprocess.run(
            ["security", "find-generic-password", "-s", KEYCHAIN_ENTRY], capture_output=True, timeout=5, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
