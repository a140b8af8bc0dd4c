"""`rolling`: what ends a part of it before its time is a failure, not a quiet run."""

import asyncio
import threading
import time
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from bench import audit, rolling
from bench.rolling import Roller, unproved
from bench.visitors import Page, Visitors
from tasks_app.domain.statuses import Reason, RunStatus, StepKind
from tasks_app.models import Run
from tasks_app.runners.port import StepDraft
from tasks_app.services import decisions, deliveries, recovery, runs, steps
from tasks_app.services.endings import Ending
from tests.services import world
from tests.services.fixtures import hints  # noqa: F401


def rolled(do: Any) -> Roller:
    roller = Roller(SimpleNamespace())  # type: ignore[arg-type]
    roller._round = do  # type: ignore[method-assign]
    return roller


def visitors() -> Visitors:
    people = Visitors.__new__(Visitors)
    people.twice, people.died, people.failed, people.pages = 0, [], Counter(), [Page("1")]
    people._stop = threading.Event()
    return people


def test_a_thread_that_dies_and_a_run_without_a_round_are_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rolling.connections, "close_all", lambda: None)

    def die() -> None:
        raise ValueError("gone")

    roller = rolled(die)
    roller._live()
    assert unproved(roller, visitors(), audit.Report()) == [
        "round 1 ended by ValueError: gone",
        "no round came to its end: not every part was replaced",
    ]


def test_what_is_stored_twice_and_a_cut_log_are_failures() -> None:
    roller, people = rolled(None), visitors()
    roller.rounds = 1
    assert unproved(roller, people, audit.Report()) == []
    people.twice = 2
    assert len(unproved(roller, people, audit.Report(cut=1))) == 2


def test_visitors_that_die_are_said() -> None:
    people, roller = visitors(), rolled(None)
    roller.rounds = 1

    async def broken(_page: Page) -> None:
        raise KeyError("seq")

    people._keep_open = broken  # type: ignore[method-assign]
    people._watched("who writes", lambda: [].index(1))  # type: ignore[arg-type, return-value]

    async def all_of_it() -> None:
        opening = asyncio.create_task(people._open_all())
        await asyncio.sleep(0.05)
        people._stop.set()
        await opening

    asyncio.run(all_of_it())
    said = unproved(roller, people, audit.Report())
    assert [line.partition(" ended by ")[0] for line in said] == ["who writes", "an open page"]


@pytest.mark.usefixtures("db", "hints")
def test_a_run_that_is_claimed_elsewhere_and_says_nothing_more_is_a_failure_not_a_dropped_sample() -> None:
    made = world.make()
    held = made.claim()
    before = [(held.id, held.fence - 1, time.time())]
    claimed, stepped, silent = rolling.handed_on(before)
    assert (len(claimed), stepped, len(silent)) == (1, [], 1)
    steps.record(held.id, held.fence, after=0, drafts=[StepDraft(StepKind.SAID, "On.")])
    assert [len(each) for each in rolling.handed_on(before)] == [1, 1, 0]


@pytest.mark.usefixtures("db", "hints")
def test_what_a_run_waited_for_before_does_not_hide_how_long_it_was_with_nobody() -> None:
    """Its lease was taken back, for its worker did not leave in order: that is no waiting for the lead."""
    made = world.make()
    held = made.claim()
    asked = decisions.open_for_run(held.id, held.fence, world.ask())
    runs.park(held.id, held.fence, reason=Reason.PARKED, interrupted=False)
    world.answer(asked, "allow")
    second = world.take(held.id)
    Run.objects.filter(pk=held.id).update(lease_until=1)
    assert recovery.take_back_expired() == 1
    third = world.take(held.id, worker="w2")
    assert len(rolling.handed_on([(held.id, held.fence, time.time())])[0]) == 0, "it waited for the lead"
    assert len(rolling.handed_on([(held.id, second.fence, time.time())])[0]) == 1, f"life {third.fence} followed at once"


@pytest.mark.usefixtures("db", "hints")
def test_a_run_that_had_reported_before_its_worker_left_is_not_silent_when_the_next_life_ends_it() -> None:
    made = world.make()
    held = made.claim()
    steps.record(held.id, held.fence, after=0, drafts=[StepDraft(StepKind.SAID, "On.")])
    runs.report(held.id, held.fence, {"status": "completed", "summary": "done", "evidence": {"1": "yes"}})
    at = time.time()
    runs.park(held.id, held.fence, reason=Reason.INTERRUPTED, interrupted=True)
    after = world.take(held.id, worker="w2")
    left = [(held.id, held.fence, at)]
    assert rolling.handed_on(left)[2] == [f"run {held.id} was claimed elsewhere and said nothing more"]
    deliveries.end(after.id, after.fence, Ending(RunStatus.COMPLETED, Reason.DONE, untold=False), why="its run ended")
    claimed, stepped, silent = rolling.handed_on(left)
    assert (len(claimed), stepped, silent) == (1, [], [])


def test_a_round_that_does_not_end_is_left_behind_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rolling, "ROUND_S", 0.1)
    monkeypatch.setattr(rolling.connections, "close_all", lambda: None)
    over = threading.Event()
    roller = rolled(lambda: over.wait(20))
    roller.start()
    roller.stop()
    over.set()
    assert roller.measured.wrong == ["round 1 did not come to its end within 0.1 s"]
