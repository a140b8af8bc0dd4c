"""The killer of chaos: an act counts when its effect was seen; what had none comes again, and fails the run if it never has."""

import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest

from bench import acts, killer
from bench.acts import Act, NothingToDo, Scene
from bench.killer import FROZEN, Killer
from tests.bench import stand_ins


def seen(scene: Scene) -> str:
    return "it is gone"


def breaks(scene: Scene) -> str:
    raise ZeroDivisionError("nobody thought of that")


def nobody(scene: Scene) -> str:
    raise NothingToDo("there is no web")


def made(home: Path, *, most: int = 3, **kinds: Act) -> Killer:
    """A killer that knows only these kinds."""
    found = Killer(stand_ins.desk(home), seed=1, most=most, pause_s=0.1)
    found.kinds = dict(kinds)
    found._queue = list(kinds)
    return found


def played(it: Killer) -> Killer:
    it.start()
    it._thread.join(20)
    it.stop()
    return it


def test_acts_count_when_their_effect_was_seen(tmp_path: Path) -> None:
    it = played(made(tmp_path, good=seen))
    assert it.done == {"good": 3}
    assert it.without_effect(every_kind=True) == []
    assert all("it is gone" in line for line in it.acts)


def test_whatever_an_act_raises_the_next_one_comes_and_the_run_fails(tmp_path: Path) -> None:
    it = played(made(tmp_path, most=6, bad=breaks, good=seen))
    assert it.done["good"] >= 1
    assert it.done["bad"] == 0
    assert it.done.total() + len(it.failed["bad"]) == 6
    assert any("bad" in line and "WITHOUT EFFECT (nobody thought of that)" in line for line in it.acts)
    (line,) = it.without_effect(every_kind=False)
    assert line.startswith("bad: not once was its effect seen (ZeroDivisionError: nobody thought of that")


def test_what_had_no_effect_comes_again_and_is_forgiven_once_it_has(tmp_path: Path) -> None:
    answers: Iterator[Act] = iter([breaks, seen, seen, seen])
    it = played(made(tmp_path, slow=lambda scene: next(answers)(scene)))
    assert (it.done["slow"], len(it.failed["slow"])) == (2, 1)
    assert it.without_effect(every_kind=True) == []


def test_a_kind_that_never_came_fails_a_full_run_and_no_quick_one(tmp_path: Path) -> None:
    it = made(tmp_path, good=seen, web=nobody)
    it.most = 2
    played(it)
    assert it.put_off["web"]["there is no web"] >= 1
    assert it.without_effect(every_kind=False) == []
    assert [line.partition(":")[0] for line in it.without_effect(every_kind=True)] == ["web"]


def test_a_killer_that_dies_fails_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    it = made(tmp_path, good=seen)
    monkeypatch.setattr(it, "_next", partial(breaks, it._scene))
    played(it)
    assert any(
        line.startswith("the killer died: ") and "nobody thought of that" in line for line in it.without_effect(every_kind=False)
    )


def test_a_run_in_which_nothing_was_done_proves_nothing(tmp_path: Path) -> None:
    assert "nothing was done to the installation" in made(tmp_path, good=seen).without_effect(every_kind=False)
    assert made(tmp_path, most=0, good=seen).without_effect(every_kind=False) == []


def test_each_kind_comes_once_before_any_comes_twice(tmp_path: Path) -> None:
    it = Killer(stand_ins.desk(tmp_path), seed=3)
    first = [it._next() for _ in range(1 + len(it.kinds))]
    assert set(first) == set(it.kinds)
    assert first[0] in ("worker", "claude")
    assert set(it.left) == {"clock jump", "full disk"}, "an ordinary folder, and no clock"


def test_what_waits_for_its_effect_is_tried_more_often(tmp_path: Path) -> None:
    it = made(tmp_path, good=seen, web=nobody)
    it._queue = []
    it.done["good"] = 1
    assert 50 < sum(it._next() == "web" for _ in range(100)) < 95


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator["subprocess.Popen[bytes]"]:
    """A worker that holds two runs."""
    monkeypatch.setattr(acts, "held_by", lambda pid: {"r1": 1, "r2": 4})
    monkeypatch.setattr(acts, "FREEZE_S", 0.5)
    with stand_ins.process(tmp_path, "dashboard.worker") as process:
        yield process


def test_a_frozen_worker_counts_when_it_goes_on(
    worker: "subprocess.Popen[bytes]", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leases = ["r1"]
    monkeypatch.setattr(acts, "_leases", lambda scene, frozen: leases)
    monkeypatch.setattr(acts, "_taken", lambda frozen: 2)
    it = made(tmp_path, most=1, **{FROZEN: acts.freeze})
    it.start()
    stopped = psutil.Process(worker.pid)
    stand_ins.until(lambda: stopped.status() == psutil.STATUS_STOPPED, seconds=5)
    with pytest.raises(stand_ins.TooLate):
        stand_ins.until(lambda: it.done[FROZEN], seconds=1.5)
    assert stopped.status() == psutil.STATUS_STOPPED, "it goes on only when no lease is its own"
    leases.clear()
    stand_ins.until(lambda: it.done[FROZEN], seconds=5)
    assert stopped.status() != psutil.STATUS_STOPPED
    it.stop()


def test_a_frozen_worker_that_goes_on_too_soon_does_not_count(
    worker: "subprocess.Popen[bytes]", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acts, "_leases", lambda scene, frozen: ["r1"])
    it = made(tmp_path, most=1, **{FROZEN: acts.freeze})
    it.start()
    stand_ins.until(lambda: it._scene.frozen, seconds=5)
    it.stop()
    assert it.done[FROZEN] == 0
    assert "with leases of 1 runs" in it.failed[FROZEN][0]
    assert psutil.Process(worker.pid).status() != psutil.STATUS_STOPPED, "it is not left standing"


def test_a_worker_that_died_while_it_stood_still_does_not_count(
    worker: "subprocess.Popen[bytes]", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acts, "_leases", lambda scene, frozen: [])
    it = made(tmp_path, most=1, **{FROZEN: acts.freeze})
    it.start()
    stand_ins.until(lambda: it._scene.frozen, seconds=5)
    worker.kill()
    worker.wait()
    it.stop()
    assert it.done[FROZEN] == 0
    assert "died while it stood still" in it.failed[FROZEN][0]


def test_one_that_holds_nothing_is_not_frozen(
    worker: "subprocess.Popen[bytes]", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acts, "held_by", lambda pid: {})
    scene = Scene(stand_ins.desk(tmp_path), killer.random.Random(1))
    with pytest.raises(NothingToDo, match="held no run"):
        acts.freeze(scene)
    assert scene.frozen == []
    assert psutil.Process(worker.pid).status() != psutil.STATUS_STOPPED


def test_an_act_that_does_not_end_is_left_behind_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(killer, "ACT_S", 0.1)
    over, begun = threading.Event(), threading.Event()

    def hangs(scene: Scene) -> str:
        begun.set()
        over.wait(20)
        return "at last"

    it = made(tmp_path, bad=hangs)
    it.start()
    assert begun.wait(5)
    it.stop()
    over.set()
    assert "the killer died: its last act did not end within 0.1 s" in it.without_effect(every_kind=False)
