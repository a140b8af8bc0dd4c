"""How long a task takes against the window expected of it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

DEFAULT_WINDOW_MIN: Final = (5.0, 30.0)


class Standing(StrEnum):
    """Where the time stands to the window."""

    UNDER = "under"  # before the window; ended here it was short: worth a look at the result
    ON_TRACK = "on_track"
    OVER = "over"


@dataclass(frozen=True)
class Elapsed:
    """A reading in seconds; `over_s` is the part after the window."""

    elapsed_s: float
    standing: Standing
    over_s: float = 0.0
    fraction: float = 0.0
    """Share of the window's end that has passed; above 1 when over."""


def read(elapsed_s: float, window_min: tuple[float, float] = DEFAULT_WINDOW_MIN) -> Elapsed:
    """Return how `elapsed_s` seconds stand to a window in minutes, whose ends belong to it; a clock that ran back gives 0."""
    seconds = max(0.0, elapsed_s)
    first_s, last_s = window_min[0] * 60, window_min[1] * 60
    fraction = seconds / last_s if last_s > 0 else float(seconds > 0)
    if seconds > last_s:
        return Elapsed(seconds, Standing.OVER, seconds - last_s, fraction)
    return Elapsed(seconds, Standing.UNDER if seconds < first_s else Standing.ON_TRACK, 0.0, fraction)
