"""The sign-in of Claude Code on a Mac: its token lies in the Keychain, where a file holds it on other systems.

Only the access token is taken, never what renews it: a second user of that would sign the person out.
"""

import getpass
import hashlib
import json
import os
import subprocess
import sys
import time
from functools import lru_cache

SERVICE = "Claude Code-credentials"
"""With a folder of one's own (CLAUDE_CONFIG_DIR), the beginning of its hash follows: seen in Claude Code 2."""
KEPT_S = 60
"""So long one answer counts: pages ask, too."""
ASK_S = 10
LEFT_S = 60
"""A token that runs out sooner begins no run."""


def token() -> str:
    """Return the access token of this user's sign-in; "" where there is none, it has run out, or this is no Mac."""
    if sys.platform != "darwin":
        return ""
    access, ends = _read(_service(), int(time.monotonic() // KEPT_S))
    return access if time.time() + LEFT_S < ends else ""


def _service() -> str:
    folder = os.environ.get("CLAUDE_CONFIG_DIR")
    return f"{SERVICE}-{hashlib.sha256(folder.encode()).hexdigest()[:8]}" if folder else SERVICE


@lru_cache(maxsize=1)
def _read(service: str, minute: int) -> tuple[str, float]:
    """Return (token, when it runs out in Unix seconds); ("", 0) where the Keychain has none or does not give it."""
    command = ["security", "find-generic-password", "-a", getpass.getuser(), "-s", service, "-w"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=ASK_S, check=True, stdin=subprocess.DEVNULL)
        found = json.loads(told.stdout)["claudeAiOauth"]
        return str(found["accessToken"]), float(found["expiresAt"]) / 1000
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError):
        return "", 0.0
