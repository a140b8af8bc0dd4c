"""Admission: how many runs more this machine can carry now, whatever slots its workers have."""

import psutil

LOAD_PER_CORE = 8.0
"""Above this load nothing new is claimed: runs would only time out side by side."""
RUN_BYTES = 400 * 1024 * 1024
"""A run is claimed only while the machine has so much memory to spare for it (stack.md §4)."""


def fitting() -> int:
    """Return how many more there is memory for; none while the machine is busy."""
    busy = psutil.getloadavg()[0] >= LOAD_PER_CORE * (psutil.cpu_count() or 1)
    return 0 if busy else int(psutil.virtual_memory().available) // RUN_BYTES
