"""Approve: from the click to the agent that goes on, attached and parked; the click is a real POST to the real web server."""

import argparse
import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import httpx
import yaml
from django.db import connections

from bench import browser, crew, desk, parts, watched_worker
from bench.place import Place
from bench.report import Goal, Report
from tasks_app.domain.statuses import DecisionStatus, RunStatus, StepKind
from tasks_app.models import Decision, Step, Team

SETTLE_S = 0.4
"""A click does not come in the very moment of the question."""
PATIENCE_S = 60.0


@dataclass(frozen=True)
class Click:
    """One answer: when the form was sent (Unix seconds) and when the page answered."""

    decision: str
    run: str
    at: float
    answered: float


def run(place: Place, options: argparse.Namespace) -> Report:
    """Answer permissions one by one."""
    report = Report("approve")
    tasks, each, parked = (2, 3, 3) if options.quick else (8, 10, 20)
    with parts.running(place) as house:
        house.web()
        house.worker(slots=8, app="bench.watched_worker")
        with browser.lead(house.port) as client:
            _attached(report, client, tasks=tasks, each=each)
            _parked(report, client, place, tasks=parked)
    return report


def _start(name: str, *, tasks: int, each: int, grace_s: int) -> Team:
    asks = [
        {
            "say": "I need a folder.",
            "call": {"tool": "Bash", "input": {"command": f"mkdir -p {{task}}-{n}", "description": "Make"}},
        }
        for n in range(each)
    ]
    script = {"parts": [{"turns": [*asks, {"call": {"complete": "done"}}, {"say": "Done."}]}]}
    rows = [{"title": f"{name} {n}", "criteria": ["done"]} for n in range(tasks)]
    text = crew.plan(name, agents=tasks, tasks=rows, parallel=8, grace_s=grace_s)
    return crew.start(text, script=yaml.safe_dump(script))


def _attached(report: Report, client: httpx.Client, *, tasks: int, each: int) -> None:
    """One click after another, once every agent has asked: that as many processes begin at once is no part of a click.

    A click whose effect is not there after `PATIENCE_S` is missing: no sample, but a failure.
    """
    team = _start("Attached", tasks=tasks, each=each, grace_s=600)
    asked = Decision.objects.filter(team=team, status=DecisionStatus.OPEN.value)
    desk.until(lambda: asked.count() == tasks, seconds=60, pause_s=0.2, words="the first request of every agent")
    count = tasks * each
    clicks = _answer_all(client, team, count=count, ready=lambda d: time.time() - d.opened_at.timestamp() > SETTLE_S)
    went_on = _seen(clicks, _delivered)
    say(report, "click → the attached agent has its answer", went_on, count, Goal("p99", 300))
    say(report, "click → the tool has run and its result is stored", _seen(clicks, _result), count)
    say(report, "click → the page answers", [(c.answered - c.at) * 1000 for c in clicks], count)


def say(report: Report, name: str, samples: Sequence[float | None], count: int, *goals: Goal) -> None:
    """Add the figure of `count` clicks; those without an effect are no samples, they are missing, and that is a failure."""
    seen = [sample for sample in samples if sample is not None]
    report.add(name, "ms", seen, *goals)
    if missing := count - len(seen):
        report.failures.append(f"{name.strip()}: missing: {missing} of {count}")


def _parked(report: Report, client: httpx.Client, place: Place, *, tasks: int) -> None:
    """One click after another has gone on, as a person answers; then as many as can be clicked at once."""
    team = _start("Parked", tasks=tasks, each=1, grace_s=0)
    _all_parked(team, tasks)
    clicks: list[Click] = []
    for _ in range(tasks):
        click = _answer_all(client, team, count=1, ready=_is_parked)
        _seen(click, partial(_first_request, place))
        clicks += click
    first = partial(_first_request, place)
    goals = Goal("p50", 2000), Goal("p99", 2000)
    say(report, "click → the parked agent's first model request", _seen(clicks, first), tasks, *goals)
    burst = _start("Burst", tasks=tasks, each=1, grace_s=0)
    _all_parked(burst, tasks)
    at_once = _seen(_answer_all(client, burst, count=tasks, ready=_is_parked), first)
    say(report, f"  the same, {tasks} answered in a burst", at_once, tasks)
    report.notes.append(f"{tasks} agents were parked: no process, no lease; each answer starts a new Claude process")


def _all_parked(team: Team, count: int) -> None:
    """A process that is still ending would share the processor with the first that begins."""
    parked = Decision.objects.filter(team=team, parked=True, run__status=RunStatus.PENDING.value)
    desk.until(lambda: parked.count() == count, seconds=60 + count, pause_s=0.2, words="the parking of every agent")


def _seen(clicks: Sequence[Click], effect: Callable[[Click], float | None]) -> list[float | None]:
    """Return after how many milliseconds each click had its effect; waits for all of them, for so long as one may take."""
    found: list[float | None] = []

    def come() -> bool:
        found[:] = [effect(click) for click in clicks]
        connections.close_all()
        return None not in found

    with contextlib.suppress(desk.TooLate):
        desk.until(come, seconds=PATIENCE_S, pause_s=0.1)
    return found


def _is_parked(decision: Decision) -> bool:
    return decision.parked and decision.run is not None and decision.run.status == RunStatus.PENDING.value


def _answer_all(client: httpx.Client, team: Team, *, count: int, ready: Callable[[Decision], bool]) -> list[Click]:
    clicks: list[Click] = []
    end = time.monotonic() + 60 + 5 * count
    while len(clicks) < count and time.monotonic() < end:
        waiting = Decision.objects.select_related("run").filter(team=team, status=DecisionStatus.OPEN.value)
        for decision in [each for each in waiting if ready(each)][:1]:
            at = time.time()
            browser.answer(client, decision.pk, choice="allow", version=decision.version, payload_hash=decision.payload_hash)
            clicks.append(Click(decision.pk, decision.run_id or "", at, time.time()))
        time.sleep(0.05)
    connections.close_all()
    return clicks


def _delivered(click: Click) -> float | None:
    at = Decision.objects.filter(pk=click.decision).values_list("delivered_at", flat=True).first()
    return (at.timestamp() - click.at) * 1000 if at is not None else None


def _result(click: Click) -> float | None:
    """Of the call that was asked for, not of whatever the run said next."""
    call = Decision.objects.filter(pk=click.decision).values_list("tool_use_id", flat=True)
    steps = Step.objects.filter(run_id=click.run, kind=StepKind.TOOL_RESULT.value, tool_use_id__in=call)
    at = steps.order_by("seq").values_list("at", flat=True).first()
    return (at.timestamp() - click.at) * 1000 if at is not None else None


def _first_request(place: Place, click: Click) -> float | None:
    after = [at for at, run_id in watched_worker.requests(place.home) if run_id == click.run and at > click.at]
    return (after[0] - click.at) * 1000 if after else None
