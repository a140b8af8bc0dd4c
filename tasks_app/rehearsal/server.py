"""The rehearsal server: the Anthropic Messages API on loopback, in a thread, played from scripts."""

import asyncio
import json
import os
import secrets
import socket
import threading
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tasks_app.domain.errors import Unavailable
from tasks_app.rehearsal import play, wire
from tasks_app.rehearsal.conversation import size_tokens
from tasks_app.rehearsal.play import Answer, Refusal, Registered
from tasks_app.rehearsal.position import Variables
from tasks_app.rehearsal.scripts import GENERAL, Part

PING_EVERY_S: Final = 5.0
START_TIMEOUT_S: Final = 10.0
_SUBAGENT_HEADER: Final = "x-claude-code-agent-id"
"""Claude Code 2.1 sends it with every request of a sub-agent, and only there."""
Sleep = Callable[[float], Awaitable[None]]


class _Server(uvicorn.Server):
    """Says when it is up."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()


class RehearsalServer:
    """Plays registered parts under `url(key)`; a stopped one may be started again, on another port.

    `pace` multiplies every wait of a script (0: no waiting). What is registered is kept over a restart.
    """

    def __init__(self, *, pace: float = 1.0, sleep: Sleep = asyncio.sleep) -> None:
        self._pace = pace
        self._sleep = sleep
        self._runs: dict[str, Registered] = {}
        self._lock = threading.Lock()
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None
        self._port = 0

    def start(self) -> int:
        """Start serving on 127.0.0.1 if it is not, and return the port. Raises `Unavailable`."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._launch()
            return self._port

    def stop(self) -> None:
        """End the server and its thread; open answers are dropped. Stopping twice is fine."""
        with self._lock:
            server, thread = self._server, self._thread
            self._server = self._thread = None
        if server is not None and thread is not None:
            server.should_exit = server.force_exit = True
            thread.join(START_TIMEOUT_S)

    def register(self, key: str, part: Part | None, variables: Mapping[str, object], criteria: Sequence[str] = ()) -> None:
        """Play `part` (None: the general one) to whoever asks under `url(key)`.

        `variables` fill `{task}`, `{agent}`, `{attempt}`, `{workspace}` and any other name; `criteria` are those of the task, for
        which `complete` gives evidence. Registering a key again keeps the count of faults already played.
        """
        words = Variables({name: str(value) for name, value in variables.items()}, tuple(criteria))
        with self._lock:
            before = self._runs.get(key)
            self._runs[key] = Registered(part or GENERAL, words, before.spent if before else Counter())

    def unregister(self, key: str) -> None:
        """Forget `key`; requests under it get 404."""
        with self._lock:
            self._runs.pop(key, None)

    def url(self, key: str) -> str:
        """Return the ANTHROPIC_BASE_URL for `key`; starts the server if needed."""
        return f"http://127.0.0.1:{self.start()}/play/{key}"

    def _launch(self) -> None:
        listener = socket.create_server(("127.0.0.1", 0))
        config = uvicorn.Config(
            self._app(), log_config=None, log_level="critical", access_log=False, lifespan="off", timeout_keep_alive=75, ws="none"
        )
        server = _Server(config)
        thread = threading.Thread(target=server.run, args=([listener],), name="rehearsal", daemon=True)
        thread.start()
        if not server.up.wait(START_TIMEOUT_S):
            raise Unavailable("The rehearsal server did not start.")
        self._server, self._thread, self._port = server, thread, listener.getsockname()[1]

    def _app(self) -> Starlette:
        every = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
        return Starlette(
            routes=[
                Route("/play/{key}/v1/messages", self._messages, methods=["POST"]),
                Route("/play/{key}/v1/messages/count_tokens", self._count, methods=["POST"]),
                Route("/{rest:path}", _nothing, methods=every),
            ]
        )

    async def _messages(self, request: Request) -> Response:
        registered = self._runs.get(request.path_params["key"])
        if registered is None:
            return _refuse(Refusal(404, "No rehearsal is registered under this address."))
        body = await _body(request)
        if body is None:
            return _refuse(Refusal(400, "The body is not a JSON object."))
        verdict = play.answer(body, registered, subagent=request.headers.get(_SUBAGENT_HEADER, ""))
        if isinstance(verdict, Refusal):
            return _refuse(verdict)
        model = str(body.get("model") or "")
        if body.get("stream"):
            return StreamingResponse(self._stream(verdict, model), media_type="text/event-stream")
        await self._sleep(verdict.wait_s * self._pace)
        return Response(wire.plain(verdict, model=model), media_type="application/json")

    async def _stream(self, answer: Answer, model: str) -> AsyncIterator[str]:
        yield wire.start(answer, model=model)
        left = answer.wait_s * self._pace
        while left > 0:
            yield wire.ping()
            await self._sleep(min(left, PING_EVERY_S))
            left -= PING_EVERY_S
        for frame in wire.rest(answer):
            yield frame
            await asyncio.sleep(0)  # long texts of one run do not hold up the others

    async def _count(self, request: Request) -> Response:
        return JSONResponse({"input_tokens": size_tokens(await _body(request))})


async def _body(request: Request) -> dict[str, Any] | None:
    try:
        found = json.loads(await request.body())
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _refuse(refusal: Refusal) -> Response:
    return JSONResponse(wire.error_body(refusal), status_code=refusal.status, headers=wire.error_headers(refusal))


async def _nothing(request: Request) -> Response:
    return JSONResponse({})


_shared: tuple[int, RehearsalServer] | None = None
_shared_lock = threading.Lock()


def shared() -> RehearsalServer:
    """Return the one server of this process, started; a forked child gets its own."""
    global _shared
    with _shared_lock:
        if _shared is None or _shared[0] != os.getpid():
            _shared = (os.getpid(), RehearsalServer())
        server = _shared[1]
    server.start()
    return server


def new_key() -> str:
    """Return an opaque key for `register`, not to be guessed by other processes of this machine."""
    return secrets.token_urlsafe(16)
