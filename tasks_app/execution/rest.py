"""A worker that has come to rest gives back what its runs have used: a parked request leaves no memory behind."""

import asyncio
import ctypes
import gc
import sys
from collections.abc import Callable

LOOK_S = 1.0


async def look_after(places: Callable[[], int]) -> None:
    """Give memory back each time that nothing has run for a look; `places`: how many runs take a place here.

    While anything runs it is left alone: what one run has let go of, the next takes.
    """
    worked, quiet = False, 0
    while True:
        await asyncio.sleep(LOOK_S)
        if places():
            worked, quiet = True, 0
            continue
        quiet += 1
        if worked and quiet > 1:
            worked = False
            await asyncio.to_thread(give_back)


def give_back() -> None:
    """Free what only points at itself, and have glibc return the pages that it keeps for later; elsewhere its system does."""
    gc.collect()
    if sys.platform.startswith("linux"):
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # musl has none and keeps nothing
        if trim is not None:
            trim(0)
