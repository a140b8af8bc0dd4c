"""What is left of lives that are over is found while `up` still goes on, and told from those that only look on."""

import threading
from pathlib import Path

import pytest

from bench import desk, leftovers
from tasks_app.models import Run
from tasks_app.runners.claude.launcher import MARKER
from tests.bench import stand_ins
from tests.factories import RunFactory

PATIENCE_S = 0.3


def left(home: Path) -> list[str]:
    return leftovers.orphans(home, patience_s=PATIENCE_S)


@pytest.mark.parametrize(
    ("fence", "now", "over"),
    [
        (3, {"fence": 3}, False),
        (2, {"fence": 3}, True),
        (3, {"fence": 3, "ended": True}, True),
        (3, {"fence": 3, "failed": True}, True),
        (3, {"fence": 3, "parked": True}, True),
    ],
    ids=["its life goes on", "of an old life", "completed", "failed", "parked"],
)
def test_a_process_outlives_its_life(tmp_path: Path, db: None, fence: int, now: dict[str, object], over: bool) -> None:
    run: Run = RunFactory(**now)
    with stand_ins.process(tmp_path, **{MARKER: f"{run.pk}:{fence}"}) as shell:
        found = left(tmp_path)
    assert bool(found) == over
    assert all(f"run {run.pk}, life {fence}: {shell.pid}" in line for line in found)


def test_one_of_a_run_that_nobody_knows_is_left_too(tmp_path: Path, db: None) -> None:
    with stand_ins.process(tmp_path, **{MARKER: "gone:1"}):
        assert len(left(tmp_path)) == 1
    assert left(tmp_path) == []


def test_that_of_another_home_is_not_ours(tmp_path: Path, db: None) -> None:
    with stand_ins.process(tmp_path / "other", **{MARKER: "gone:1"}):
        assert left(tmp_path / "this") == []


def test_its_end_is_waited_for(tmp_path: Path, db: None) -> None:
    with stand_ins.process(tmp_path, **{MARKER: "gone:1"}) as shell:
        timer = threading.Timer(0.5, shell.kill)
        timer.start()
        assert leftovers.orphans(tmp_path, patience_s=20) == []
        timer.join()


def test_what_only_looks_on_is_told_by_its_parent_not_by_its_words(tmp_path: Path) -> None:
    with stand_ins.process(tmp_path, "multiprocessing") as escaped, stand_ins.process(tmp_path, own_session=False):
        assert [line.split()[0] for line in desk.all_of_home(tmp_path)] == [str(escaped.pid)]
        assert len(leftovers.processes(tmp_path, patience_s=PATIENCE_S)) == 1
