"""Approve: from the click to the agent that goes on, attached and parked; the click is a real POST to the real web server."""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

import httpx
import yaml
from django.db import connections

from bench import browser, crew, desk, parts, watched_worker
from bench.place import Place
from bench.report import Goal, Report
from tasks_app.domain.statuses import DecisionStatus, RunStatus
from tasks_app.models import Decision, Run, Step, Team

SETTLE_S = 0.4
"""A click does not come in the very moment of the question."""


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
    team = _start("Attached", tasks=tasks, each=each, grace_s=600)
    clicks = _answer_all(client, team, count=tasks * each, ready=lambda d: time.time() - d.opened_at.timestamp() > SETTLE_S)
    delivered = dict(Decision.objects.filter(team=team).values_list("pk", "delivered_at"))
    went_on = [(at.timestamp() - click.at) * 1000 for click in clicks if (at := delivered[click.decision]) is not None]
    report.add("click → the attached agent has its answer", "ms", went_on, Goal("p99", 300))
    report.add("click → its next step is stored (the tool has run)", "ms", [_next_step(c) for c in clicks])
    report.add("click → the page answers", "ms", [(c.answered - c.at) * 1000 for c in clicks])
    if len(went_on) < tasks * each:
        report.failures.append(f"{tasks * each - len(went_on)} answers were not delivered")


def _parked(report: Report, client: httpx.Client, place: Place, *, tasks: int) -> None:
    team = _start("Parked", tasks=tasks, each=1, grace_s=0)
    clicks = _answer_all(client, team, count=tasks, ready=_is_parked)
    first: list[float] = []
    started = dict(Run.objects.filter(team=team).values_list("pk", "started_at"))

    def come() -> bool:
        first[:] = [at for click in clicks if (at := _first_request(place, click))]
        return len(first) == len(clicks)

    try:
        desk.until(come, seconds=60, pause_s=0.2, words="the first model request of every parked agent")
    except desk.TooLate as late:
        report.failures.append(str(late))
    report.add("click → the parked agent's first model request", "ms", first, Goal("p50", 2000), Goal("p99", 2000))
    report.notes.append(f"{len(started)} agents were parked: no process, no lease; each answer starts a new Claude process")


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
    time.sleep(1)
    connections.close_all()
    return clicks


def _next_step(click: Click) -> float:
    times = [at.timestamp() for at in Step.objects.filter(run_id=click.run).order_by("seq").values_list("at", flat=True)]
    after = [at for at in times if at > click.at]
    return (after[0] - click.at) * 1000 if after else 0.0


def _first_request(place: Place, click: Click) -> float:
    after = [at for at, run_id in watched_worker.requests(place.home) if run_id == click.run and at > click.at]
    return (after[0] - click.at) * 1000 if after else 0.0
