"""`manage.py account`: accounts are made, let into teams, shut out, disabled; and what cannot be done is said."""

import re
from collections.abc import Callable

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

from tasks_app.management.commands.account import Command
from tests.factories import PASSWORD, TeamAccessFactory, TeamFactory, UserFactory, ago
from tests.management.commands import run, run_json

pytestmark = pytest.mark.django_db


@pytest.fixture
def team():
    return TeamFactory(slug="billing", name="Billing")


@pytest.fixture
def boss():
    return UserFactory(username="boss", admin=True)


@pytest.fixture
def ben():
    return UserFactory(username="ben")


@pytest.fixture
def visit() -> Callable[..., Client]:
    """Return a function that signs somebody in, in a browser of their own."""

    def sign_in(user: object) -> Client:
        browser = Client()
        browser.force_login(user, "django.contrib.auth.backends.ModelBackend")
        return browser

    return sign_in


def user(name):
    return get_user_model().objects.get(username=name)


def test_an_account_without_a_password_is_signed_in_by_a_link(boss, monkeypatch):
    monkeypatch.setattr("django.db.connections.close_all", lambda: None)
    code, out, _ = run("account", "add", "ada", "--no-password")
    assert code == 0
    assert "A link that signs them in, once: uv run manage.py sign_in_link ada" in out
    code, link, _ = run("sign_in_link", "Ada", "--port", "1")
    assert code == 0
    browser = Client()
    browser.post(re.sub(r"^http://[^/]+", "", link.strip()))
    assert browser.session["_auth_user_id"] == str(user("ada").pk)
    assert "Signed in as ada" in browser.get(reverse("overview")).content.decode()


def test_no_link_is_made_for_who_is_disabled_or_unknown(boss, ben):
    get_user_model().objects.filter(pk=ben.pk).update(is_active=False)
    assert run("sign_in_link", "ben", "--port", "1")[::2] == (2, "ben is disabled: uv run manage.py account enable ben\n")
    code, _, err = run("sign_in_link", "bne", "--port", "1")
    assert (code, err) == (2, "There is no account “bne”. Did you mean ben? See uv run manage.py account list\n")


def test_a_new_account_sees_an_empty_overview_that_says_what_to_do(visit, team):
    run("account", "add", "ada", "--no-password")
    text = visit(user("ada")).get(reverse("overview")).content.decode()
    assert "No team yet." in text
    assert "once whoever runs Crewdesk lets you in" in text
    assert "Billing" not in text


def test_everybody_is_listed_with_what_they_may(boss, ben, team):
    assert run("account", "list")[1].splitlines() == [
        "ben   never signed in                 in no team",
        "boss  never signed in                 administrator: leads every team",
    ]
    TeamAccessFactory(user=ben, team=team, level="viewer")
    TeamAccessFactory(user=ben, team=TeamFactory(slug="atlas"), level="lead")
    TeamAccessFactory(user=ben, team=TeamFactory(slug="cygnus"), level="owner")
    ben.last_login, ben.is_active = ago(days=2), False
    ben.set_unusable_password()
    ben.save()
    line = run("account", "list")[1].splitlines()[0]
    assert line.startswith(f"ben   signed in {ben.last_login:%Y-%m-%d %H:%M} UTC")
    assert line.endswith("  disabled, without a password, leads atlas, views billing, views cygnus")
    code, found = run_json("account", "list")
    assert code == 0
    assert found["accounts"][0] == {
        "name": "ben",
        "admin": False,
        "active": False,
        "password": False,
        "last_sign_in": ben.last_login.isoformat(),
        "teams": [
            {"team": "atlas", "level": "lead"},
            {"team": "billing", "level": "viewer"},
            {"team": "cygnus", "level": "owner"},
        ],
    }


def test_where_nobody_has_an_account_the_list_says_how_to_make_one():
    assert run("account", "list")[:2] == (0, "There is no account yet: uv run manage.py account add NAME --admin\n")


def test_who_is_let_in_sees_the_team_and_who_is_shut_out_does_not(ben, team, visit):
    browser, address = visit(ben), reverse("team", args=["billing"])
    assert browser.get(address).status_code == 404
    assert run("account", "let-in", "ben", "Billing", "viewer")[:2] == (0, "ben views Billing now.\n")
    assert browser.get(address).status_code == 200
    assert browser.post("/api/teams/billing/pause").status_code == 403
    assert run("account", "let-in", "BEN", "billing", "lead")[:2] == (0, "ben leads Billing now, and was a viewer before.\n")
    assert browser.post("/api/teams/billing/pause").status_code == 200
    assert run_json("account", "shut-out", "ben", "billing")[1]["teams"] == []
    assert browser.get(address).status_code == 404
    assert browser.post("/api/teams/billing/resume").status_code == 404


