"""Figures: quantiles by nearest rank, goals that are met or missed, a table and one JSON document."""

import io
import json
import math
import time
from pathlib import Path

import pytest
from rich.console import Console

from bench import machine, marks, stamps
from bench.json_store import JsonStore
from bench.machine import Machine
from bench.report import Figure, Goal, Report, as_json, short, show

MACHINE = Machine(2, 24.0, "Linux 6", "CPU", "3.11", (0.1, 0.2, 0.3), {"django": "5.2"})


def test_quantiles_are_samples_that_were_measured() -> None:
    figure = Figure("x", "ms", [5, 1, 4, 2, 3])
    assert [figure.stat(name) for name in ("min", "p50", "p99", "max")] == [1, 3, 5, 5]
    assert math.isnan(Figure("x", "ms", []).stat("p50"))


def test_a_goal_looks_at_its_quantile_from_its_side() -> None:
    fast = Figure("x", "ms", [1, 2, 300], (Goal("p50", 2), Goal("p99", 200), Goal("min", 1, least=True)))
    assert [goal.met(fast) for goal in fast.goals] == [True, False, True]
    assert fast.missed == [Goal("p99", 200)]
    assert not Goal("p50", 1e9).met(Figure("x", "ms", []))


def report() -> Report:
    made = Report("demo", notes=["a [note]"], failures=["something was lost"], seconds=1.5)
    made.add("time", "ms", [1, 2, 3], Goal("p50", 1))
    made.add("time", "ms", [4], peer="somebody else")
    return made


def test_the_document_has_machine_figures_goals_and_failures() -> None:
    found = json.loads(as_json(report(), MACHINE, {"quick": True}))
    assert found["machine"]["cpus"] == 2
    assert found["figures"][0]["goals"] == [{"stat": "p50", "limit": 1, "least": False, "met": False}]
    assert found["figures"][1]["peer"] == "somebody else"
    assert found["failures"] == ["something was lost"]
    assert found["missed"] == ["time: p50 ≤ 1 ms, found 2"]


def test_the_table_shows_spread_goals_and_what_went_wrong() -> None:
    out = io.StringIO()
    show(report(), MACHINE, Console(file=out, width=140))
    for words in (
        "1 – 3",
        "p50 ≤ 1 missed",
        "missed: time: p50 ≤ 1 ms, found 2",
        "[somebody else]",
        "a [note]",
        "✗ something was lost",
        "django 5.2",
    ):
        assert words in out.getvalue()


def test_a_goal_that_a_detail_misses_is_said_with_what_it_is_a_detail_of() -> None:
    made = report()
    made.add("  per round", "×", [], Goal("p50", 1.1))
    assert made.missed[-1] == "time, per round: p50 ≤ 1.10 ×, found –"


@pytest.mark.parametrize(("value", "words"), [(3.0, "3"), (0.1234, "0.123"), (12.34, "12.3"), (1234.5, "1,234"), (math.nan, "–")])
def test_numbers_show_the_digits_that_matter(value: float, words: str) -> None:
    assert short(value) == words


def test_a_skipped_step_counts_when_a_later_one_is_shown() -> None:
    seen = marks.Seen(period_s=0.5, last={"agent01": 1})  # it was on the page when it was opened
    seen.note(marks.found(marks.text(1, "agent01", 100.0)), 100.2)
    assert seen.late_ms == []
    seen.note(marks.found(f"<b>{marks.text(3, 'agent01', 101.0)}</b>"), 101.25)
    assert seen.late_ms == pytest.approx([250, 750])
    seen.note(marks.found(marks.text(2, "agent01", 100.5)), 102)
    assert seen.last == {"agent01": 3}


def test_the_first_step_of_an_agent_counts_and_so_do_those_that_were_skipped_before_it() -> None:
    seen = marks.Seen(period_s=0.5)
    seen.note(marks.found(marks.text(2, "agent01", 100.5)), 100.75)
    assert seen.late_ms == pytest.approx([250, 750])


def test_the_peers_store_gives_each_task_out_once(tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps([{"id": 0, "status": "pending"}]))
    store = JsonStore(path)
    assert [store.claim("a"), store.claim("b")] == [0, None]
    store.complete(0)
    assert json.loads(path.read_text())[0]["status"] == "completed"


def test_a_stage_counts_from_the_kill_for_the_lives_that_go_on_and_for_the_worker() -> None:
    rows = [(9.0, "-", "loaded"), (10.5, "-", "loaded"), (10.6, "r1:2", "spec"), (10.9, "r1:2", "spec"), (10.7, "r2:1", "spec")]
    assert stamps.firsts(rows, since=10.0, lives={"r1:2"}) == {"loaded": [0.5], "spec": [pytest.approx(0.6)]}


def test_stamps_are_read_as_they_were_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CREWDESK_HOME", str(tmp_path))
    assert stamps.read(tmp_path) == []
    stamps.note("r1:2", stamps.GONE)
    ((at, life, stage),) = stamps.read(tmp_path)
    assert at > 0
    assert (life, stage) == ("r1:2", stamps.GONE)


def test_a_machine_so_busy_that_workers_take_no_runs_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.os, "cpu_count", lambda: 2)
    assert machine.too_busy([3.0, 15.9]) == []
    assert "the load reached 17: from 16 on a worker takes no run" in machine.too_busy([3.0, 17.1])[0]


def test_the_load_is_looked_at_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "LOOK_S", 0.01)
    with machine.load_watched() as loads:
        time.sleep(0.1)
    assert len(loads) > 2
