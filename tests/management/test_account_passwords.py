"""`manage.py account add` and `password`: typed twice or read from standard input, never shown, refused in words."""

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

from tests.factories import PASSWORD, UserFactory
from tests.management.commands import run, run_json

pytestmark = pytest.mark.django_db


def user(name):
    return get_user_model().objects.get(username=name)


def visit(user):
    browser = Client()
    browser.force_login(user, "django.contrib.auth.backends.ModelBackend")
    return browser


def test_an_account_is_made_with_a_password_that_is_typed_twice(typed):
    asked = typed(PASSWORD, PASSWORD)
    code, out, _ = run("account", "add", "ada")
    assert (code, asked) == (0, ["Password of ada: ", "Once more: "])
    assert "The account ada is made. It sees no team yet, and may start its own." in out
    assert "account let-in ada TEAM lead|viewer" in out
    assert PASSWORD not in out
    made = user("ada")
    assert (made.check_password(PASSWORD), made.is_superuser, made.is_staff, made.is_active) == (True, False, False, True)


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_password_is_read_from_standard_input_without_its_line_end(stdin, end):
    stdin(f" {PASSWORD} ü{end}")
    assert run_json("account", "add", "ada", "--admin", "--password-stdin") == (
        0,
        {"name": "ada", "admin": True, "active": True, "password": True, "last_sign_in": None, "teams": []},
    )
    assert user("ada").check_password(f" {PASSWORD} ü")
    assert Client().post(reverse("sign-in"), {"username": "ada", "password": PASSWORD}).status_code == 422
    assert user("ada").is_superuser


def test_another_password_ends_the_sessions_of_the_old_one(stdin):
    before = visit(UserFactory(username="ben"))
    stdin("another good horse\n")
    assert run("account", "password", "ben", "--password-stdin")[0] == 0
    assert user("ben").check_password("another good horse")
    assert before.get(reverse("overview")).status_code == 302
    again = visit(user("ben"))
    assert "sign_in_link ben" in run("account", "password", "ben", "--no-password")[1]
    assert not user("ben").has_usable_password()
    assert again.get(reverse("overview")).status_code == 302


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "This password is too short. It must contain at least 10 characters."),
        ("password", "This password is too short. It must contain at least 10 characters. This password is too common."),
        ("two lines\nof a password", "A password is one line of text without control characters."),
        ("with a \0 in the middle", "A password is one line of text without control characters."),
        (b"\xff\xfe is no UTF-8 at all", "The password on standard input is not text in UTF-8."),
        ("x" * 1_001, "A password has at most 1,000 characters."),
        ("漢" * 5_000, "A password has at most 1,000 characters."),
    ],
)
def test_a_bad_password_is_refused_in_words_and_nothing_is_made(stdin, text, said):
    stdin(text)
    code, _, err = run("account", "add", "ada", "--password-stdin")
    assert code == 2
    assert said in err
    assert not get_user_model().objects.exists()


@pytest.mark.parametrize(
    ("words", "said", "asked"),
    [
        (("short",), "This password is too short.", 1),
        ((PASSWORD, PASSWORD + "!"), "These are two different passwords. Nothing was changed.", 2),
        ((EOFError,), "No password was given.", 1),
        (("\udcff" + PASSWORD,), "A password is one line of text without control characters.", 1),
    ],
)
def test_what_is_typed_wrong_is_said_at_once(typed, words, said, asked):
    prompts = typed(*words)
    code, _, err = run("account", "add", "ada")
    assert (code, len(prompts)) == (2, asked)
    assert err.startswith(said)
    assert not get_user_model().objects.exists()


def test_ctrl_c_at_the_question_makes_nothing(typed):
    typed(KeyboardInterrupt)
    assert run("account", "add", "ada")[::2] == (130, "Interrupted.\n")
    assert not get_user_model().objects.exists()


def test_where_there_is_no_terminal_the_other_ways_are_named(stdin):
    stdin(PASSWORD)
    code, _, err = run("account", "add", "ada")
    assert code == 2
    assert err == "There is no terminal to ask for the password: give --password-stdin or --no-password.\n"
