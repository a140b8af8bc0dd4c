"""Whose address counts where a proxy stands in front: the person's, as the proxy of the settings says it, and nobody else."""

import asyncio
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from dashboard import forwarded
from tests.services_fixtures import ROOT, Daphne, free_port, running_daphne, until

LEAD = "from django.contrib.auth import get_user_model; get_user_model().objects.create_user('anna', password='right-horse-9')"


async def client_of(proxies: list[str], peer: Any, *headers: str) -> Any:
    found: list[Any] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        found.append(scope["client"])

    scope = {"client": peer, "headers": [(b"x-forwarded-for", header.encode()) for header in headers]}
    await forwarded.Forwarded(application, proxies)(scope, None, None)  # type: ignore[arg-type]
    return found[0] and found[0][0]


@pytest.mark.parametrize(
    ("proxies", "peer", "headers", "expected"),
    [
        ([], "10.0.0.2", ["192.0.2.7"], "10.0.0.2"),
        (["10.0.0.3"], "10.0.0.2", ["192.0.2.7"], "10.0.0.2"),
        (["10.0.0.2"], "10.0.0.2", ["192.0.2.7"], "192.0.2.7"),
        (["10.0.0.0/8"], "10.0.0.2", ["192.0.2.7"], "192.0.2.7"),
        (["10.0.0.0/8"], "::ffff:10.0.0.2", ["192.0.2.7"], "192.0.2.7"),
        (["localhost"], "127.0.0.1", ["2001:db8::7"], "2001:db8::7"),
        (["localhost", "no-such-name.invalid"], "10.0.0.2", ["192.0.2.7"], "10.0.0.2"),
        (["10.0.0.2"], "10.0.0.2", ["198.51.100.1, 192.0.2.7"], "192.0.2.7"),
        (["10.0.0.2"], "10.0.0.2", ["198.51.100.1", "192.0.2.7"], "192.0.2.7"),
        (["10.0.0.2"], "10.0.0.2", ["192.0.2.7:51234"], "192.0.2.7"),
        (["10.0.0.2"], "10.0.0.2", ["198.51.100.1:1, [2001:db8::7]:443"], "2001:db8::7"),
        (["10.0.0.2"], "10.0.0.2", ["[2001:db8::7]"], "2001:db8::7"),
        (["10.0.0.2"], "10.0.0.2", ["2001:db8::7:443"], "2001:db8::7:443"),
        (["10.0.0.2"], "10.0.0.2", ["[]:443"], "10.0.0.2"),
        (["10.0.0.2"], "10.0.0.2", ["192.0.2.7:"], "10.0.0.2"),
        (["10.0.0.2"], "10.0.0.2", ["nonsense"], "10.0.0.2"),
        (["10.0.0.2"], "10.0.0.2", [], "10.0.0.2"),
    ],
)
async def test_the_header_is_believed_from_the_proxy_alone(proxies: Any, peer: str, headers: Any, expected: str) -> None:
    assert await client_of(proxies, [peer, 4711], *headers) == expected


async def test_who_comes_by_a_unix_socket_has_no_address_and_is_no_proxy() -> None:
    assert await client_of(["10.0.0.2"], None, "192.0.2.7") is None


class Behind:
    """Requests of one person by a proxy whose name is looked up; `who` are the addresses that counted."""

    def __init__(self, *names: str) -> None:
        self.who: list[str] = []
        self.looked_up = 0
        self.there: dict[str, str | OSError] = {"proxy": "10.0.0.2"}
        self.slow = asyncio.Event()
        self.slow.set()
        self.served = forwarded.Forwarded(self._application, names)

    async def _application(self, scope: Any, receive: Any, send: Any) -> None:
        self.who.append(scope["client"][0])

    async def resolve(self, name: str, _port: None) -> Any:
        self.looked_up += 1
        await self.slow.wait()
        found = self.there.get(name, socket.gaierror(socket.EAI_NONAME, "no such name"))
        if isinstance(found, OSError):
            raise found
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (found, 0))]

    async def ask(self, peer: str = "10.0.0.2") -> str:
        scope = {"client": [peer, 1], "headers": [(b"x-forwarded-for", b"192.0.2.7")]}
        await self.served(scope, None, None)  # type: ignore[arg-type]
        return self.who[-1]


@pytest.fixture
async def behind(monkeypatch: pytest.MonkeyPatch) -> Behind:
    one = Behind("proxy", "other")
    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", one.resolve)
    return one


async def test_who_comes_during_the_first_look_up_waits_for_it(behind: Behind) -> None:
    behind.slow.clear()
    async with asyncio.TaskGroup() as together:
        for _ in range(4):
            together.create_task(behind.ask())
        await asyncio.sleep(0.05)
        assert behind.who == []
        behind.slow.set()
    assert behind.who == ["192.0.2.7"] * 4
    assert behind.looked_up == 2, "each name once"


