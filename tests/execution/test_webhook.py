"""A web hook is posted to once, only outside, only for so long; what goes wrong is said without its address."""

import asyncio
import socket

import httpx
import pytest

from tasks_app.execution import webhook
from tests.hooks import listening

DOCUMENT = {"text": "“ada” waits", "age_s": 600}
NAMED = "https://hooks.example.org/T0/secret"


def post(url, *, loopback=True):
    asyncio.run(webhook.post(url, DOCUMENT, loopback=loopback))


def refused(url, *, loopback=True):
    with pytest.raises(webhook.Undelivered) as problem:
        post(url, loopback=loopback)
    assert "secret" not in str(problem.value)
    return str(problem.value)


@pytest.fixture
def resolves(monkeypatch):
    """Return a function that says what names lead to."""

    def to(*addresses):
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 443)) for address in addresses]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)

    return to


@pytest.fixture
def sent(monkeypatch):
    """What would go over the wire, each answered with 204."""
    requests = []

    async def handle(self, request):
        requests.append(request)
        return httpx.Response(204)

    monkeypatch.setattr(httpx.AsyncHTTPTransport, "handle_async_request", handle)
    return requests


def test_a_document_arrives_as_json():
    with listening(200) as hook:
        post(hook.url)
    assert hook.posts == [DOCUMENT]
    assert hook.headers[0]["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    ("status", "words"), [(404, "it answered 404"), (500, "it answered 500"), (302, "redirects are not followed")]
)
def test_a_refusal_or_a_redirect_is_not_a_delivery_and_nothing_is_followed(status, words):
    with listening(status) as hook:
        assert words in refused(hook.url)
    assert len(hook.posts) == 1


def test_a_host_that_takes_the_document_and_says_nothing_is_given_up(monkeypatch):
    monkeypatch.setattr(webhook, "TOTAL_S", 0.2)
    with listening(None) as hook:
        assert refused(hook.url) == "no answer within 0.2 s"


def test_a_host_that_does_not_listen_is_said_to_fail():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        assert "the connection failed (ConnectError)" in refused(f"http://127.0.0.1:{taken.getsockname()[1]}/secret")


def test_this_machine_is_out_of_reach_unless_that_is_asked_for():
    with listening(200) as hook:
        assert "https://" in refused(hook.url, loopback=False)
    assert hook.posts == []


@pytest.mark.parametrize("address", ["10.0.0.5", "127.0.0.1", "169.254.169.254"])
def test_a_name_that_leads_inside_is_not_connected_to(resolves, sent, address):
    resolves("8.8.8.8", address)
    assert refused(NAMED) == f"hooks.example.org leads to {address}, which is not a public address"
    assert sent == []


def test_what_is_connected_to_is_the_address_that_was_checked_and_the_certificate_must_be_the_names(resolves, sent):
    resolves("8.8.8.8")
    post(NAMED)
    request = sent[0]
    assert str(request.url) == "https://8.8.8.8/T0/secret"
    assert request.headers["Host"] == "hooks.example.org"
    assert request.extensions["sni_hostname"] == "hooks.example.org"


def test_a_name_that_nobody_knows_is_said(monkeypatch):
    def unknown(*_, **__):
        raise socket.gaierror("no such host")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert refused(NAMED) == "hooks.example.org cannot be found"


def test_looking_up_sends_nothing(resolves, sent):
    resolves("8.8.8.8")
    assert asyncio.run(webhook.look_up(NAMED)) == "hooks.example.org"
    resolves("10.0.0.5")
    with pytest.raises(webhook.Undelivered, match=r"leads to 10\.0\.0\.5"):
        asyncio.run(webhook.look_up(NAMED))
    assert sent == []
