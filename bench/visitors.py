"""People at the pages while all below them is replaced: open pages that reconnect as `live.js` does, and somebody who writes.

Who writes keeps the words until the server has said that it has them, and sends them again where it did not.
"""

import asyncio
import contextlib
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import httpx
import websockets.asyncio.client
from django.conf import settings
from django.db import connection
from websockets.exceptions import WebSocketException
from websockets.typing import Origin

from bench import browser, crew, desk
from tasks_app.models import Message, Task, Team
from tasks_app.services import actions

AGAIN_S = 0.5
"""`live.js` connects again after about so long, then after twice that, and so on."""
WRITE_EVERY_S = 0.15
CATCH_UP_S = 20.0
ANSWER_S = 20.0
"""A server that is replaced answers again within much less."""
LAST_WORDS_S = 10.0
"""So long a form is sent again after the end."""
LEAVE_S = 45.0
"""Longer than any request waits for its answer."""


@dataclass
class Page:
    """One open page: where it stands, how long each of its gaps was, and how often it had to fetch itself again."""

    seq: str
    gaps_s: list[float] = field(default_factory=list)
    fetched: int = 0


class Visitors:
    """From `begin` to `end`. `waits_s`: how long each form took until it was accepted; `failed`: what was sent again, and why.

    `died`: what ended one of them before `end`, in words.
    """

    def __init__(self, port: int, team: Team, *, pages: int) -> None:
        self.port, self.team = port, team
        self.waits_s: list[float] = []
        self.failed: Counter[str] = Counter()
        self.twice = 0
        self.died: list[str] = []
        self._words: list[str] = []
        self._refused: list[str] = []
        self._stop, self._stop_writing, self._give_up = threading.Event(), threading.Event(), threading.Event()
        self._client = browser.lead(port)
        self.pages = [Page(self.cursor()) for _ in range(pages)]
        parts = {"who writes": self._write, "the open pages": lambda: asyncio.run(self._open_all())}
        self._threads = [
            threading.Thread(target=self._watched, args=(who, do), name=who, daemon=True) for who, do in parts.items()
        ]

    def begin(self) -> None:
        """Open the pages and begin to write."""
        for thread in self._threads:
            thread.start()

    def end(self) -> list[str]:
        """Stop writing, let the pages catch up and return what was lost."""
        self._stop_writing.set()
        self._threads[0].join(LAST_WORDS_S)
        self._give_up.set()
        lost = self._behind()
        self.leave()
        lost += [f"a form was not accepted: {words}" for words in self._refused]
        if not self._words:
            lost.append("no form was accepted")
        stored = Counter(Message.objects.filter(team=self.team).values_list("body", flat=True))
        lost += [f"words that were accepted are not stored: {words}" for words in self._words if not stored[words]]
        self.twice = sum(count - 1 for count in stored.values())
        return lost

    def leave(self) -> None:
        """Go, whatever is still under way; who does not come along is said in `died`."""
        for event in (self._stop_writing, self._give_up, self._stop):
            event.set()
        end = time.monotonic() + LEAVE_S
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(0.0, end - time.monotonic()))
        self.died += [f"{thread.name} did not leave within {LEAVE_S:g} s" for thread in self._threads if thread.is_alive()]
        self._client.close()

    def cursor(self) -> str:
        """Return where the Overview stands now; asks again for `ANSWER_S`. Raises `desk.TooLate` where that was in vain."""
        return desk.until(self._asked, seconds=ANSWER_S, pause_s=AGAIN_S, words="the Overview")

    def _asked(self) -> str:
        with contextlib.suppress(httpx.HTTPError):
            said = self._client.get("/", timeout=ANSWER_S)
            if said.status_code == 200:
                return said.text.partition('data-seq="')[2].partition('"')[0]
        if self._stop.is_set():
            raise desk.TooLate("the Overview did not come before we left")
        return ""

    def _watched(self, who: str, do: Callable[[], None]) -> None:
        try:
            do()
        except Exception as error:
            # a thread that is gone does nothing more: the report has to say so
            self.died.append(f"{who} ended by {type(error).__name__}: {error}")

    # writing -------------------------------------------------------------------------------------------------------------

    def _write(self) -> None:
        number = 0
        with browser.lead(self.port) as client:
            while not self._stop_writing.wait(WRITE_EVERY_S):
                number += 1
                self._send(client, f"Word {number}")

    def _send(self, client: httpx.Client, words: str) -> None:
        begun = time.monotonic()
        while not self._give_up.is_set():
            why = _post(client, self.team.slug, words)
            if not why:
                self._words.append(words)
                self.waits_s.append(time.monotonic() - begun)
                return
            self.failed[why] += 1
            self._give_up.wait(AGAIN_S)
        self._refused.append(words)

    # reading -------------------------------------------------------------------------------------------------------------

    def _behind(self) -> list[str]:
        """Let the pages catch up; returns in words what they do not show."""
        try:
            with contextlib.suppress(desk.TooLate):
                desk.until(self._caught_up, seconds=CATCH_UP_S, pause_s=0.3, words="the pages")
            now = self.cursor()
        except desk.TooLate as late:
            return [f"how it ended is not known: {late}"]
        behind = sum(page.seq != now for page in self.pages)
        return [f"{behind} open pages do not show how it ended"] if behind else []

    def _caught_up(self) -> bool:
        now = self.cursor()
        return all(page.seq == now for page in self.pages)

    async def _open_all(self) -> None:
        following = [asyncio.create_task(self._keep_open(page)) for page in self.pages]
        while not self._stop.is_set():  # noqa: ASYNC110 - the event belongs to another thread
            await asyncio.sleep(0.1)
        for task in following:
            task.cancel()
        ends = await asyncio.gather(*following, return_exceptions=True)
        self.died += [f"an open page ended by {type(end).__name__}: {end}" for end in ends if isinstance(end, Exception)]

    async def _keep_open(self, page: Page) -> None:
        cookie = f"{settings.SESSION_COOKIE_NAME}={await asyncio.to_thread(_session)}"
        lost_at, tries = 0.0, 0
        while True:
            url = f"ws://127.0.0.1:{self.port}/live/?page=overview&since={page.seq}"
            with contextlib.suppress(OSError, WebSocketException, TimeoutError):
                async with websockets.asyncio.client.connect(
                    url, origin=Origin(f"http://127.0.0.1:{self.port}"), additional_headers={"Cookie": cookie}, max_size=None
                ) as socket:
                    async for raw in socket:
                        if lost_at:
                            page.gaps_s.append(time.monotonic() - lost_at)
                        lost_at, tries = 0.0, 0
                        if not await self._hear(page, socket, json.loads(raw)):
                            break
            lost_at = lost_at or time.monotonic()
            await asyncio.sleep(min(30.0, AGAIN_S * 2**tries) * random.uniform(0.7, 1.3))
            tries += 1

    async def _hear(self, page: Page, socket: websockets.asyncio.client.ClientConnection, frame: dict[str, object]) -> bool:
        """Take a frame in; False: it does not follow, and the page has fetched itself again."""
        if frame.get("resync") or frame.get("prev", page.seq) != page.seq:
            page.fetched += 1
            page.seq = await asyncio.to_thread(self.cursor)
            return False
        page.seq = str(frame.get("seq", page.seq))
        await socket.send(json.dumps({"ack": page.seq}))
        return True


def _post(client: httpx.Client, slug: str, words: str) -> str:
    """Send the form; returns why it was not accepted, or nothing. Sent again it carries the same key, as `desk.js` does it."""
    try:
        said = client.post(f"/teams/{slug}/message/", data={"to": "agent01", "body": words}, headers={"Idempotency-Key": words})
    except httpx.HTTPError as error:
        return type(error).__name__
    return "" if said.status_code == 302 else f"HTTP {said.status_code}"


def _session() -> str:
    try:
        return crew.session()
    finally:
        connection.close()


def idle_team() -> Team:
    """A team that takes messages and does nothing, for its one task is done; to be made before there is a worker."""
    team = crew.start(crew.plan("Visitors", agents=1, tasks=[{"title": "Nothing", "criteria": ["done"]}], parallel=1))
    actions.complete_by_hand(Task.objects.get(team=team).pk, actor="user:lead")
    return team
