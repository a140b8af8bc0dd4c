"""Keeps the memory and the environment of a process of ours from others of the same user: agents run as that user.

Imported before all else by what holds secrets (`up`, web server, worker), so: standard library only.
"""

import ctypes
import os
import sys

PR_SET_DUMPABLE = 4  # <linux/prctl.h>
OPEN = "CREWDESK_INSPECTABLE"
"""1 leaves it readable, for a debugger or a profiler of the same user; the settings say what is neither yes nor no."""
YES = frozenset({"1", "true", "yes", "on"})
PLAIN = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH")
PLAIN_PREFIX = "PYTHON"


def keep_private() -> bool:
    """Have the kernel show `/proc/PID/environ`, memory and open files to root alone; returns False where it cannot.

    Programs that this process starts are not concerned: what they exec may be looked at again.
    """
    if not sys.platform.startswith("linux") or os.environ.get(OPEN, "").strip().lower() in YES:
        return False
    try:
        return bool(ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)
    except (OSError, AttributeError):  # no such call in the C library
        return False


def plain_environment() -> dict[str, str]:
    """Return what of our environment a helper needs that anybody of the same user may look at: no setting, so no secret."""
    return {name: value for name, value in os.environ.items() if name in PLAIN or name.startswith(PLAIN_PREFIX)}
