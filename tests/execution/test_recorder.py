"""The recorder: who comes while others of the team are stored goes with the next; a fault is only that of whoever has it."""

import asyncio
import threading

import pytest
from django.db import OperationalError

from tasks_app.domain.errors import LeaseLost
from tasks_app.domain.statuses import StepKind
from tasks_app.execution import recorder
from tasks_app.execution.recorder import Recorder
from tasks_app.runners.port import StepDraft
from tasks_app.services.steps import Batch, Recorded


class Stored:
    """Stands in for the database: what came together, and what it answers by the run's id."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.begun = threading.Event()
        self.bad: dict[str, Exception] = {}
        self.lost: set[str] = set()
        self.gate = threading.Event()
        self.gate.set()

    def record_all(self, batches: list[Batch]) -> list[Recorded | LeaseLost]:
        names = [batch.run_id for batch in batches]
        self.calls.append(names)
        self.begun.set()
        assert self.gate.wait(20)
        for name in names:
            if name in self.bad:
                raise self.bad[name]
        return [LeaseLost(name) if name in self.lost else Recorded(1, None) for name in names]


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> Stored:
    found = Stored()
    monkeypatch.setattr(recorder.steps, "record_all", found.record_all)
    monkeypatch.setattr(recorder.db, "PATIENCE_S", 0.0)
    return found


def batch(name: str, steps: int = 0) -> Batch:
    return Batch(name, 1, 0, [StepDraft(StepKind.SAID, "x")] * steps)


async def after_the_first(
    stored: Stored, *names: str, team: int = 1, steps: int = 0
) -> tuple[Recorder, list["asyncio.Task[Recorded]"]]:
    """Ask for one, which is held up, and meanwhile for these."""
    stored.gate.clear()
    ours = Recorder()
    first = asyncio.create_task(ours.record(1, batch("first")))
    assert await asyncio.to_thread(stored.begun.wait, 20)
    others = [asyncio.create_task(ours.record(team, batch(name, steps))) for name in names]
    await asyncio.sleep(0.05)
    return ours, [first, *others]


async def test_what_comes_while_one_is_stored_goes_together_with_the_next(stored: Stored) -> None:
    ours, asked = await after_the_first(stored, "a", "b", "c")
    assert stored.calls == [["first"]]
    stored.gate.set()
    assert [found.last for found in await asyncio.gather(*asked)] == [1] * 4
    assert stored.calls == [["first"], ["a", "b", "c"]]
    assert (ours._writers, dict(ours._waiting)) == ({}, {})


async def test_no_more_than_a_few_go_together(stored: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "MOST", 2)
    _, asked = await after_the_first(stored, *"abcde")
    stored.gate.set()
    await asyncio.gather(*asked)
    assert stored.calls == [["first"], ["a", "b"], ["c", "d"], ["e"]]


async def test_what_a_port_has_queued_while_the_database_was_away_goes_alone(stored: Stored) -> None:
    _, asked = await after_the_first(stored, *"abc", steps=recorder.MOST_STEPS // 2 + 1)
    stored.gate.set()
    await asyncio.gather(*asked)
    assert stored.calls == [["first"], ["a"], ["b"], ["c"]]


async def test_another_team_does_not_wait_for_it(stored: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder.db, "_has_one_lock", lambda: False)  # PostgreSQL, where each team has a lock of its own
    _, asked = await after_the_first(stored, "theirs", team=2)
    assert stored.calls == [["first"], ["theirs"]]
    stored.gate.set()
    await asyncio.gather(*asked)


async def test_who_lost_its_run_hears_of_it_and_the_others_are_stored(stored: Stored) -> None:
    stored.lost = {"b"}
    _, asked = await after_the_first(stored, "a", "b")
    stored.gate.set()
    first, a, b = await asyncio.gather(*asked, return_exceptions=True)
    assert (type(first), type(a), type(b)) == (Recorded, Recorded, LeaseLost)
    assert len(stored.calls) == 2


async def test_a_fault_of_one_is_found_out_one_by_one(stored: Stored) -> None:
    stored.bad = {"b": ValueError("this cannot be stored")}
    _, asked = await after_the_first(stored, "a", "b", "c")
    stored.gate.set()
    _, a, b, c = await asyncio.gather(*asked, return_exceptions=True)
    assert (type(a), type(b), type(c)) == (Recorded, ValueError, Recorded)
    assert stored.calls == [["first"], ["a", "b", "c"], ["a"], ["b"], ["c"]]


async def test_where_it_goes_away_meanwhile_nobody_waits_for_it_anew(stored: Stored) -> None:
    stored.bad = {"b": ValueError("this cannot be stored"), "c": OperationalError("away")}
    _, asked = await after_the_first(stored, *"abcd")
    stored.gate.set()
    came = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(one) for one in came] == [Recorded, Recorded, ValueError, OperationalError, OperationalError]
    assert ["d"] not in stored.calls


async def test_where_the_database_is_away_nobody_is_tried_one_by_one(stored: Stored) -> None:
    stored.bad = {"a": OperationalError("away")}
    _, asked = await after_the_first(stored, "a", "b")
    stored.gate.set()
    _, a, b = await asyncio.gather(*asked, return_exceptions=True)
    assert (type(a), type(b)) == (OperationalError, OperationalError)
    assert stored.calls[0] == ["first"]
    assert set(map(tuple, stored.calls[1:])) == {("a", "b")}


async def test_who_has_gone_meanwhile_is_not_stored_and_nobody_waits_for_it(stored: Stored) -> None:
    ours, asked = await after_the_first(stored, "a", "b")
    asked[1].cancel()
    await asyncio.sleep(0)
    stored.gate.set()
    assert (await asked[2]).last == 1
    assert stored.calls == [["first"], ["b"]]
    assert ours._writers == {}
