"""Loading what a process keeps as long as it lives."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Load without the collector, and have it never look at what was loaded.

    While modules are made it looks again and again through all that there is and finds nothing to free: a fifth of a worker's
    start. What is there at the end stays, so later collections pass it by.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
