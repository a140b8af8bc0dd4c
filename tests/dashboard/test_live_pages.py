"""Every page of the product, open while a team works: after each thing that happens it looks like a fresh load."""

import re
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from dashboard.idempotency import PERSONAL
from tests.dashboard.live_story import STORY
from tests.dashboard.live_support import Dom, Element, World, running_world
from tests.services_fixtures import Page, Valkey, open_page

pytest_plugins = ["tests.services_fixtures"]
MOVING = frozenset({"width", "x", "x1", "x2", "aria-valuenow", "aria-label", "aria-valuetext", "d"})
"""Attributes of drawings that depend on the second in which they are made."""


@pytest.fixture(scope="module")
def world(valkey: Valkey) -> Iterator[World]:
    with running_world(valkey.url, app="tests.dashboard.live_quick:application") as world:
        yield world


def load(world: World, path: str) -> Dom:
    answer = httpx.get(world.server.url + path, cookies={"crewdesk_session": world.session("lead")}, timeout=20)
    assert answer.status_code == 200, f"{path}: {answer.status_code}"
    return Dom.of(answer.text)


def still(node: Element | str, *, drawing: bool = False) -> Any:
    """Return what does not change by itself: no clocks, no form tokens, no lengths in drawings."""
    if isinstance(node, str):
        return re.sub(r"\d+ (?:days?|h|min|s)\b(?: \d+ (?:h|min|s)\b)?", "a span", re.sub(r"\s+", " ", node))
    drawing = drawing or node.tag == "svg"
    attrs = {name: value for name, value in node.attrs if not (drawing and name in MOVING) and name != "aria-current"}
    if node.tag == "time":
        return ("time", attrs.get("datetime") if attrs.get("title") else "a span that began at no one moment")
    inside = [still(child, drawing=drawing) for child in node.children if not _token(child)]
    return (node.tag, tuple(sorted(attrs.items(), key=str)), inside)


def _token(node: Element | str) -> bool:
    return isinstance(node, Element) and dict(node.attrs).get("name") in PERSONAL


def looks(dom: Dom) -> Any:
    body = dom.find("main")
    return [still(child) for child in body.children], *(still(dom.find(name)) for name in ("attention",))


def first_difference(live: Any, fresh: Any, at: str = "") -> str | None:
    """Return where two looks differ and how, or None."""
    if live == fresh:
        return None
    alike = isinstance(live, list | tuple) and isinstance(fresh, list | tuple) and len(live) == len(fresh)
    if not alike:
        return f"{at}: live {str(live)[:300]} | fresh {str(fresh)[:300]}"
    here = f"{at}/{live[0]}" if live and isinstance(live[0], str) else at
    return next(found for one, other in zip(live, fresh, strict=True) if (found := first_difference(one, other, here)))


async def follow(page: Page, dom: Dom, goal: str) -> bool:
    """Apply frames up to `goal`; False where the page is told to fetch itself: more came together than a frame takes."""
    for _ in range(100):
        if page.seq == goal:
            return True
        frame = await page.next()
        if frame.get("resync"):
            return False
        dom.apply(frame)
    raise AssertionError("the page never gets there")


def made_of(dom: Dom) -> list[str | None]:
    """Return the words that say what the page is made of."""
    found: list[str | None] = []
    stack: list[Element | str] = [dom.find("main")]
    while stack:
        node = stack.pop()
        if isinstance(node, Element):
            found += [value for name, value in node.attrs if name == "data-made-of"]
            stack += node.children
    return found


def pinned(dom: Dom) -> str:
    """Return the address that desk.js gives to an inbox without an id: that of the request it shows (test_browser_pages.py)."""
    stack: list[Element | str] = [dom.find("main")]
    while stack:
        node = stack.pop()
        if isinstance(node, Element):
            if (decision := dict(node.attrs).get("data-decision")) is not None:
                return f"/inbox/{decision}/"
            stack += node.children
    return "/inbox/"


async def opened(stack: AsyncExitStack, world: World, dom: Dom) -> Page:
    live = dict(dom.find("main").attrs)["data-live"] or ""
    query = {key: values[0] for key, values in parse_qs(urlsplit(live).query).items()}
    opening = open_page(world.server, query["page"], query.get("arg", ""), since=dom.seq, session=world.session("lead"))
    page: Page = await stack.enter_async_context(opening)
    return page


async def test_every_open_page_looks_like_a_fresh_one_after_everything_that_happens(world: World) -> None:
    paths: dict[str, str] = world("story_begin")
    paths["inbox"] = pinned(load(world, paths["inbox"]))
    wrong: list[str] = []
    told_to_fetch = 0
    async with AsyncExitStack() as stack:
        doms = {name: load(world, path) for name, path in paths.items()}
        pages = {name: await opened(stack, world, dom) for name, dom in doms.items()}
        for number, chapter in enumerate(STORY):
            world("story_tell", number)
            told = ", ".join(step.__name__ for step in chapter)
            for name, path in paths.items():
                fresh = load(world, path)
                before = made_of(doms[name])
                fetches = not await follow(pages[name], doms[name], fresh.seq)
                told_to_fetch += fetches
                if fetches or made_of(doms[name]) != before:
                    # live.js fetches the page again; test_live_js.py shows that it does
                    doms[name], pages[name] = fresh, await opened(stack, world, fresh)
                if (difference := first_difference(looks(doms[name]), looks(fresh))) is not None:
                    wrong.append(f"{path} after {told}: {difference}")
                    doms[name], pages[name] = fresh, await opened(stack, world, fresh)
    assert not wrong, "\n".join(wrong)
    assert told_to_fetch <= len(paths), "pages follow by frames; fetching is the exception"
    log = world.server.log.read_text()
    assert "Traceback" not in log
    assert "failed" not in log
