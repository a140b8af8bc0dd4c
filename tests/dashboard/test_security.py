"""What guards every page: sign-in, the content security policy, cookies, the Host header, masked logs."""

import logging
import re
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from dashboard.security import ContentSecurityPolicyMiddleware
from tests.factories import PASSWORD, UserFactory

pytestmark = pytest.mark.django_db
PUBLIC = {"sign-in", "first-sign-in"}
"""Names of addresses that anybody may open. A new one is a decision: add it here."""
SAMPLES = {"slug": "atlas", "str": "x", "row": "1", "int": "1", "path": "x", "uuid": "00000000-0000-0000-0000-000000000000"}


def addresses(patterns: list[URLPattern | URLResolver], prefix: str = "", space: str = "") -> Iterator[tuple[str, str]]:
    """Yield (path with sample arguments, name) of every view."""
    for item in patterns:
        route = prefix + re.sub(r"<(?:(\w+):)?\w+>", lambda found: SAMPLES[found[1] or "str"], str(item.pattern).lstrip("^/"))
        if isinstance(item, URLResolver):
            yield from addresses(item.url_patterns, route, item.namespace or space)
        else:
            yield "/" + re.sub(r"\\?[\^$]|\(\?.*?\)", "", route), f"{space}:{item.name}" if space else item.name or ""


def everywhere() -> list[tuple[str, str]]:
    return list(addresses(get_resolver().url_patterns))


def test_there_are_addresses_to_walk() -> None:
    assert {name for _, name in everywhere()} >= {"overview", "inbox", "decision-answer", "sign-in"}


@pytest.mark.parametrize("method", ["get", "post", "put", "patch", "delete"])
def test_every_address_asks_who_is_there_except_the_public_ones(client: Client, method: str) -> None:
    for path, name in everywhere():
        if name in PUBLIC:
            continue
        answer = getattr(client, method)(path)
        to_sign_in = answer.status_code == 302 and answer.headers["Location"].startswith("/sign-in/")
        assert to_sign_in or (path.startswith("/api/") and answer.status_code in {401, 405}), (
            f"{method} {path} ({name}): {answer.status_code}"
        )


def test_public_addresses_are_still_there() -> None:
    assert {name for _, name in everywhere()} >= PUBLIC


def test_every_post_needs_the_csrf_token() -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(UserFactory(admin=True), "django.contrib.auth.backends.ModelBackend")
    for path, name in everywhere():
        answer = browser.post(path)
        assert answer.status_code in {403, 404, 405}, f"{path} ({name}): {answer.status_code}"


@pytest.mark.parametrize(
    "path", ["/", "/sign-in/", "/nosuch/", "/api/nosuch", "/static/css/app.css", "/static/nosuch.css", "/teams/%00/"]
)
def test_every_response_carries_the_policy(client: Client, path: str) -> None:
    answer = client.get(path)
    assert answer.headers["Content-Security-Policy"] == settings.CONTENT_SECURITY_POLICY
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "same-origin"


def test_the_policy_allows_nothing_inline_and_nothing_foreign() -> None:
    policy = dict(part.strip().split(" ", 1) for part in settings.CONTENT_SECURITY_POLICY.split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert not re.search(r"unsafe|nonce|\*|https?:", settings.CONTENT_SECURITY_POLICY)


def test_an_error_in_a_view_carries_the_policy(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> HttpResponse:
        raise RuntimeError("expected")

    client.raise_request_exception = False
    client.force_login(UserFactory(), "django.contrib.auth.backends.ModelBackend")
    monkeypatch.setattr("dashboard.access.viewer_for", broken)
    monkeypatch.setattr("dashboard.live.cursor.read", broken)
    answer = client.get("/")
    assert answer.status_code == 500
    assert answer.headers["Content-Security-Policy"] == settings.CONTENT_SECURITY_POLICY


def test_a_view_may_set_a_stricter_policy() -> None:
    def view(_: HttpRequest) -> HttpResponse:
        return HttpResponse(headers={"Content-Security-Policy": "sandbox"})

    assert ContentSecurityPolicyMiddleware(view)(HttpRequest()).headers["Content-Security-Policy"] == "sandbox"


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "", "a b"])
def test_a_foreign_host_is_refused(client: Client, host: str) -> None:
    answer = client.get("/sign-in/", headers={"host": host})
    assert answer.status_code == 400
    assert answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8000", "localhost", "[::1]:8000"])
def test_our_own_host_is_served(client: Client, host: str) -> None:
    assert client.get("/sign-in/", headers={"host": host}).status_code == 200


def test_cookies_are_ours_and_closed_to_scripts_and_other_sites(client: Client) -> None:
    client.get("/sign-in/")
    client.post("/sign-in/", {"username": UserFactory().username, "password": PASSWORD})
    session = client.cookies["crewdesk_session"]
    assert session["httponly"]
    assert session["samesite"] == "Lax"
    assert settings.CSRF_COOKIE_NAME == "crewdesk_csrf"
    assert settings.CSRF_COOKIE_SAMESITE == "Lax"
    assert settings.SESSION_COOKIE_SECURE == settings.CSRF_COOKIE_SECURE == settings.HTTPS


def test_pages_cannot_be_framed(client: Client) -> None:
    assert client.get("/sign-in/").headers["X-Frame-Options"] == "DENY"


def test_every_log_line_is_masked() -> None:
    filters = settings.LOGGING["handlers"]["stderr"]["filters"]
    assert filters == ["mask"]
    assert settings.LOGGING["root"]["handlers"] == ["stderr"]


def test_a_key_in_a_log_line_is_masked() -> None:
    (mask,) = (settings.LOGGING["filters"]["mask"]["()"],)
    module, name = mask.rsplit(".", 1)
    record = logging.LogRecord("x", logging.ERROR, "", 0, "key %s", ("sk-ant-api03-" + "a" * 40,), None)
    assert getattr(__import__(module, fromlist=[name]), name)().filter(record)
    assert "aaaa" not in record.getMessage()
