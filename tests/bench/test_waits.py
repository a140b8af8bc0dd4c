"""`schedule`: a start counts from when a task was ready and any agent was free, as the log tells it."""

from datetime import UTC, datetime, timedelta

from bench import waits
from bench.waits import Line

BEGIN = datetime(2026, 12, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return BEGIN + timedelta(seconds=seconds)


def line(kind: str, seconds: float, *, task: int = 0, agent: int | None = None) -> Line:
    return Line(kind, at(seconds), task, f"r{task}" if agent else "", agent)


def lost(
    *log: Line, agents: tuple[int, ...] = (1, 2), needs: dict[int, list[int]] | None = None, there: float = 0
) -> list[float]:
    found = waits.of(log, needs=needs or {}, agents=agents, there=at(there))
    return [(wait.started - wait.since).total_seconds() for wait in found]


def test_a_start_counts_from_the_end_of_the_last_task_that_it_needs() -> None:
    first = [line("task.created", -1, task=1), line("task.created", -1, task=2), line("run.started", 0.5, task=1, agent=1)]
    rest = [line("task.completed", 3, task=1), line("run.completed", 4, task=1, agent=1), line("run.started", 5, task=2, agent=1)]
    assert lost(*first, *rest, needs={2: [1]}) == [0.5, 2.0]


def test_an_agent_that_stood_idle_counts_though_another_got_the_task() -> None:
    log = [line("task.created", 0, task=1), line("run.started", 0, task=1, agent=1), line("task.created", 1, task=2)]
    log += [line("run.completed", 9, task=1, agent=1), line("run.started", 9.1, task=2, agent=1)]
    assert lost(*log)[1] == 8.1  # agent 2 was free all the time


def test_a_task_that_is_passed_over_counts_though_a_newer_one_was_taken() -> None:
    log = [line("task.created", 0, task=1), line("task.created", 4, task=2), line("run.started", 5, task=2, agent=1)]
    assert lost(*log, agents=(1,)) == [5.0]


def test_a_task_waits_for_no_agent_that_is_busy() -> None:
    log = [line("task.created", 0, task=1), line("task.created", 0, task=2), line("run.started", 0.1, task=1, agent=1)]
    log += [line("run.completed", 7, task=1, agent=1), line("run.started", 7.2, task=2, agent=1)]
    assert [round(each, 3) for each in lost(*log, agents=(1,))] == [0.1, 0.2]


def test_nobody_waits_for_a_team_that_is_not_there_yet() -> None:
    log = [line("task.created", 0, task=1), line("run.started", 2.1, task=1, agent=1)]
    assert [round(each, 3) for each in lost(*log, there=2)] == [0.1]