async def test_a_proxy_stays_known_while_the_name_server_is_away_and_is_known_by_its_new_address(
    behind: Behind, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await behind.ask() == "192.0.2.7"
    monkeypatch.setattr(forwarded, "KEPT_S", -1.0)
    behind.there = {"proxy": socket.gaierror(socket.EAI_AGAIN, "later"), "other": "10.0.0.9"}
    assert [await behind.ask(), await behind.ask("10.0.0.9")] == ["192.0.2.7"] * 2
    behind.there = {"proxy": "10.0.0.3"}
    assert [await behind.ask("10.0.0.3"), await behind.ask("10.0.0.2")] == ["192.0.2.7", "10.0.0.2"]


async def test_an_address_whose_name_is_gone_is_believed_no_more(behind: Behind, monkeypatch: pytest.MonkeyPatch) -> None:
    assert await behind.ask() == "192.0.2.7"
    monkeypatch.setattr(forwarded, "KEPT_S", -1.0)
    behind.there = {}
    assert await behind.ask() == "10.0.0.2"


async def test_a_name_that_no_name_server_can_have_fails_nobody() -> None:
    behind = Behind("proxy..internal")
    assert [await behind.ask() for _ in range(2)] == ["10.0.0.2"] * 2


async def test_nobody_waits_while_what_is_known_is_looked_up_again(behind: Behind, monkeypatch: pytest.MonkeyPatch) -> None:
    await behind.ask()
    monkeypatch.setattr(forwarded, "KEPT_S", -1.0)
    behind.slow.clear()
    waits = asyncio.create_task(behind.ask())
    await asyncio.sleep(0.05)
    assert await asyncio.wait_for(behind.ask(), 5) == "192.0.2.7"
    behind.slow.set()
    await waits


@pytest.fixture(params=["127.0.0.1", ""])
def server(request: pytest.FixtureRequest) -> Iterator[Daphne]:
    with running_daphne("redis://127.0.0.1:9/0", env={"CREWDESK_PROXY": request.param}) as one:
        one.manage("shell", "--no-imports", "-v", "0", "-c", LEAD)
        yield one


def sign_in(base: str, address: str, password: str) -> int:
    with httpx.Client(base_url=base, headers={"X-Forwarded-For": address}) as browser:
        browser.get("/sign-in/")
        token = browser.cookies["crewdesk_csrf"]
        return browser.post(
            "/sign-in/", data={"username": "anna", "password": password, "csrfmiddlewaretoken": token}
        ).status_code


def test_whoever_guesses_behind_a_proxy_locks_nobody_else_out(server: Daphne) -> None:
    for _ in range(10):
        last = sign_in(server.url, "192.0.2.1", "wrong-horse-9")
    assert last == 429
    behind_a_proxy = bool(server.env["CREWDESK_PROXY"])
    assert sign_in(server.url, "192.0.2.1", "right-horse-9") == 429
    assert sign_in(server.url, "192.0.2.2", "right-horse-9") == (302 if behind_a_proxy else 429)  # else the header is anybody's


@pytest.mark.skipif(shutil.which("haproxy") is None, reason="Debian: apt-get install haproxy")
@pytest.mark.parametrize("server", ["127.0.0.1"], indirect=True)
def test_haproxy_writes_the_header_anew_and_refuses_what_is_too_large(server: Daphne, tmp_path: Path) -> None:
    port = free_port()
    text = (ROOT / "haproxy.cfg").read_text().replace("bind :8400", f"bind 127.0.0.1:{port}")
    text = re.sub(r"server web web:8400", f"server web 127.0.0.1:{server.port}", text)
    (tmp_path / "haproxy.cfg").write_text(re.sub(r" +server web-2 .*\n", "", text))
    with subprocess.Popen(["haproxy", "-f", str(tmp_path / "haproxy.cfg")]) as proxy:
        try:
            until(lambda: not socket.socket().connect_ex(("127.0.0.1", port)))
            base = f"http://127.0.0.1:{port}"
            assert {sign_in(base, f"192.0.2.{n}", "wrong-horse-9") for n in range(10)} == {422, 429}
            refused = httpx.post(f"{base}/sign-in/", content=b"x" * (2**21 + 1))
            assert (refused.status_code, refused.text[:46]) == (413, "That is too large: at most 2 MB can be sent at")
            assert httpx.post(f"{base}/api/teams/import", content=b"x" * (2**21 + 1)).status_code == 401
        finally:
            proxy.kill()
