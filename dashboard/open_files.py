"""How many files a server process may hold open: a Mac gives 256, and each page, agent and thread takes some."""

import contextlib
import resource

WANTED = 10_000
"""Less than the 10240 that macOS allows anybody."""


def allow_many() -> None:
    """Raise this process's own limit, as far as the system lets it; its children inherit it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = WANTED if hard == resource.RLIM_INFINITY else min(WANTED, hard)
    if soft == resource.RLIM_INFINITY or soft >= most:
        return
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
