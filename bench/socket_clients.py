"""Many pages without a browser: `python -m bench.socket_clients` reads its orders as JSON on standard input.

Orders: {"url", "origin", "cookie", "since", "shown", "clients", "period_s", "seconds"}; `shown` is the last number of each agent
on the page when it was loaded. Each client follows frames and acknowledges them as live.js does. Prints `ready` when all are
connected, and at the end JSON: lateness in ms, gaps, the last numbers, and in words each client that ended before its time.
"""

import asyncio
import contextlib
import json
import sys
import time
from collections import Counter, deque
from typing import Any

import websockets.asyncio.client
from websockets.exceptions import ConnectionClosedOK

from bench import marks
from bench.marks import Seen

CONNECT_AT_ONCE = 20
QUIET_S = 3.0
READY_S, LEAVE_S = 120.0, 20.0
"""Within so long all have connected, and have left."""
ACK_S = 1.0
ACK_SIZE = 150_000


class Client:
    """One page."""

    def __init__(self, orders: dict[str, Any]) -> None:
        self.orders = orders
        self.seen = Seen(orders["period_s"], dict(orders["shown"]))
        self.gaps = self.frames = 0
        self.died = ""
        """Why it ended before its time; empty where it did not."""
        self._seq = orders["since"]
        self._acked_at, self._unacked = 0.0, 0
        self._later: asyncio.Task[None] | None = None

    async def live(self, gate: asyncio.Semaphore, ready: asyncio.Queue[None], until: asyncio.Event) -> None:
        """Connect, say so, and follow until the end. `died` says what ended it before that: it raises nothing."""
        try:
            await self._live(gate, ready, until)
        except Exception as error:
            # whatever it is, a page that is gone shows nothing more: the report has to say so
            self.died = f"{type(error).__name__}: {error}"
            ready.put_nowait(None)  # nobody has to wait for it

    async def _live(self, gate: asyncio.Semaphore, ready: asyncio.Queue[None], until: asyncio.Event) -> None:
        headers = {"Cookie": self.orders["cookie"]}
        async with gate:
            connection = await websockets.asyncio.client.connect(
                self.orders["url"],
                origin=self.orders["origin"],
                additional_headers=headers,
                max_size=None,
                compression=None,
                open_timeout=60,
            )
        ready.put_nowait(None)
        async with connection:
            following, ending = asyncio.create_task(self._follow(connection)), asyncio.create_task(until.wait())
            await asyncio.wait({following, ending}, return_when="FIRST_COMPLETED")
            if following.done():
                following.result()
            if not until.is_set():
                raise ConnectionError(f"the server closed the socket: {connection.close_code} {connection.close_reason}".rstrip())

    async def _follow(self, connection: websockets.asyncio.client.ClientConnection) -> None:
        while raw := await _next(connection):
            now, (head, _, rest) = time.time(), raw.partition(b',"html":')
            frame = json.loads(head + b"}" if rest else head)
            self.frames += 1
            if "prev" in frame and frame["prev"] != self._seq:
                self.gaps += 1
            self._seq = frame.get("seq", self._seq)
            self.seen.note(_marks(rest), now)
            await self._credit(connection, now, len(raw))

    async def _credit(self, connection: websockets.asyncio.client.ClientConnection, now: float, size: int) -> None:
        """Acknowledge by the rule of live.js."""
        self._unacked += size
        if now - self._acked_at >= ACK_S or self._unacked > ACK_SIZE:
            await self._ack(connection)
        elif self._later is None:
            self._later = asyncio.create_task(self._ack(connection, ACK_S))

    async def _ack(self, connection: websockets.asyncio.client.ClientConnection, pause_s: float = 0.0) -> None:
        if pause_s:
            await asyncio.sleep(pause_s)
        elif self._later is not None:
            self._later.cancel()
        self._later, self._acked_at, self._unacked = None, time.time(), 0
        with contextlib.suppress(ConnectionClosedOK):  # we are leaving
            await connection.send(json.dumps({"ack": self._seq}))


async def _next(connection: websockets.asyncio.client.ClientConnection) -> bytes:
    """Return the next frame undecoded; nothing where we are leaving."""
    try:
        return bytes(await connection.recv(decode=False))
    except ConnectionClosedOK:
        return b""


_recent: deque[tuple[bytes, list[tuple[int, str, float]]]] = deque(maxlen=16)


def _marks(rest: bytes) -> list[tuple[int, str, float]]:
    """What stands in a frame, read once for all clients that get it: they are many browsers on one processor.

    To compare it with the last few is cheaper than to hash it.
    """
    for known, found in _recent:
        if known == rest:
            return found
    _recent.appendleft((rest, marks.found(rest.decode())))
    return _recent[0][1]


def thinned(late: list[float], most: int = 5000) -> list[float]:
    """Return about `most` of these sorted samples, evenly, the largest among them: quantiles stay, and so does the maximum."""
    step = max(1, len(late) // most)
    return late[::-step][::-1]


async def main(orders: dict[str, Any]) -> dict[str, Any]:
    """Run all clients for the time ordered."""
    clients = [Client(orders) for _ in range(orders["clients"])]
    gate, until, ready = asyncio.Semaphore(CONNECT_AT_ONCE), asyncio.Event(), asyncio.Queue[None]()
    tasks = [asyncio.create_task(client.live(gate, ready, until)) for client in clients]
    async with asyncio.timeout(READY_S):
        for _ in clients:
            await ready.get()
    print("ready", flush=True)
    await asyncio.sleep(orders["seconds"] + QUIET_S)
    until.set()
    await asyncio.wait(tasks, timeout=LEAVE_S)
    for client, task in zip(clients, tasks, strict=True):
        if not task.done():
            client.died = f"it did not leave within {LEAVE_S:g} s"
            task.cancel()
    late = sorted(each for client in clients for each in client.seen.late_ms)
    return {
        "late_ms": thinned(late),
        "count": len(late),
        "gaps": sum(client.gaps for client in clients),
        "frames": sum(client.frames for client in clients),
        "died": Counter(client.died for client in clients if client.died),
        "last": [client.seen.last for client in clients],
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(json.loads(sys.stdin.readline())))), flush=True)
