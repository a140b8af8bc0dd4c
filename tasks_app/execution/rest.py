"""A worker that has come to rest gives back what its runs have used: a parked request leaves no memory behind."""

import asyncio
import ctypes
import gc
import sys
from collections.abc import Callable

LOOK_S = 1.0


async def look_after(places: Callable[[], tuple[int, int]]) -> None:
    """Give memory back each time that nothing has run between two looks, if anything has since the last time.

    `places`: how many runs take a place here, and how many ever did. While anything runs memory is left alone: what one run
    has let go of, the next takes.
    """
    given = seen = 0
    while True:
        await asyncio.sleep(LOOK_S)
        taken, ever = places()
        if not taken and ever == seen != given:
            await asyncio.to_thread(give_back)
            given = ever
        seen = ever


def give_back() -> None:
    """Free what only points at itself, and have glibc return the pages that it keeps for later; elsewhere its system does."""
    gc.collect()
    if sys.platform.startswith("linux"):
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # musl has none and keeps nothing
        if trim is not None:
            trim(0)
