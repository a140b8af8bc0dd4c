"""People at the pages of `rolling`: where the web server is gone for good they say so and go, within a bound."""

import asyncio
import threading
import time
from types import SimpleNamespace

import httpx
import pytest

from bench import desk, visitors
from bench.visitors import Visitors


class Server:
    """Stands for the web server: `up` while pages are answered. A form is never accepted."""

    def __init__(self) -> None:
        self.up = True

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.method == "GET" and self.up:
            return httpx.Response(200, text='data-seq="1:1"')
        return httpx.Response(500)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server()
    for name, seconds in {
        "AGAIN_S": 0.01,
        "WRITE_EVERY_S": 0.01,
        "LAST_WORDS_S": 0.2,
        "CATCH_UP_S": 0.2,
        "ANSWER_S": 0.2,
    }.items():
        monkeypatch.setattr(visitors, name, seconds)
    client = {"transport": httpx.MockTransport(made), "base_url": "http://desk"}
    monkeypatch.setattr(visitors.browser, "lead", lambda port: httpx.Client(**client))
    monkeypatch.setattr(Visitors, "_open_all", lambda self: asyncio.sleep(0))
    return made


def people() -> Visitors:
    return Visitors(1, SimpleNamespace(slug="idle", pk=0), pages=2)  # type: ignore[arg-type]


def ended(it: Visitors) -> list[str]:
    """What `end` returns, in a thread of its own: it must not be able to keep the test."""
    said: list[str] = []
    thread = threading.Thread(target=lambda: said.extend(it.end()), daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive(), "it waits without an end"
    return said


@pytest.fixture(autouse=True)
def _no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visitors.Message.objects, "filter", lambda **_: SimpleNamespace(values_list=lambda *_, **__: []))


def test_a_form_that_is_never_accepted_is_given_up_and_said(server: Server) -> None:
    it = people()
    it.begin()
    time.sleep(0.05)
    assert ended(it) == ["a form was not accepted: Word 1", "no form was accepted"]
    assert (it.failed.keys(), it.died) == ({"HTTP 500"}, [])
    assert not any(thread.is_alive() for thread in it._threads)


def test_pages_of_a_server_that_is_gone_are_not_waited_for(server: Server) -> None:
    it = people()
    it.begin()
    server.up = False
    with pytest.raises(desk.TooLate):
        it.cursor()
    assert any(line.startswith("how it ended is not known: the Overview did not come") for line in ended(it))


def test_who_does_not_leave_is_left_behind_and_said(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visitors, "LEAVE_S", 0.1)
    over = threading.Event()
    monkeypatch.setattr(Visitors, "_write", lambda self: over.wait(20))
    it = people()
    it.begin()
    try:
        ended(it)
        assert it.died == ["who writes did not leave within 0.1 s"]
        assert all(thread.daemon for thread in it._threads)
    finally:
        over.set()
