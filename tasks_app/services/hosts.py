"""The name of this machine, by which workers and runs know that they are neighbours."""

import socket
import subprocess
import sys
from functools import cache

ASK_S = 10


def this_host() -> str:
    """Return the name of this machine; of a Mac the one its owner gave it: its host name changes with the network."""
    own = _name_of_a_mac() if sys.platform == "darwin" else ""
    return own or socket.gethostname()


@cache
def _name_of_a_mac() -> str:
    try:
        told = subprocess.run(["scutil", "--get", "LocalHostName"], capture_output=True, text=True, timeout=ASK_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return told.stdout.strip()
