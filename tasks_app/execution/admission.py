"""Admission: how many runs more this machine can carry now, whatever slots its workers have."""

import time
from dataclasses import dataclass

import psutil

LOAD_PER_CORE = 8.0
"""Above this load nothing new is claimed: runs would only time out side by side."""
RUN_BYTES = 400 * 1024 * 1024
"""A run is claimed only while the machine has so much memory to spare for it: that of a long session."""


LOOK_S = 0.25
"""Celery asks at each turn of its loop, hundreds of times a second, for what changes within seconds."""


@dataclass
class _Seen:
    at: float = float("-inf")
    fitting: int = 0


_seen = _Seen()


def fitting() -> int:
    """Return how many more there is memory for, as it was within the last `LOOK_S`; none while the machine is busy."""
    now = time.monotonic()
    if now - _seen.at > LOOK_S:
        busy = psutil.getloadavg()[0] >= LOAD_PER_CORE * (psutil.cpu_count() or 1)
        _seen.fitting = 0 if busy else int(psutil.virtual_memory().available) // RUN_BYTES
        _seen.at = now
    return _seen.fitting
