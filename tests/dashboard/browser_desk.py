"""The pages in a real Chromium: a server with everything in it, made once for all modules that look, and what they look with."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.services_fixtures import Daphne, Valkey, running_daphne

AXE = Path(__file__).parents[1] / "vendor/axe-4.14.1.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
SIZES = {"desk": (1280, 860), "phone": (390, 844)}
World = dict[str, Any]


@dataclass(frozen=True)
class RealDesk:
    """A server and what its database holds (tests/dashboard/browser_world.py)."""

    server: Daphne
    world: World


@contextmanager
def started(valkey: Valkey) -> Iterator[RealDesk]:
    """A desk of its own, for a module that changes what others look at."""
    with running_daphne(valkey.url) as server:
        made = "import json; from tests.dashboard import browser_world; print(json.dumps(browser_world.build()))"
        world = server.python(made)
        assert isinstance(world, dict)
        yield RealDesk(server, world)


@pytest.fixture(scope="session")
def real_desk(valkey: Valkey) -> Iterator[RealDesk]:
    """One server per process: each module answers requests of its own."""
    with started(valkey) as found:
        yield found


@pytest.fixture
def server(real_desk: RealDesk) -> Daphne:
    return real_desk.server


@pytest.fixture
def world(real_desk: RealDesk) -> World:
    return real_desk.world


@pytest.fixture
def contexts(real_desk: RealDesk, chromium: Browser) -> Iterator[Any]:
    """Return a function that opens a browser of a size, signed in or not."""
    made: list[BrowserContext] = []

    def make(size: str = "desk", *, signed_in: bool = True, scripts: bool = True, **how: Any) -> BrowserContext:
        width, height = SIZES[size]
        phone = size == "phone"
        context = chromium.new_context(
            viewport={"width": width, "height": height},
            is_mobile=phone,
            has_touch=phone,
            java_script_enabled=scripts,
            **{"color_scheme": "light", **how},
        )
        if signed_in:
            cookie = {"name": "crewdesk_session", "value": real_desk.world["session"], "url": real_desk.server.url}
            context.add_cookies([cookie])  # type: ignore[list-item]
        made.append(context)
        return context

    yield make
    for context in made:
        context.close()


def addresses(world: World) -> dict[str, str]:
    kinds = ("permission", "plan", "question", "escalation", "budget", "stall", "review", "risky", "closed")
    return {
        "overview": "/", "inbox": "/inbox/", "teams": "/teams/", "team": "/teams/atlas/", "table": "/teams/atlas/?view=table",
        "graph": "/teams/atlas/?view=graph", "import": "/teams/import/",
        "task": f"/tasks/{world['task']}/", "agent": f"/agents/{world['agent']}/", "history": "/history/",
        "archived": "/teams/cygnus/", "how it goes": "/teams/atlas/how-it-goes/", "messages": "/teams/atlas/messages/",
        "who decides": "/teams/atlas/who-decides/",
        "context": "/teams/atlas/context/", "context entry": f"/teams/atlas/context/{world['entry']}/",
        "prompt": f"/runs/{world['run']}/messages/1/", "message": f"/runs/{world['run']}/messages/2/",
        "checkpoints": "/teams/borealis/checkpoints/", "checkpoint": f"/teams/borealis/checkpoints/{world['checkpoint']}/",
        "delete": "/teams/cygnus/delete/", "new task": "/teams/atlas/tasks/new/", "edit task": f"/tasks/{world['task']}/edit/",
        "new team": "/teams/new/?example=1", "keys": "/keys/", "search": "/search/?q=payment", "not found": "/nope/",
    } | {kind: f"/inbox/{world[kind]}/" for kind in kinds}  # fmt: skip


def axe(page: Page, rules: list[str] = RULES) -> list[str]:
    """Return what axe finds, with the whole page in view: nothing is hidden under the bars that stick to the edges."""
    size = page.viewport_size
    assert size
    whole = page.evaluate("document.documentElement.scrollHeight")
    page.set_viewport_size({"width": size["width"], "height": max(whole, size["height"])})
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text())
    found = page.evaluate("(rules) => axe.run({runOnly: rules, resultTypes: ['violations']})", rules)
    return [f"{one['id']} at {[node['target'] for node in one['nodes']][:3]}" for one in found["violations"]]


def posted(page: Page) -> list[str]:
    """Return a list that grows with each POST of the page."""
    found: list[str] = []
    page.on("request", lambda request: found.append(request.url) if request.method == "POST" else None)
    return found
