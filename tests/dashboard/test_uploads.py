"""No request brings more than its address takes: it is answered in words, and nothing of it is stored on the way."""

import asyncio
import contextlib
import io
import socket
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from dashboard import spooling, uploads
from tests.services_fixtures import Daphne, running_daphne, until

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


@contextlib.contextmanager
def sending(server: Daphne, path: str, *, session: str, chunked: bool = False) -> Iterator[socket.socket]:
    """Yield a connection on which a body of 3 MB has come, but for its last byte."""
    size = 3 * MIB
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        how = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {size}"
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nCookie: crewdesk_session={session}\r\n{how}\r\n\r\n"
        body = b"x" * (size - 1)
        connection.sendall(head.encode() + (b"%x\r\n" % size if chunked else b"") + body)
        yield connection


def signed_in(server: Daphne, name: str) -> str:
    """Return the session of somebody who has just signed in."""
    code = """
import json
from django.contrib.auth import get_user_model
from django.test import Client
browser = Client()
user = get_user_model().objects.create(username="NAME", is_superuser=True)
browser.force_login(user, "django.contrib.auth.backends.ModelBackend")
print(json.dumps(browser.cookies["crewdesk_session"].value))
"""
    return str(server.python(code.replace("NAME", name)))


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="open files are those that Linux tells")
@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("session", ["", "0123456789abcdef0123456789abcdef"])
@pytest.mark.parametrize(("path", "status"), [(uploads.IMPORTS[0], "302"), (uploads.IMPORTS[1], "401")])
def test_of_who_is_not_signed_in_no_team_is_kept_on_the_disk(
    server: Daphne, path: str, status: str, session: str, chunked: bool
) -> None:
    with sending(server, path, session=session, chunked=chunked) as connection:
        until(lambda: spooled(server))
        most = spooled(server)
        connection.sendall(b"x\r\n0\r\n\r\n" if chunked else b"x")
        answer = b""
        while part := connection.recv(2**16):
            most = max(most, spooled(server))
            answer += part
            if answer.startswith(b"HTTP/1.1 ") and b"\r\n\r\n" in answer:
                break
    assert answer.split()[1].decode() == status
    assert most <= 2 * MIB + 1


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="open files are those that Linux tells")
def test_of_one_account_one_team_comes_at_a_time_and_the_next_one_when_that_is_over(server: Daphne) -> None:
    mine, theirs = signed_in(server, "anna"), signed_in(server, "ben")
    with sending(server, uploads.IMPORTS[0], session=mine):
        until(lambda: large(server) == 1)
        with sending(server, uploads.IMPORTS[1], session=mine):
            with sending(server, uploads.IMPORTS[1], session=theirs):
                until(lambda: large(server) == 2)
            until(lambda: len(sizes(server)) == 2)
            assert large(server) == 1
    until(lambda: not sizes(server))


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="open files are those that Linux tells")
def test_who_waited_for_a_turn_gets_it(server: Daphne) -> None:
    mine, path = signed_in(server, "carl"), uploads.IMPORTS[1]
    with contextlib.ExitStack() as second:
        with sending(server, path, session=mine):
            until(lambda: large(server) == 1)
            waiting = second.enter_context(sending(server, path, session=mine))
        until(lambda: len(sizes(server)) == 1 == large(server))
        waiting.sendall(b"x")
        assert waiting.recv(2**16).split()[1] in (b"403", b"422")  # it has no token: it is read and refused


def test_a_large_file_of_who_is_signed_in_arrives_to_its_last_byte(server: Daphne) -> None:
    packed, token = io.BytesIO(), "t" * 32
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("odd name", b"x" * 3 * MIB)
    cookies = {"crewdesk_session": signed_in(server, "dora"), "crewdesk_csrf": token}
    answer = httpx.post(
        f"{server.url}{uploads.IMPORTS[1]}",
        files={"file": packed.getvalue()},
        cookies=cookies,
        headers={"X-CSRFToken": token},
        timeout=30,
    )
    assert answer.status_code == 422
    assert "“odd name” is no name that such a file has" in answer.json()["error"]["message"], "its end is the table of names"


async def test_a_server_that_asks_first_lets_one_large_body_of_an_account_wait_for_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def whose(session: str) -> int | None:
        return int(session) if session else None

    begun: asyncio.Queue[Any] = asyncio.Queue()
    over = asyncio.Event()

    async def application(scope: Any, receive: Any, send: Any) -> None:
        begun.put_nowait(await receive())
        await over.wait()

    async def receive() -> Any:
        return {"type": "http.request", "body": b"x" * (3 * MIB), "more_body": False}

    def request(session: str) -> Any:
        headers = [(b"cookie", f"crewdesk_session={session}".encode())]
        return bounded({"path": uploads.IMPORTS[1], "headers": headers}, receive, lambda message: asyncio.sleep(0))

    monkeypatch.setattr(uploads, "whose", whose)
    bounded = uploads.Bounded(application)
    waiting = [asyncio.ensure_future(request(session)) for session in ("7", "7", "8", "")]
    first = [len((await begun.get())["body"]) for _ in range(3)]
    assert (sorted(first), begun.empty()) == ([0, 3 * MIB, 3 * MIB], True), "nobody's is not kept"
    over.set()
    await asyncio.gather(*waiting)
    assert begun.qsize() == 1


def spooled(server: Daphne) -> int:
    """Return how large the largest file is that it holds in its temporary folder without a name: Twisted's have none."""
    return max(sizes(server), default=0)


def large(server: Daphne) -> int:
    """Return how many of them are larger than anybody may send; the last bytes of one may not be written yet."""
    return sum(size > 2 * MIB + 1 for size in sizes(server))


def sizes(server: Daphne) -> list[int]:
    """Return how large each of them is."""
    assert server.process is not None
    sizes = []
    for descriptor in Path(f"/proc/{server.process.pid}/fd").iterdir():
        try:
            if str(descriptor.readlink()).startswith(server.env["TMPDIR"]):
                sizes.append(descriptor.stat().st_size)
        except OSError:
            continue
    return sizes


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
