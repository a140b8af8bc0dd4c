"""Pages: server time and number of queries of the pages and of `team status`, with 10 teams, 500 tasks and 1,000,000 events."""

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from rich.console import Console

from bench import rows
from bench.place import Place
from bench.report import Goal, Report
from bench.rows import Size
from tasks_app.management import prepare, sign_in, status
from tasks_app.models import Agent, Decision, Event, Run, Step, Task, Team

LIMIT_MS = 100.0
SLOWEST = 3


@dataclass(frozen=True)
class Looked:
    """One look at a page: milliseconds, those of them on the processor, and the queries it made."""

    ms: float
    cpu_ms: float
    queries: list[tuple[float, str]]


def run(place: Place, options: argparse.Namespace) -> Report:
    """Measure every page in a small installation and in a large one; the number of queries must be the same."""
    report = Report("pages")
    prepare.everything()
    times = 5 if options.quick else 30
    small = rows.make(Size(teams=2, tasks=20, runs=60, steps=300, events=400), seed=options.seed)
    rows.analyse()
    few = {name: len(look().queries) for name, look in _pages(small[0]).items()}
    size = Size(events=50_000, runs=1000, steps=5000) if options.quick else Size()
    begun = time.monotonic()
    teams = rows.make(replace(size, teams=size.teams - 2), seed=options.seed, first=10)
    rows.analyse()
    report.notes.append(f"{_counts()}, made in {time.monotonic() - begun:.0f} s")
    for name, look in _pages(teams[0]).items():
        look()
        looks = [look() for _ in range(times)]
        report.add(name, "ms", [each.ms for each in looks], Goal("p50", LIMIT_MS))
        report.add("  on the processor", "ms", [each.cpu_ms for each in looks])
        many = len(looks[-1].queries)
        report.add("  its queries", "queries", [many])
        if many > few[name]:  # fewer: a card less is shown
            report.failures.append(f"{name}: {few[name]} queries in a small installation, {many} in this one")
        slow = sorted(looks[-1].queries, reverse=True)[:SLOWEST]
        if looks[-1].ms > LIMIT_MS:
            report.notes += [f"{name}: {ms:.0f} ms in {sql[:220]}" for ms, sql in slow if ms > 5]
    return report


def _pages(team: Team) -> dict[str, Callable[[], Looked]]:
    browser = Client(SERVER_NAME="127.0.0.1")
    user = get_user_model().objects.get(pk=sign_in.ensure_lead().pk)
    browser.force_login(user, "django.contrib.auth.backends.ModelBackend")
    task = Task.objects.filter(team=team, runs__isnull=False).order_by("pk").first()
    run = Run.objects.filter(team=team).order_by("pk").first()
    decision = Decision.objects.filter(team=team).order_by("opened_at").first()
    agent = Agent.objects.filter(team=team).order_by("pk").first()
    assert task
    assert run
    assert decision
    assert agent
    places = {
        "Overview": reverse("overview"),
        "Board": reverse("team", args=[team.slug]),
        "Table": reverse("team", args=[team.slug]) + "?view=table",
        "Inbox": reverse("inbox"),
        "Inbox, one request": reverse("inbox-detail", args=[decision.pk]),
        "Task": reverse("task", args=[task.pk]),
        "Agent": reverse("agent", args=[agent.pk]),
        "Agent, a transcript": reverse("agent", args=[agent.pk]) + f"?run={run.pk}",
        "Teams": reverse("teams"),
        "History": reverse("history"),
    }
    found: dict[str, Callable[[], Looked]] = {name: _page(browser, path) for name, path in places.items()}
    return {"team status": lambda: _looked(lambda: _status(team)), **found}


def _page(browser: Client, path: str) -> Callable[[], Looked]:
    def get() -> None:
        answer = browser.get(path)
        if answer.status_code != 200:
            raise RuntimeError(f"{path} answers {answer.status_code}")

    return lambda: _looked(get)


def _status(team: Team) -> None:
    with Path(os.devnull).open("w") as nowhere:
        Console(file=nowhere, width=120).print(status.as_text(status.read(team.pk, timezone.now())))


def _looked(do: Callable[[], Any]) -> Looked:
    queries: list[tuple[float, str]] = []

    def note(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        begun = time.perf_counter()
        try:
            return execute(sql, params, many, context)
        finally:
            queries.append(((time.perf_counter() - begun) * 1000, sql))

    begun, cpu = time.perf_counter(), time.process_time()
    with connection.execute_wrapper(note):
        do()
    return Looked((time.perf_counter() - begun) * 1000, (time.process_time() - cpu) * 1000, queries)


def _counts() -> str:
    return ", ".join(f"{model.objects.count():,} {model.__name__.lower()}s" for model in (Team, Task, Run, Step, Event, Decision))
