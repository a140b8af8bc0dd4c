"""One open page: its position, what it was sent and has not acknowledged, and the door to its socket."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from dashboard.live import frames
from dashboard.live.frames import BadFrame, Close
from dashboard.live.pace import Pace

Send = Callable[[dict[str, object]], Awaitable[None]]


@dataclass(frozen=True)
class Ticket:
    """What a page asks for when it connects: what has changed since one cursor, which requests since another."""

    session_key: str
    page: str
    arg: str
    since: str
    heard: str = ""  # older than `since` where the page was fetched in between; empty: the same


class Client:
    """The queue of one socket, bounded by credit: a client that does not acknowledge gets nothing more, then is closed.

    Credit ends with so many frames, bytes or seconds that are not acknowledged: who shows slowly what it gets, gets less.

    The hub calls `say` and `close`; the consumer calls `acknowledge` and runs `pump`. All on one event loop.
    """

    def __init__(self, ticket: Ticket, send: Send, pace: Pace) -> None:
        self.ticket = ticket
        self.cursor = ticket.since
        self.check_at = 0.0
        self.behind_since: float | None = None
        self.last_sent = time.monotonic()
        self.closed = False
        self._send = send
        self._pace = pace
        self._queue: deque[str] = deque()
        self._ready = asyncio.Event()
        self._close: tuple[Close, str] | None = None
        self._unacked: deque[tuple[str, int]] = deque()
        self._silent_since = 0.0  # its last word, or what was sent first after that
        self._unacked_bytes = 0
        self._window_start, self._window_count = 0.0, 0

    def say(self, text: str, cursor: str) -> bool:
        """Queue a frame that moves the page to `cursor`; False where the client has no credit: it is owed what it says."""
        if self.closed or self.behind_since is not None:
            return False
        size = len(text.encode("utf-8", "replace"))  # which a frame that others get, too, has made already
        over = len(self._unacked) >= self._pace.unacked_frames or self._unacked_bytes + size > self._pace.unacked_bytes
        now = time.monotonic()
        slow = now - self._silent_since > self._pace.unacked_s
        if self._unacked and (over or slow):
            self.behind_since = now
            return False
        if not self._unacked:
            self._silent_since = now
        self._unacked.append((cursor, size))
        self._unacked_bytes += size
        self.cursor = cursor
        self._queue.append(text)
        self.last_sent = now
        self._ready.set()
        return True

    def acknowledge(self, cursor: str) -> bool:
        """Take back credit up to the last frame with this cursor; True when a client that was behind may go on.

        The last: fast frames move nobody, so several have one cursor, and who acknowledges what it heard last must owe nothing
        that it has heard, or it waits for frames and the server for its word. Those on their way give their credit back early:
        a few, for the next full frame has another cursor. Raises BadFrame where a client says more than it has to say.
        """
        self._count()
        self._silent_since = time.monotonic()
        known = max((at for at, (sent, _) in enumerate(self._unacked, 1) if sent == cursor), default=0)
        for _ in range(known):
            self._unacked_bytes -= self._unacked.popleft()[1]
        free = len(self._unacked) * 2 <= self._pace.unacked_frames and self._unacked_bytes * 2 <= self._pace.unacked_bytes
        if self.behind_since is None or not free:
            return False
        self.behind_since = None
        return True

    def _count(self) -> None:
        now = time.monotonic()
        if now - self._window_start > self._pace.client_window_s:
            self._window_start, self._window_count = now, 0
        self._window_count += 1
        if self._window_count > self._pace.client_frames:
            raise BadFrame(f"more than {self._pace.client_frames} frames in {self._pace.client_window_s:g} s")

    def close(self, code: Close, reason: str) -> None:
        """End the socket after what is queued; safe to call twice."""
        if not self.closed:
            self.closed = True
            self._close = (code, reason)
            if code == Close.TOO_SLOW:
                self._queue.clear()
            self._ready.set()

    async def pump(self) -> None:
        """Send what is queued until the socket is closed; a slow socket holds up nobody else."""
        while True:
            await self._ready.wait()
            self._ready.clear()
            while self._queue:
                await self._send({"type": "websocket.send", "text": self._queue.popleft()})
            if self._close:
                code, reason = self._close
                if code != Close.TOO_SLOW:
                    await self._send({"type": "websocket.send", "text": frames.error(reason)})
                await self._send({"type": "websocket.close", "code": int(code), "reason": reason[:120]})
                return
