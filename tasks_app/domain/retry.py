"""When a failed run is tried again: back-off for transient reasons, and whether an attempt counts."""

import hashlib
from datetime import datetime, timedelta
from typing import Final

from tasks_app.domain.statuses import TRANSIENT, Reason

FIRST_S: Final = 5.0
CAP_S: Final = 600.0
JITTER: Final = 0.3
MAX_RETRIES: Final = 12
"""About an hour and a half of an overloaded API; then a person is asked."""
RESET_CAP_S: Final = 24 * 3600.0
"""A reset time further away than this is not believed."""
RESET_MARGIN_S: Final = 1.0
UNCOUNTED: Final = TRANSIENT | {
    Reason.PARKED,
    Reason.INTERRUPTED,
    Reason.SHARE_SPENT,
    Reason.SUPERSEDED,
    Reason.BY_HAND,
    Reason.STOPPED,
}
"""None of these says anything about whether the agent can do the task."""


def counts(reason: Reason) -> bool:
    """Whether a run that ended for `reason` counts as an attempt.

    One whose process did not start does: it was tried again and again, and the lead is asked before the next.
    """
    return reason not in UNCOUNTED


def is_transient(reason: Reason) -> bool:
    """Whether the run is to be tried again by itself."""
    return reason in TRANSIENT


def delay_s(retries: int, *, seed: str) -> float:
    """Return the seconds to wait before retry number `retries` (from 1): doubling from 5 s to 10 min, ±30 % by `seed`.

    The same seed and number give the same delay, so that every process works out the same time.
    """
    base = min(CAP_S, FIRST_S * float(1 << min(max(retries, 1) - 1, 30)))
    digest = hashlib.sha256(f"{seed}:{retries}".encode("utf-8", "replace")).digest()
    share = int.from_bytes(digest[:8], "big") / 2**64  # 0 ≤ share < 1
    return min(CAP_S, base * (1 - JITTER + 2 * JITTER * share))


def start_pause_s(failed: int) -> float:
    """Return the seconds before a process that failed to start so many times in a row starts again: at once, then 1, 2, 4, 8 s.

    What keeps it from starting, a full disk, may pass.
    """
    return float(2 ** (failed - 2)) if failed > 1 else 0.0


def not_before(now: datetime, *, retries: int, seed: str, resets_at: float | None = None) -> datetime | None:
    """Return when retry number `retries` (from 1) may start, None when there were enough.

    Never before `resets_at` (Unix seconds, from the rate limit), which may be later than the cap of the back-off.
    """
    if retries > MAX_RETRIES:
        return None
    wait_s = delay_s(retries, seed=seed)
    if resets_at is not None and 0 < resets_at - now.timestamp() <= RESET_CAP_S:
        wait_s = max(wait_s, resets_at - now.timestamp() + RESET_MARGIN_S)
    return now + timedelta(seconds=wait_s)
