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
    """What a page asks for when it connects."""

    session_key: str
    page: str
    arg: str
    since: str


class Client:
    """The queue of one socket, bounded by credit: a client that does not acknowledge gets nothing more, then is closed.

    The hub calls `say`, `resync` and `close`; the consumer calls `acknowledge` and runs `pump`. All on one event loop.
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
        self._unacked_bytes = 0
        self._window_start, self._window_count = 0.0, 0

    def say(self, text: str, cursor: str) -> bool:
        """Queue a frame that moves the page to `cursor`; False where the client has no credit (it gets a resync later)."""
        if self.closed or self.behind_since is not None:
            return False
        size = len(text.encode("utf-8", "replace"))  # which a frame that others get, too, has made already
        over = len(self._unacked) >= self._pace.unacked_frames or self._unacked_bytes + size > self._pace.unacked_bytes
        if over and self._unacked:
            self.behind_since = time.monotonic()
            return False
        self._unacked.append((cursor, size))
        self._unacked_bytes += size
        self.cursor = cursor
        self._queue.append(text)
        self.last_sent = time.monotonic()
        self._ready.set()
        return True

    def acknowledge(self, cursor: str) -> bool:
        """Take back credit up to the first frame with this cursor; True when a client that was behind may go on.

        The first, because a client cannot have acknowledged frames of the same cursor that were sent later. Raises BadFrame
        where a client says more than a client has to say.
        """
        self._count()
        known = next((at for at, (sent, _) in enumerate(self._unacked) if sent == cursor), -1)
        for _ in range(known + 1):
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
