"""Signing in with a password or a one-time link, once and nowhere else."""

import pytest
from django.contrib.sessions.models import Session
from django.urls import reverse

from tasks_app import wake
from tasks_app.management import sign_in as links
from tasks_app.services import keys
from tests.dashboard.conftest import words_of
from tests.factories import PASSWORD, UserFactory

pytestmark = pytest.mark.django_db
SIGN_IN = "/sign-in/"


@pytest.fixture
def anna():
    return UserFactory(username="anna")


def test_name_and_password_lead_to_where_one_wanted_to_go(client, anna):
    response = client.post(SIGN_IN, {"username": "anna", "password": PASSWORD, "next": "/inbox/"})
    assert response["Location"] == "/inbox/"
    assert client.get("/inbox/").status_code == 200


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example", "javascript:alert(1)", "/\\evil.example"])
def test_nobody_is_led_to_another_site(client, anna, target):
    response = client.post(SIGN_IN, {"username": "anna", "password": PASSWORD, "next": target})
    assert response["Location"] == "/"


def test_a_wrong_password_says_so_and_not_which_part_was_wrong(client, anna):
    wrong = client.post(SIGN_IN, {"username": "anna", "password": "no"})
    unknown = client.post(SIGN_IN, {"username": "nobody", "password": "no"})
    assert wrong.status_code == unknown.status_code == 422
    assert "The name and the password do not match." in words_of(wrong)
    assert words_of(wrong).replace("anna", "") == words_of(unknown).replace("nobody", "")


def test_an_empty_form_is_refused(client):
    assert client.post(SIGN_IN, {}).status_code == 422


def test_the_one_time_link_signs_in_after_one_press_and_only_once(client, anna):
    address = reverse("first-sign-in", args=[links.make_link_token(anna)])
    assert "Sign in as anna" in words_of(client.get(address))
    assert client.get("/").status_code == 302  # opening the link is not using it
    assert client.post(address)["Location"] == "/"
    assert client.get("/").status_code == 200
    assert "used up or too old" in words_of(client.post(address))
    assert client.post(address).status_code == 403


@pytest.mark.parametrize("token", ["x", "1-abc-def", "zzzzzzzzzzzzzzzzzzzzz-1-2"])
def test_a_made_up_link_is_refused(client, anna, token):
    response = client.get(reverse("first-sign-in", args=[token]))
    assert response.status_code == 403
    assert "This link is used up or too old" in words_of(response)


def test_signing_out_ends_the_session(client, anna):
    client.force_login(anna, "django.contrib.auth.backends.ModelBackend")
    assert client.post(reverse("sign-out"))["Location"] == SIGN_IN
    assert client.get("/").status_code == 302
    client.force_login(anna, "django.contrib.auth.backends.ModelBackend")
    assert client.get(reverse("sign-out")).status_code == 405


def test_signing_out_has_the_pages_of_other_tabs_ask_again_at_once(client, anna, monkeypatch, django_capture_on_commit_callbacks):
    heard = []
    monkeypatch.setattr(wake, "browsers", lambda team, seq, names: heard.append((keys.TEAMS in names, Session.objects.count())))
    client.force_login(anna, "django.contrib.auth.backends.ModelBackend")
    with django_capture_on_commit_callbacks(execute=True):
        client.post(reverse("sign-out"))
    assert heard == [(True, 0)]
    with django_capture_on_commit_callbacks(execute=True):
        client.post(reverse("sign-out"))
    assert len(heard) == 1, "who is not signed in has no pages"


def test_who_is_signed_in_does_not_see_the_form(client, anna):
    client.force_login(anna, "django.contrib.auth.backends.ModelBackend")
    assert client.get(SIGN_IN + "?next=/inbox/")["Location"] == "/inbox/"
