"""Record: how many steps per second one worker stores through its ports, every event published, and what the floor is."""

import argparse
import asyncio
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

from django.db import connection, transaction

from bench import crew, heard, parts
from bench.crew import Crew
from bench.place import Place
from bench.report import Goal, Report
from tasks_app import wake
from tasks_app.domain.statuses import StepKind
from tasks_app.execution.port import RunPort
from tasks_app.execution.recorder import Recorder
from tasks_app.models import Event, Step, Team
from tasks_app.runners.port import StepDraft, Usage
from tasks_app.services import steps
from tasks_app.services.runs import Held
from tasks_app.tools.base import Caller

LEAST = {"sqlite": 1000, "postgres": 2000}
TEXT = "I look at the failing test first and then at what the fixture does to the clock of the database. " * 3


def run(place: Place, options: argparse.Namespace) -> Report:
    """Fifty runs emit as fast as their ports take it; the log must be whole afterwards, and all of it published."""
    report = Report("record")
    agents, seconds, rounds = (6, 1.0, 1) if options.quick else (50, 10.0, 5)
    with parts.running(place), heard.listening() as hints:
        team = crew.held(agents)
        rates = asyncio.run(_rates(team, seconds=seconds, rounds=rounds))
        report.add(
            "steps recorded by one worker, ports flat out", "steps/s", rates, Goal("p50", LEAST[place.database], least=True)
        )
        report.add("one batch of 1 step", "ms", _batches(team, size=1, times=15 if options.quick else 300))
        report.add("one batch of 4 steps", "ms", _batches(team, size=4, times=15 if options.quick else 300))
        report.add("one batch of 50 steps", "ms", _batches(team, size=50, times=3 if options.quick else 100))
        report.add("queries of one batch of 4 steps", "queries", [_queries(team)])
        report.add("floor: one commit that changes one row", "ms", _commits(team, times=50 if options.quick else 500))
        report.add("floor: one publish to Valkey", "ms", _publishes(times=50 if options.quick else 500))
        report.failures += _whole(team) + hints.wrong(team.team.pk)
        report.notes.append(f"{hints.words(team.team.pk)} were heard by a subscriber")
    return report


async def _rates(team: Crew, *, seconds: float, rounds: int) -> list[float]:
    recorder = Recorder()
    ports = [RunPort(each, _caller(each), last_seq=0, grace_s=1, recorder=recorder) for each in team.held]
    rates = []
    for _ in range(rounds):
        before, begun = await asyncio.to_thread(_stored), time.monotonic()
        await asyncio.gather(*(_emit(port, until=begun + seconds) for port in ports))
        await asyncio.gather(*(port.flush() for port in ports))
        took = time.monotonic() - begun
        rates.append((await asyncio.to_thread(_stored) - before) / took)
    await asyncio.gather(*(port.close() for port in ports))
    return rates


async def _emit(port: RunPort, *, until: float) -> None:
    for number, draft in enumerate(_drafts(port.held.id)):
        await port.emit([draft])
        if number % 20 == 0:
            await asyncio.sleep(0)
            if time.monotonic() > until:
                return


def _drafts(run_id: str) -> Iterator[StepDraft]:
    """What an agent does all day: says something (with usage), calls a tool, gets its result."""
    number = 0
    while True:
        number += 1
        name = f"toolu_{run_id}_{number}_{time.monotonic_ns()}"
        usage = Usage(f"msg_{name}", "claude-sonnet-4-5", 3, 200, 12_000, 150)
        yield StepDraft(StepKind.SAID, TEXT, usage=usage, context_tokens=12_203, context_window=200_000)
        yield StepDraft(StepKind.TOOL_CALL, "Bash", {"tool": "Bash", "input": {"command": "pytest -q"}}, tool_use_id=name)
        yield StepDraft(StepKind.TOOL_RESULT, TEXT, {"is_error": False}, tool_use_id=name)


def _caller(held: Held) -> Caller:
    return Caller(held.id, held.fence, held.team_id, held.agent_id, "agent", held.task_id, 1)


def _stored() -> int:
    try:
        return Step.objects.count()
    finally:
        connection.close()


def _batches(team: Crew, *, size: int, times: int) -> list[float]:
    held, drafts, took = team.held[0], _drafts(team.held[0].id), []
    last = Step.objects.filter(run_id=held.id).count()
    for _ in range(times):
        batch = [next(drafts) for _ in range(size)]
        begun = time.perf_counter()
        last = steps.record(held.id, held.fence, after=last, drafts=batch).last
        took.append((time.perf_counter() - begun) * 1000)
    return took


def _queries(team: Crew) -> int:
    found: list[str] = []

    def note(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        found.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        _batches(team, size=4, times=1)
    return len(found)


def _commits(team: Crew, *, times: int) -> list[float]:
    took = []
    for number in range(times):
        begun = time.perf_counter()
        with transaction.atomic():
            Team.objects.filter(pk=team.team.pk).update(goal=str(number))
        took.append((time.perf_counter() - begun) * 1000)
    return took


def _publishes(*, times: int) -> list[float]:
    took = []
    for _ in range(times):
        begun = time.perf_counter()
        wake.run(f"bench{os.getpid()}")
        took.append((time.perf_counter() - begun) * 1000)
    return took


def _whole(team: Crew) -> list[str]:
    """Nothing is missing: steps gapless per run, events gapless."""
    wrong = []
    for held in team.held:
        numbers = list(Step.objects.filter(run_id=held.id).order_by("seq").values_list("seq", flat=True))
        if numbers != list(range(1, len(numbers) + 1)):
            wrong.append(f"run {held.id}: its steps have a gap")
    log = list(Event.objects.filter(team=team.team).order_by("seq").values_list("seq", flat=True))
    if log != list(range(1, len(log) + 1)):
        wrong.append("the log has a gap")
    return wrong
