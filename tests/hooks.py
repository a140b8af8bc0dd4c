"""A web hook on this machine: takes what is posted, answers as told."""

import contextlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Hook:
    """What came in, and the answers to give (the last one for ever): a status, or None for silence until the end."""

    url: str = ""
    answers: list[int | None] = field(default_factory=lambda: [200])
    posts: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)


@contextlib.contextmanager
def listening(*answers: int | None) -> Iterator[Hook]:
    """A hook that listens while the block lasts."""
    hook = Hook(answers=list(answers) or [200])

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            hook.posts.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            hook.headers.append(dict(self.headers))
            status = hook.answers.pop(0) if len(hook.answers) > 1 else hook.answers[0]
            if status is None:
                hook.over.wait(30)
                return
            self.send_response(status)
            self.send_header("Location", f"{hook.url}/elsewhere")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Nothing on the screen."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hook.url = f"http://127.0.0.1:{server.server_port}/hook"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield hook
    finally:
        hook.over.set()
        server.shutdown()
        thread.join(10)
        server.server_close()
