"""`--seeds`: flags are handed on, figures of different things stay apart, goals are about the worst seed."""

import sys
from typing import Any

import pytest

from bench import many
from bench.__main__ import arguments, main
from bench.report import Report


def figure(name: str, p50: float | None, *, peer: str = "", p99: float = 0.0, limit: float | None = None) -> dict[str, Any]:
    goals = [{"stat": "p99", "limit": limit, "least": False, "met": True}] if limit is not None else []
    stats = {"p50": p50, "p99": p99} if p50 is not None else {}
    return {"name": name, "unit": "ms", "peer": peer, "goals": goals, **stats}


def merged(*parts: list[dict[str, Any]]) -> Report:
    report = Report("many")
    many.merge(report, parts)
    return report


def test_every_flag_is_handed_on_to_each_seed() -> None:
    words = "recover --database postgres --quick --seeds 3 --seed 4 --cases up,host --kills 2 --minutes 1.5 --tasks 7 --acts 0"
    given = arguments().parse_args([*words.split(), "--keep", "/tmp/kept", "--json"])
    command = many.command(given, 5)
    again = arguments().parse_args(command[3:])
    assert vars(again) == vars(given) | {"seed": 5, "seeds": 1, "keep": "/tmp/kept/5", "json": True}


def test_what_cannot_run_here_is_said_once_and_is_no_failure_of_a_seed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plays = [sys.executable, "-c", "import sys; print('Chromium is not here', file=sys.stderr); sys.exit(2)"]
    monkeypatch.setattr(many, "command", lambda given, seed: plays)
    monkeypatch.setattr(sys, "argv", ["bench", "live", "--seeds", "3"])
    assert main() == 2
    assert capsys.readouterr().err == "Chromium is not here\n"


def test_a_peers_figure_is_not_ours_nor_the_detail_of_one_that_of_another() -> None:
    part = [figure("wall", 1.0, peer="plain"), figure("wall", 2.0), figure("a", 3.0), figure("  of it", 4.0)]
    part += [figure("b", 5.0), figure("  of it", 6.0)]
    found = merged(part, part)
    rows = [(each.name, each.peer, each.samples) for each in found.figures]
    assert rows[:2] == [("wall", "plain", [1.0, 1.0]), ("wall", "", [2.0, 2.0])]
    assert [each.samples for each in found.figures if each.name == "  of it"] == [[4.0, 4.0], [6.0, 6.0]]


def test_a_goal_is_met_where_the_worst_seed_meets_it() -> None:
    for second, met in ((90.0, True), (110.0, False)):
        found = merged([figure("x", 10.0, p99=50.0, limit=100)], [figure("x", 10.0, p99=second, limit=100)])
        (row,) = [each for each in found.figures if each.goals]
        assert row.name == "  x: p99 of each seed"
        assert (not row.missed) is met


def test_a_seed_without_samples_misses_its_goal() -> None:
    found = merged([figure("x", 10.0, p99=50.0, limit=100)], [figure("x", None, limit=100)])
    assert [bool(each.missed) for each in found.figures] == [False, True]
