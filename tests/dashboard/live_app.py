"""The product's ASGI application with three tiny panels and a page of them, and a faster clock: for tests of the socket only.

Each rendering is written to `renders.log` in the home, so that a test can count them.
"""

import os
from datetime import timedelta
from pathlib import Path

import django
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
settings.ROOT_URLCONF = "tests.dashboard.live_app"
settings.TEMPLATES[0]["DIRS"].append(Path(__file__).parent / "live_templates")
django.setup()

from typing import Any  # noqa: E402

from django.contrib.auth.decorators import login_not_required  # noqa: E402
from django.http import HttpRequest, HttpResponse  # noqa: E402
from django.shortcuts import render as render_page  # noqa: E402
from django.urls import path  # noqa: E402
from django.utils import timezone  # noqa: E402

from dashboard.access import Viewer, viewer_for  # noqa: E402
from dashboard.live import cursor, hub  # noqa: E402
from dashboard.live.pace import Pace  # noqa: E402
from dashboard.panels import registry  # noqa: E402
from dashboard.panels.base import Block  # noqa: E402
from tasks_app.domain.errors import NotFound  # noqa: E402
from tasks_app.models import Run, Task, Team  # noqa: E402
from tasks_app.services import keys  # noqa: E402

PACE: dict[str, float] = {"recheck_s": 1.0, "heartbeat_s": 1.0, "behind_s": 2.0, "sweep_s": 1e9, "linger_s": 0.5}
PACE |= {name[5:].lower(): float(value) for name, value in os.environ.items() if name.startswith("PACE_")}
hub.PACE = Pace(**PACE)  # type: ignore[arg-type]
RENDERS = settings.HOME / "renders.log"


def note(block: Block) -> None:
    with RENDERS.open("a") as log:
        log.write(f"{block.id}\n")


class Count:
    name, template = "count", "count.html"

    def block(self) -> Block:
        return Block("count", self.name, (), frozenset({keys.TEAMS}))

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any]:
        note(block)
        return {"teams": Team.objects.filter(pk__in=viewer.team_ids).order_by("pk")}


class Board:
    name, template = "board", "board.html"

    def block(self, team: int) -> Block:
        return Block(f"board-{team}", self.name, (team,), frozenset({keys.tasks(team)}), team)

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any]:
        note(block)
        tasks = Task.objects.filter(team_id=block.team).order_by("number")
        return {"cards": [Card().block(task.pk, task.team_id) for task in tasks if task.title != "hidden"]}


class Card:
    name, template = "card", "card.html"

    def block(self, task: int, team: int) -> Block:
        return Block(f"task-{task}", self.name, (task,), frozenset({keys.task(task)}), team)

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any] | None:
        note(block)
        task = Task.objects.filter(pk=block.args[0]).first()
        if task and task.title == "broken":
            raise RuntimeError("password=hunter2hunter2 in the panel")
        return {"task": task} if task else None


class Log:
    name, template, fast = "log", "log.html", True

    def block(self, team: int) -> Block:
        return Block(f"log-{team}", self.name, (team,), frozenset({f"run:of-{team}"}), team)

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any]:
        note(block)
        return {"runs": Run.objects.filter(team_id=block.team).order_by("pk")}


def blocks(page: str, arg: str, viewer: Viewer) -> list[Block]:
    if page == "overview":
        return [Count().block()]
    team = Team.objects.filter(slug=arg, pk__in=viewer.team_ids).first()
    if page != "team" or team is None:
        raise NotFound("There is no such team.")
    return [Count().block(), Board().block(team.pk), Log().block(team.pk)]


registry.PAGES = "tests.dashboard.live_app.blocks"
registry.PANELS.update(
    {
        name: f"tests.dashboard.live_app.{kind}"
        for name, kind in (("count", "Count"), ("board", "Board"), ("card", "Card"), ("log", "Log"))
    }
)


def page(request: HttpRequest, name: str, arg: str = "") -> HttpResponse:
    viewer = viewer_for(request.user)
    seq = cursor.read(viewer)
    now = timezone.now()
    times = {"since": (now - timedelta(seconds=3590)).isoformat(), "until": (now + timedelta(seconds=65)).isoformat()}
    return render_page(
        request,
        "live_page.html",
        {"viewer": viewer, "seq": seq, "page": name, "arg": arg, "blocks": blocks(name, arg, viewer), **times},
    )


@login_not_required
def sign_in(request: HttpRequest) -> HttpResponse:
    return HttpResponse("<link rel=icon href=data:,><h1>Sign in</h1>")


urlpatterns = [path("page/<name>/", page), path("page/<name>/<arg>/", page), path("sign-in/", sign_in, name="sign-in")]

from dashboard.asgi import application  # noqa: E402

__all__ = ["application"]
