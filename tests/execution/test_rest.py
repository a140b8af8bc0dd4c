"""A worker that has come to rest gives memory back, once; while anything runs it is left alone."""

import asyncio
import sys

import psutil
import pytest

from tasks_app.execution import rest


def rested(places, monkeypatch):
    """Return how often memory was given back by the time each look was had; `places` is what each look finds."""
    monkeypatch.setattr(rest, "LOOK_S", 0)
    given, after, looks = list[bool](), list[int](), iter(places)
    monkeypatch.setattr(rest, "give_back", lambda: given.append(True))

    def look():
        after.append(len(given))
        return next(looks)

    with pytest.raises(RuntimeError, match="StopIteration"):
        asyncio.run(rest.look_after(look))
    return after


@pytest.mark.parametrize(
    ("places", "after"),
    [
        ([(0, 0)] * 3, [0, 0, 0, 0]),  # nothing has run yet
        ([(1, 1), (2, 2), (1, 2), (1, 2)], [0, 0, 0, 0, 0]),
        ([(1, 1), (0, 1), (0, 1), (0, 1)], [0, 0, 1, 1, 1]),
        ([(0, 1), (0, 1), (0, 1)], [0, 0, 1, 1]),  # it was over before it was seen
        ([(0, 1), (0, 2), (1, 3), (0, 3)], [0, 0, 0, 0, 1]),  # one after the other
        ([(1, 1), (0, 1), (1, 2), (0, 2), (0, 2)], [0, 0, 1, 1, 2, 2]),
    ],
)
def test_memory_is_given_back_once_each_time_that_nothing_runs_any_more(places, after, monkeypatch):
    assert rested(places, monkeypatch) == after


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's")
def test_what_python_has_let_go_of_is_the_machines_again():
    held = [bytes(2000) for _ in range(32_768)]
    kept = held[::64]  # between them are holes that only a trim gives back
    resident = psutil.Process().memory_info().rss
    del held
    rest.give_back()
    assert resident - psutil.Process().memory_info().rss > 30 * 2**20
    assert len(kept) == 512
