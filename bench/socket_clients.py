"""Many pages without a browser: `python -m bench.socket_clients` reads its orders as JSON on standard input.

Orders: {"url", "origin", "cookie", "since", "clients", "period_s", "seconds"}. Each client follows frames and acknowledges
them as live.js does. Prints `ready` when all are connected, and at the end JSON: lateness in ms, gaps, and the last numbers.
"""

import asyncio
import contextlib
import json
import sys
import time
from functools import lru_cache
from typing import Any

import websockets.asyncio.client
from websockets.exceptions import ConnectionClosed, ConnectionClosedOK

from bench import marks
from bench.marks import Seen

CONNECT_AT_ONCE = 20
QUIET_S = 3.0


class Client:
    """One page."""

    def __init__(self, orders: dict[str, Any]) -> None:
        self.orders = orders
        self.seen = Seen(orders["period_s"])
        self.gaps = self.frames = 0
        self.closed = ""
        self._seq = orders["since"]

    async def live(self, gate: asyncio.Semaphore, ready: asyncio.Queue[None], until: asyncio.Event) -> None:
        """Connect, say so, and follow until the end."""
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
        try:
            async with connection:
                await asyncio.wait(
                    {asyncio.create_task(self._follow(connection)), asyncio.create_task(until.wait())},
                    return_when="FIRST_COMPLETED",
                )
        except ConnectionClosed as closed:
            self.closed = str(closed)

    async def _follow(self, connection: websockets.asyncio.client.ClientConnection) -> None:
        async for raw in connection:
            now, (head, _, rest) = time.time(), str(raw).partition(',"html":')
            frame = json.loads(head + "}" if rest else head)
            self.frames += 1
            if "prev" in frame and frame["prev"] != self._seq:
                self.gaps += 1
            self._seq = frame.get("seq", self._seq)
            self.seen.note(_marks(rest), now)
            with contextlib.suppress(ConnectionClosedOK):  # we are leaving
                await connection.send(json.dumps({"ack": self._seq}))


@lru_cache(maxsize=64)
def _marks(rest: str) -> list[tuple[int, str, float]]:
    """What stands in a frame, read once for all clients that get it: they are many browsers on one processor."""
    return marks.found(rest)


async def main(orders: dict[str, Any]) -> dict[str, Any]:
    """Run all clients for the time ordered."""
    clients = [Client(orders) for _ in range(orders["clients"])]
    gate, until, ready = asyncio.Semaphore(CONNECT_AT_ONCE), asyncio.Event(), asyncio.Queue[None]()
    tasks = [asyncio.create_task(client.live(gate, ready, until)) for client in clients]
    for _ in clients:
        await asyncio.wait_for(ready.get(), 120)
    print("ready", flush=True)
    await asyncio.sleep(orders["seconds"] + QUIET_S)
    until.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    late = sorted(each for client in clients for each in client.seen.late_ms)
    return {
        "late_ms": late[:: max(1, len(late) // 5000)],
        "count": len(late),
        "gaps": sum(client.gaps for client in clients),
        "frames": sum(client.frames for client in clients),
        "closed": [client.closed for client in clients if client.closed][:3],
        "last": [client.seen.last for client in clients],
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(json.loads(sys.stdin.readline())))), flush=True)
