"""Errors are said in words, with their status, and show nothing of the inside."""

import pytest
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError, connection
from django.http import Http404
from django.test import Client, RequestFactory
from django.urls import reverse

from dashboard.views import errors
from tasks_app.domain import errors as domain
from tests.dashboard.conftest import html_of, words_of


@pytest.fixture
def request_(db):
    return RequestFactory().get("/x/")


@pytest.mark.parametrize(
    ("handler", "error", "status", "words"),
    [
        (errors.bad_request, SuspiciousOperation("secret"), 400, "cannot be read"),
        (errors.bad_request, RequestDataTooBig("secret"), 413, "At most 2 MB"),
        (errors.forbidden, PermissionDenied("secret"), 403, "You may not do this"),
        (errors.not_found, Http404("secret"), 404, "There is no such page"),
    ],
)
def test_each_status_has_its_words_and_gives_nothing_away(request_, handler, error, status, words):
    response = handler(request_, error)
    assert response.status_code == status
    assert words in words_of(response)
    assert "secret" not in response.content.decode()


def test_a_failure_of_ours_needs_neither_database_nor_context(request_):
    response = errors.server_error(request_)
    assert response.status_code == 500
    assert "Something broke on our side" in words_of(response)


def test_too_many_wrong_passwords_get_429(request_):
    assert errors.locked_out(request_).status_code == 429


def test_a_stale_form_gets_403_with_what_to_do(request_):
    response = errors.csrf(request_, reason="x")
    assert response.status_code == 403
    assert "Reload the page and send it again." in words_of(response)


def test_every_status_of_an_expected_failure_has_words():
    found = [domain.DomainError]
    for one in found:
        found.extend(one.__subclasses__())
    assert {one.status for one in found} <= set(errors.WORDS)


def test_an_unknown_address_is_a_page_in_words(desk):
    response = desk.get("/nope/")
    assert response.status_code == 404
    assert words_of(response).count("There is no such page") == 1
    assert "default-src 'none'" in response["Content-Security-Policy"]


def test_a_body_over_the_limit_is_said_in_words_where_the_token_is_looked_for_too(lead, settings):
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(lead)
    browser.get("/")  # sets the CSRF cookie
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    response = browser.post("/teams/atlas/message/", {"body": "x" * 2000})
    assert response.status_code == 413
    assert "That is too large" in words_of(response)


def test_a_body_over_the_limit_gets_413_in_words(desk, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    response = desk.post(reverse("team-create"), {"plan": "x" * 2000})
    assert response.status_code == 413
    assert "That is too large" in words_of(response)
    assert f'href="{reverse("team-new")}">Back to the form</a>' in html_of(response)


def test_what_is_not_there_is_said_once(desk):
    text = words_of(desk.get(reverse("task", args=[99_999])))
    assert "Not found There is no such task, or you have no access to it. To the Overview" in text
    assert text.count("no access") == 1


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_a_database_that_goes_away_under_a_request_is_no_fault_of_ours_and_says_what_to_do(desk, method, error):
    def gone(*_):
        raise error("server closed the connection unexpectedly at 10.0.0.7")

    desk.raise_request_exception = False
    with connection.execute_wrapper(gone):
        page, api = getattr(desk, method)("/teams/"), getattr(desk, method)("/api/teams")
    assert (page.status_code, page["Retry-After"]) == (503, "3")
    assert "The database does not answer" in words_of(page)
    assert "10.0.0.7" not in page.content.decode()
    assert api["Retry-After"] == "3"
    assert (api.status_code, api.json()["error"]["code"]) == (503, "unavailable")
