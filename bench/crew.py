"""A team whose runs a benchmark holds itself: made through the services, without any Claude process."""

import json
import os
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connections
from django.test import Client

from tasks_app.domain import plan as plans
from tasks_app.domain.statuses import TaskStatus
from tasks_app.management import sign_in
from tasks_app.models import Run, Task, Team
from tasks_app.services import actions, claims
from tasks_app.services.runs import Held
from tasks_app.services.teams import Source
from tasks_app.task_types import registry

WORKER = "bench"


@dataclass(frozen=True)
class Crew:
    """The team, and its runs as a worker holds them."""

    team: Team
    held: list[Held]


def plan(name: str, *, agents: int, tasks: list[dict[str, Any]], parallel: int, **limits: Any) -> str:
    """Return a plan as text (YAML takes JSON)."""
    content = {
        "team": name,
        "limits": {"parallel": min(64, parallel), **limits},
        "budget": {"usd": 100_000, "tokens": 10**11},
        "permissions": {"allow": ["Bash", "Read", "Edit", "Write"], "ask": ["Bash(mkdir *)"]},
        "agents": [{"name": f"agent{n:02}", "role": "worker", "model": "claude-sonnet-4-5"} for n in range(1, agents + 1)],
        "tasks": tasks,
    }
    return json.dumps(content)


def start(text: str, *, script: str = "") -> Team:
    """Start a team from the text of a plan; `script` is the text of its rehearsal script."""
    parsed = plans.parse(text, known_types=tuple(registry.TYPES))
    user = sign_in.ensure_lead()
    source = Source(text, settings.HOME, script)
    return actions.start_team(parsed, source=source, user_id=user.pk, rehearsal=True, actor=f"user:{user.username}")


def left(team: Team) -> int:
    """Return how many tasks of a team are not completed; the connection is closed: others restart the database meanwhile."""
    try:
        return Task.objects.filter(team=team).exclude(status=TaskStatus.COMPLETED.value).count()
    finally:
        connections.close_all()


def name() -> str:
    """Return the name under which this process holds runs."""
    return f"{WORKER}:{os.getpid()}:0"


def held(agents: int, *, title: str = "Held") -> Crew:
    """Start a team of so many agents, each with a task, and claim every run for this process."""
    tasks = [{"title": f"Task {n}", "criteria": ["done"], "assignee": f"agent{n:02}"} for n in range(1, agents + 1)]
    team = start(plan(title, agents=agents, tasks=tasks, parallel=agents))
    found = [
        claims.claim(run_id, worker=name(), host=WORKER)
        for run_id in Run.objects.filter(team=team).order_by("pk").values_list("pk", flat=True)
    ]
    return Crew(team, [each for each in found if each is not None])


def session() -> str:
    """Return a session cookie of the lead, signed in without a form."""
    browser = Client()
    user = get_user_model().objects.get(pk=sign_in.ensure_lead().pk)
    browser.force_login(user, "django.contrib.auth.backends.ModelBackend")
    return str(browser.cookies[settings.SESSION_COOKIE_NAME].value)
