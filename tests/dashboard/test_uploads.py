"""No request brings more than its address takes: it is answered in words, and nothing of it is stored on the way."""

import asyncio
import contextlib
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from dashboard import spooling, uploads
from tests.services_fixtures import Daphne, running_daphne

MIB = 2**20


@pytest.fixture(scope="module")
def server() -> Iterator[Daphne]:
    """It needs no Redis for what is asked here, and there is none."""
    with tempfile.TemporaryDirectory() as folder:
        env = {"CREWDESK_IMPORT_MB": "4", "TMPDIR": folder, "CREWDESK_INSPECTABLE": "1"}  # its open files are looked at
        with running_daphne("redis://127.0.0.1:9/0", env=env) as one:
            yield one


@pytest.mark.parametrize("path", ["/sign-in/", "/api/teams", "/nope/", "/static/nope.css", "/teams/new/plan/"])
@pytest.mark.parametrize("chunked", [False, True])
def test_every_address_says_413_in_words(server: Daphne, path: str, chunked: bool) -> None:
    body = b"x" * (3 * MIB)
    answer = httpx.post(f"{server.url}{path}", content=iter([body]) if chunked else body, timeout=30)
    assert answer.status_code == 413
    assert "At most 2 MB can be sent at once" in answer.text
    if path.startswith("/api/"):
        assert answer.json()["error"]["code"] == "too_large"


def test_the_file_of_a_team_may_be_larger_and_has_a_limit_of_its_own(server: Daphne) -> None:
    path = f"{server.url}/api/teams/import"
    assert httpx.post(path, content=b"x" * (3 * MIB), timeout=30).status_code == 401
    refused = httpx.post(path, content=b"x" * (5 * MIB), timeout=30)
    assert (refused.status_code, "At most 4 MB" in refused.text) == (413, True)


def test_a_body_that_is_small_enough_arrives(server: Daphne) -> None:
    answer = httpx.post(f"{server.url}/sign-in/", content=b"x" * 2 * MIB, timeout=30)
    assert answer.status_code == 403  # no token


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="open files are those that Linux tells")
@pytest.mark.parametrize("chunked", [False, True])
def test_what_is_beyond_is_on_no_disk_and_who_sends_without_end_is_cut_off(server: Daphne, chunked: bool) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        how = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {10**11}"
        connection.sendall(f"POST /sign-in/ HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n{how}\r\n\r\n".encode())
        sent, most = 0, 0
        with contextlib.suppress(ConnectionError):
            while sent < 300 * MIB:
                connection.sendall(b"%x\r\n%s\r\n" % (MIB, b"x" * MIB) if chunked else b"x" * MIB)
                sent += MIB
                most = max(most, spooled(server))
    assert 64 * MIB < sent < 100 * MIB  # some is in the sockets
    assert most <= (2 * MIB + 1 if chunked else 0)
    assert httpx.get(f"{server.url}/sign-in/").status_code == 200


def spooled(server: Daphne) -> int:
    """Return how large a file without a name it holds in its temporary folder is: Twisted's are deleted at once."""
    assert server.process is not None
    sizes = [0]
    for descriptor in Path(f"/proc/{server.process.pid}/fd").iterdir():
        try:
            if str(descriptor.readlink()).startswith(server.env["TMPDIR"]):
                sizes.append(descriptor.stat().st_size)
        except OSError:
            continue
    return max(sizes)


async def _asked(*bodies: bytes, headers: tuple[tuple[bytes, bytes], ...] = ()) -> tuple[bytes, bool, str]:
    """Return what an application behind the limit gets: the body, whether it is flagged, the message that comes after it."""
    messages = [{"type": "http.request", "body": body, "more_body": n < len(bodies)} for n, body in enumerate(bodies, 1)]
    waiting = iter([*messages, {"type": "http.disconnect"}])
    found: list[Any] = []

    async def receive() -> Any:
        return next(waiting)

    async def application(scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message["body"], message["more_body"]
        found.extend((body, scope[uploads.FLAG], (await receive())["type"]))

    await uploads.Bounded(application)({"path": "/", "headers": list(headers)}, receive, lambda message: asyncio.sleep(0))
    return tuple(found)  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("limit", "says"),
    [
        (2**21, "At most 2 MB"),
        (512 * MIB, "At most 512 MB"),
        (2048 * MIB, "At most 2,048 MB"),
        (32 * 1024 * MIB, "At most 32,768 MB"),
        (MIB - 1, "At most 1,023 kB"),
        (4, "At most 4 bytes"),
    ],
)
def test_a_limit_is_said_in_figures_that_people_read(limit: int, says: str) -> None:
    assert uploads.too_much(limit) == f"{says} can be sent at once."


async def test_a_server_that_passes_bodies_on_in_parts_is_counted(settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 4
    assert await _asked(b"ab", b"cd") == (b"abcd", False, "http.disconnect")
    assert await _asked(b"ab", b"cde", b"f") == (b"ab", True, "http.disconnect")
    assert await _asked(b"abcde", headers=((b"content-length", b"5"),)) == (b"", True, "http.disconnect")


def test_without_daphne_nothing_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(spooling.sys.modules, "daphne.http_protocol", raising=False)
    spooling.bound()
