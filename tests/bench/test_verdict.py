"""Chaos fails where its silence would say nothing: nothing compared, a part of the log missing, tasks not done, the desk dead."""

import subprocess
from pathlib import Path

import pytest

from bench import audit, chaos, story
from bench.places import most_at_work
from bench.story import Story
from tasks_app.domain.statuses import TaskStatus
from tasks_app.models import Task, Team
from tests.bench import stand_ins
from tests.factories import EventFactory, TaskFactory, TeamFactory

COMPARED = "runs compared to the last token and cent"


@pytest.fixture
def told(db: None) -> Story:
    """A story of two tasks, and a team that has done both."""
    team = TeamFactory()
    for _ in range(2):
        TaskFactory(team=team, status=TaskStatus.COMPLETED.value)
    return story.make(tasks=2, seed=1)


def found(**given: object) -> audit.Report:
    report = audit.Report(teams=1, tasks=2, scripted={COMPARED: 2.0})
    for name, value in given.items():
        setattr(report, name, value)
    return report


def test_where_all_was_done_and_compared_all_is_proved(told: Story) -> None:
    assert chaos.unproved(told, found()) == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"cut": 1}, "the first events are not in the log"),
        ({"scripted": {}}, "not one message was compared"),
        ({"tasks": 1}, "1 teams with 1 tasks were audited"),
        ({"teams": 2}, "2 teams with 2 tasks were audited"),
        ({"teams": 0, "tasks": 0}, "0 teams with 0 tasks were audited"),
    ],
)
def test_what_was_not_looked_at_is_no_proof(told: Story, given: dict[str, object], words: str) -> None:
    (line,) = chaos.unproved(told, found(**given))
    assert line.startswith(words)


def log(team: Team, *events: str) -> None:
    """Write a log: `started 1` of a run, `opened 1` of its only decision."""
    for seq, (what, number) in enumerate((event.split() for event in events), 1):
        about = "decision" if what in ("opened", "answered", "withdrawn", "expired") else "run"
        data = {"kind": "stall" if number == "9" else "plan", "fence": 1}
        EventFactory(team=team, seq=seq, kind=f"{about}.{what}", run_id=f"r{number}", decision_id=f"d{number}", data=data)


@pytest.mark.parametrize(
    ("events", "most"),
    [
        ([], 0),
        (["started 1", "started 2", "completed 1", "started 3", "parked 2", "started 4", "resumable 4", "started 5"], 2),
        (["started 1", "failed 1", "started 2", "killed 2", "started 1"], 1),
        (["started 1", "opened 1", "started 2"], 1),
        (["started 1", "opened 1", "started 2", "answered 1"], 1),
        (["started 1", "opened 1", "answered 1", "started 2"], 2),
        (["started 1", "opened 1", "withdrawn 1", "started 2", "opened 2", "expired 2", "started 3"], 3),
        (["started 9", "opened 9", "started 2"], 2),
    ],
)
def test_who_waits_for_the_lead_leaves_its_place_to_another(db: None, events: list[str], most: int) -> None:
    team = TeamFactory()
    log(team, *events)
    assert most_at_work(team) == most


def test_more_at_work_than_the_plan_allows_are_too_many(told: Story) -> None:
    log(Team.objects.get(), *(f"started {number}" for number in range(7)))
    assert [line.partition(": ")[2] for line in chaos.unproved(told, found())] == ["7 runs were at work at once, 6 may be"]


def test_fewer_tasks_than_planned_are_too_few(told: Story) -> None:
    Task.objects.filter(pk=Task.objects.first().pk).update(status=TaskStatus.PENDING.value)  # type: ignore[union-attr]
    assert chaos.unproved(told, found()) == ["1 tasks of 2 were done"]


def test_a_full_run_compares_whole_runs(told: Story) -> None:
    told.plan["tasks"] *= chaos.FULL // 2
    TaskFactory.create_batch(chaos.FULL - 2, team=Task.objects.first().team, status=TaskStatus.COMPLETED.value)  # type: ignore[union-attr]
    assert chaos.unproved(told, found(tasks=chaos.FULL, scripted={COMPARED: 0.0})) == [
        "not one run was compared to the last token and cent"
    ]


@pytest.mark.parametrize(("code", "words"), [(0, []), (3, ["up ended with 3"])])
def test_up_must_end_in_order(tmp_path: Path, code: int, words: list[str]) -> None:
    house = stand_ins.desk(tmp_path)
    house.process = subprocess.Popen(["sh", "-c", f"exit {code}"])
    house.process.wait()
    assert chaos._left(house) == words


def test_an_up_that_stays_has_not_left(tmp_path: Path) -> None:
    house = stand_ins.desk(tmp_path)
    with stand_ins.process(tmp_path) as house.process:
        assert chaos._left(house) == ["up did not leave when it was told to"]


def test_a_desk_that_died_is_not_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chaos, "BACK_S", 0.1)
    house = stand_ins.desk(tmp_path)
    house.process = subprocess.Popen(["sh", "-c", "exit 3"])
    house.process.wait()
    (line,) = chaos._whole(house)
    assert line.endswith(": up had ended with 3")


def test_a_desk_without_one_of_its_parts_is_not_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    house = stand_ins.desk(tmp_path)
    monkeypatch.setattr(house, "answers", lambda: True)
    with (
        stand_ins.process(tmp_path, "up") as house.process,
        stand_ins.process(tmp_path, "dashboard.worker"),
        stand_ins.process(tmp_path, "daphne") as web,
        stand_ins.process(tmp_path, "valkey-server"),
    ):
        assert house.missing() == []
        web.kill()
        web.wait()
        assert house.missing() == ["0 of 1 web processes"]
        monkeypatch.setattr(house, "answers", lambda: False)
        assert house.missing() == ["0 of 1 web processes", "no page comes"]