def test_who_is_disabled_is_signed_out_for_good_and_keeps_what_they_see(boss, ben, team, visit):
    TeamAccessFactory(user=ben, team=team, level="viewer")
    before, other = visit(ben), visit(boss)
    assert run("account", "disable", "ben")[:2] == (0, "ben is disabled, and signed out everywhere.\n")
    assert before.get(reverse("overview")).status_code == 302
    assert before.get("/api/teams").status_code == 401
    assert other.get(reverse("overview")).status_code == 200
    assert Client().post(reverse("sign-in"), {"username": "ben", "password": PASSWORD}).status_code == 422
    told = run("account", "let-in", "ben", "billing", "lead")[1]
    assert told.endswith(" The account is disabled: uv run manage.py account enable ben\n")
    assert run("account", "enable", "ben")[:2] == (0, "ben can sign in again.\n")
    assert before.get(reverse("overview")).status_code == 302, "the cookie of then is good for nothing"
    assert Client().post(reverse("sign-in"), {"username": "ben", "password": PASSWORD}).status_code == 302
    assert visit(user("ben")).post("/api/teams/billing/pause").status_code == 200


def test_the_last_administrator_who_may_sign_in_stays(boss, ben):
    second = UserFactory(username="deputy", admin=True)
    assert run("account", "disable", "boss")[0] == 0
    code, _, err = run("account", "disable", "deputy")
    assert code == 2
    assert err == "deputy is the last administrator who may sign in. Make or enable another one first.\n"
    assert run_json("account", "disable", "deputy")[1]["error"]["code"] == "conflict"
    assert user(second.username).is_active


@pytest.mark.parametrize(
    "name", ["", " ", "a b", "-ada", "ada\0", "\ud800", "x" * 61, "ada\n", "ada\u202e", "a/b", "\x1b[31mada"]
)
def test_a_name_that_cannot_be_is_refused_before_a_password_is_asked_for(name, typed):
    prompts = typed()
    code, _, err = run("account", "add", "--", name)
    assert (code, prompts) == (2, [])
    assert "cannot be the name of an account. It has 1 to 60 letters, digits and . _ - + @, and begins with no -." in err


@pytest.mark.parametrize("name", ["ben", "BEN", "ｂｅｎ"])
def test_a_name_that_is_taken_is_refused_whatever_its_case(ben, name, typed):
    prompts = typed()
    code, answer = run_json("account", "add", name)
    assert (code, prompts) == (2, [])
    assert answer["error"]["code"] == "conflict"
    assert answer["error"]["field"] == "name"
    assert "There is an account “ben” already." in answer["error"]["message"]


@pytest.mark.parametrize("name", ["ada@example.org", "Ада", "é", "x" * 60, "_a.b+c-d"])
def test_names_of_people_everywhere_are_taken(name):
    assert run("account", "add", name, "--no-password")[0] == 0
    assert run("account", "disable", name)[0] == 0


NOBODY = "There is no account “bem”. Did you mean ben? See uv run manage.py account list"
NO_TEAM = "There is no team “biling”. Did you mean billing?"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["let-in", "bem", "billing", "lead"], NOBODY),
        (["shut-out", "bem", "billing"], NOBODY),
        (["disable", "bem"], NOBODY),
        (["enable", "bem"], NOBODY),
        (["password", "bem"], NOBODY),
        (["disable", "\ud800\0"], "There is no account “\ufffd”. There are: ben, boss. See uv run manage.py account list"),
        (["let-in", "ben", "biling", "lead"], NO_TEAM),
        (["shut-out", "ben", "biling"], NO_TEAM),
        (["let-in", "ben", "billing", "owner"], "“owner” is no level. lead: may act on the team; viewer: may see it."),
        (["let-in", "ben", "billing", "\0"], "“” is no level."),
        (["let-in", "boss", "billing", "viewer"], "boss is an administrator, and administrators lead every team."),
        (["shut-out", "boss", "billing"], "boss is an administrator, and administrators lead every team."),
        (["shut-out", "ben", "billing"], "ben has no access to Billing."),
        (["enable", "ben"], "ben is enabled already."),
    ],
)
def test_what_cannot_be_done_is_said_in_words_with_exit_code_2(boss, ben, team, words, said):
    code, _, err = run("account", *words)
    assert code == 2
    assert err.startswith(said)


def test_what_is_so_already_is_said(boss, ben, team):
    for words, said in (
        (["let-in", "ben", "billing", "lead"], "ben leads Billing already."),
        (["disable", "ben"], "ben is disabled already."),
    ):
        assert run("account", *words)[0] == 0
        assert run("account", *words)[::2] == (2, f"{said}\n")


def test_of_two_names_that_differ_in_case_each_is_meant_exactly():
    for name in ("ben", "Ben"):
        UserFactory(username=name)
    assert run("account", "disable", "Ben")[0] == 0
    assert (user("ben").is_active, user("Ben").is_active) == (True, False)
    assert run("account", "disable", "BEN")[0] == 2


@pytest.mark.parametrize("words", [["account"], ["account", "add"], ["account", "let-in", "ben", "billing"], ["account", "nope"]])
def test_missing_words_are_a_json_document_too(words, capsys):
    with pytest.raises(SystemExit) as ended:
        Command().run_from_argv(["manage.py", *words, "--json"])
    assert ended.value.code == 2
    assert '"code": "invalid"' in capsys.readouterr().out
