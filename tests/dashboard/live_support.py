"""What tests of the socket share: the test application with its world, and a page's DOM as the browser would have it."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

import httpx
from playwright import sync_api as playwright

from tests.services_fixtures import ROOT, Daphne, Page, open_page, running_daphne

VOID = frozenset({"meta", "link", "input", "br", "img"})


@dataclass
class World:
    """A server, and another process that changes its database."""

    server: Daphne
    writer: "subprocess.Popen[str]"
    facts: dict[str, Any] = field(default_factory=dict)

    def __call__(self, name: str, *args: Any) -> Any:
        """Run a function of live_world.py there and return its answer."""
        assert self.writer.stdin
        assert self.writer.stdout
        self.writer.stdin.write(json.dumps([name, args]) + "\n")
        self.writer.stdin.flush()
        line = self.writer.stdout.readline()
        answer = json.loads(line)
        assert "done" in answer, answer["failed"]
        return answer["done"]

    @property
    def tasks(self) -> list[int]:
        """The three tasks of Atlas."""
        return self.facts["tasks"][:3]

    def session(self, name: str) -> str:
        """The session cookie of `lead`, `viewer` or `other`."""
        return str(self.facts["sessions"][name])

    def load(self, who: str, page: str = "team", arg: str = "atlas") -> "Dom":
        """Load the page as a browser does."""
        cookies = {"crewdesk_session": self.session(who)}
        answer = httpx.get(f"{self.server.url}/page/{page}/{arg + '/' if arg else ''}", cookies=cookies, timeout=20)
        assert answer.status_code == 200, answer.text
        return Dom.of(answer.text)

    def open(self, who: str, dom: "Dom", page: str = "team", arg: str = "atlas", **options: Any) -> Any:
        """Open the page's socket from where the page was loaded."""
        return open_page(self.server, page, arg, since=dom.seq, session=self.session(who), **options)

    def renders(self) -> list[str]:
        """Ids of blocks in the order in which they were rendered, since the last call."""
        path = self.server.home / "renders.log"
        found = path.read_text().split() if path.exists() else []
        path.unlink(missing_ok=True)
        return found


@contextlib.contextmanager
def running_world(redis_url: str, *, app: str = "tests.dashboard.live_app:application", **pace: float) -> Iterator[World]:
    """Yield a fresh world; `pace` changes numbers of `Pace` in the server."""
    env = {f"PACE_{name.upper()}": str(value) for name, value in pace.items()}
    with running_daphne(redis_url, app=app, env=env) as server:
        command = [sys.executable, "-m", "tests.dashboard.live_world"]
        with subprocess.Popen(
            command, cwd=ROOT, env=server.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as writer:
            world = World(server, writer)
            try:
                world.facts = world("make")
                yield world
            finally:
                writer.kill()


@dataclass
class Element:
    """A tag with its children; text is a child too."""

    tag: str
    attrs: tuple[tuple[str, str | None], ...]
    children: list["Element | str"] = field(default_factory=list)

    @property
    def id(self) -> str:
        """The DOM id, or nothing."""
        return dict(self.attrs).get("id") or ""


class Dom(HTMLParser):
    """As much of a browser's document as blocks need: elements by id, replacement, comparison."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Element("", ())
        self._open = [self.root]

    @classmethod
    def of(cls, html: str) -> "Dom":
        """Return the parsed document."""
        dom = cls()
        dom.feed(html)
        dom.close()
        return dom

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, tuple(attrs))
        self._open[-1].children.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self._open[-1].children.append(data.strip())

    @property
    def seq(self) -> str:
        """The page's cursor."""
        return str(dict(self.find("main").attrs)["data-seq"])

    @property
    def main(self) -> list[Element | str]:
        """What the person sees."""
        return self.find("main").children

    def find(self, name: str) -> Element:
        """Return the element of this id."""
        found = self._find(self.root, name)
        assert found, f"no #{name}"
        return found[1]

    def text(self, name: str) -> str:
        """Return all text in an element."""
        return _text(self.find(name))

    def apply(self, frame: dict[str, Any]) -> None:
        """Do with a frame's HTML what live.js does: replace by id, ignore what is not on the page, null removes."""
        for name, html in frame.get("html", {}).items():
            if not (found := self._find(self.root, name)):
                continue
            parent, element = found
            at = parent.children.index(element)
            parent.children[at : at + 1] = [] if html is None else Dom.of(html).root.children

    def _find(self, inside: Element, name: str) -> tuple[Element, Element] | None:
        for child in inside.children:
            if isinstance(child, Element):
                if child.id == name:
                    return inside, child
                if found := self._find(child, name):
                    return found
        return None


def _text(element: Element) -> str:
    return " ".join(child if isinstance(child, str) else _text(child) for child in element.children)


async def settle(world: World, page: Page, dom: Dom, who: str = "lead", *, patience_s: float = 10.0) -> None:
    """Apply frames until the page stands where the logs stand now; a resync loads it, as live.js does."""
    goal = world.load(who).seq
    for frame in page.frames:
        dom.apply(frame)
    while page.seq != goal:
        dom.apply(await page.next(patience_s=patience_s))


@contextlib.contextmanager
def page_of_our_own(
    world: World, chromium: playwright.Browser
) -> Iterator[tuple[playwright.Page, list[playwright.WebSocketRoute]]]:
    """A signed-in page in a browser that waits for its socket: the test's own, as are those that it opens later."""
    context, sockets = chromium.new_context(), list[playwright.WebSocketRoute]()
    context.add_cookies([{"name": "crewdesk_session", "value": world("sign_in", "lead"), "url": world.server.url}])
    page = context.new_page()
    page.route_web_socket("**/live/**", lambda socket: sockets.append(socket))
    page.goto(f"{world.server.url}/page/team/atlas/")
    page.wait_for_function("() => document.documentElement.dataset.conn === 'connecting'")
    yield page, sockets
    context.close()
