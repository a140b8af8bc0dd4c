"""One-time sign-in links."""

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import IntegrityError
from django.utils import timezone

from tasks_app.management import sign_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead() -> User:
    return sign_in.ensure_lead()


def test_the_first_account_is_a_superuser_without_a_password(lead: User) -> None:
    assert (lead.username, lead.is_superuser, lead.has_usable_password()) == ("lead", True, False)
    assert sign_in.ensure_lead().pk == lead.pk


def test_a_superuser_who_is_there_already_is_taken() -> None:
    boss = get_user_model().objects.create_superuser("boss", password="long enough word")
    assert sign_in.ensure_lead().pk == boss.pk


def test_of_two_commands_in_one_moment_the_second_takes_the_account_that_the_first_made(monkeypatch: pytest.MonkeyPatch) -> None:
    boss = get_user_model().objects.create_superuser("boss", password="long enough word")
    looks = iter((None, boss))
    monkeypatch.setattr(sign_in, "_first", lambda: next(looks))
    monkeypatch.setattr(sign_in, "_names", lambda: iter(("Boss",)))
    monkeypatch.setattr(type(get_user_model().objects), "create_superuser", _is_there)
    assert sign_in.ensure_lead() == boss


def _is_there(*_: Any, **__: Any) -> User:
    raise IntegrityError("duplicate key")


def test_a_plain_user_of_the_name_lead_is_not_made_superuser() -> None:
    get_user_model().objects.create_user("lead", password="long enough word")
    assert sign_in.ensure_lead().username == "lead-2"


def test_a_link_signs_in_once_and_then_never_again(lead: User) -> None:
    token = sign_in.make_link_token(lead)
    assert sign_in.peek(token) == lead
    assert sign_in.check(token) == lead
    assert sign_in.check(token) is None
    assert sign_in.peek(token) is None


def test_using_one_link_makes_every_older_one_void(lead: User) -> None:
    older, newer = sign_in.make_link_token(lead), sign_in.make_link_token(lead)
    assert sign_in.check(newer) == lead
    assert sign_in.check(older) is None


def test_of_two_uses_at_the_same_moment_one_wins(lead: User) -> None:
    token = sign_in.make_link_token(lead)
    stale = sign_in.peek(token)
    assert stale is not None
    assert sign_in.check(token) == lead
    taken = get_user_model().objects.filter(pk=stale.pk, last_login=stale.last_login).update(last_login=timezone.now())
    assert taken == 0


@pytest.mark.parametrize(("minutes", "good"), [(14, True), (16, False)])
def test_a_link_is_good_for_fifteen_minutes(lead: User, minutes: int, good: bool) -> None:
    token = sign_in.make_link_token(lead)
    with time_machine.travel(timezone.now() + timedelta(minutes=minutes)):
        assert (sign_in.check(token) is not None) is good


def test_a_link_of_somebody_who_may_not_sign_in_any_more_is_void(lead: User) -> None:
    token = sign_in.make_link_token(lead)
    get_user_model().objects.filter(pk=lead.pk).update(is_active=False)
    assert sign_in.check(token) is None


@pytest.mark.parametrize(
    "token", ["", "-", "1", "1-", "1-abc", "zzzzzzzzzzzzz-a-b", "0-a-b", "\u0661-a-b", "1-abc-def", "x" * 5000]
)
def test_a_made_up_token_is_void(lead: User, token: str) -> None:
    assert sign_in.check(token) is None


def test_a_link_of_one_user_does_not_sign_in_another(lead: User) -> None:
    other = get_user_model().objects.create_superuser("other", password=None)
    token = sign_in.make_link_token(lead)
    forged = sign_in.make_link_token(other).split("-")[0] + "-" + token.split("-", 1)[1]
    assert sign_in.check(forged) is None
