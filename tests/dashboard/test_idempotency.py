"""What is sent again, because nobody knows whether it arrived, is made once: each form and endpoint that makes something."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.forms import AuthenticationForm
from django.db import OperationalError
from django.test import Client
from django.urls import reverse

from tasks_app.models import Checkpoint, KeyedRequest, Message, Run, Task, Team
from tasks_app.services import messages as service
from tasks_app.services import scheduling, teams
from tests import factories as make
from tests.dashboard.conftest import html_of, words_of

PLAN = """\
team: Small
agents: [{name: ada, role: dev}]
tasks: [{title: Write the export, criteria: [it works]}]
"""
KEY = "idempotency_key"


@dataclass(frozen=True)
class Making:
    """Something that a person makes: by a form of a page (its address), or by an endpoint."""

    model: type[Any]
    page: str
    address: str
    given: dict[str, Any]
    words: str  # the field that makes it another one


FORMS = {
    "message": Making(Message, "messages", "message-send", {"back": "messages", "to": "ada", "body": "Go on."}, "body"),
    "task": Making(
        Task,
        "task-new",
        "task-add",
        {"title": "Export bills", "criteria": "It is there", "who": "", "minutes": "5-20", "priority": "3", "do": "add"},
        "title",
    ),
    "checkpoint": Making(Checkpoint, "checkpoints", "checkpoint-save", {"name": "before"}, "name"),
}
ENDPOINTS = {
    "message": Making(Message, "", "/api/teams/atlas/messages", {"to": "ada", "message": "Go on."}, "message"),
    "everyone": Making(Message, "", "/api/teams/atlas/messages", {"to": "all", "message": "Go on."}, "message"),
    "task": Making(Task, "", "/api/teams/atlas/tasks", {"title": "Export bills", "criteria": ["It is there"]}, "title"),
    "checkpoint": Making(Checkpoint, "", "/api/teams/atlas/checkpoints", {"name": "before"}, "name"),
    "team": Making(Team, "", "/api/teams", {"plan": PLAN, "rehearse": True}, "plan"),
}


@pytest.fixture
def atlas(team: Team, settings: Any, tmp_path: Path) -> Team:
    """Atlas with an agent and a task, its folders in one of this test."""
    settings.HOME = tmp_path
    for name in ("ada", "ben", "cleo"):
        make.AgentFactory(team=team, name=name, role="builder")
    make.TaskFactory(team=team, number=1, in_progress=True)
    Team.objects.update(last_task_number=1)
    return team


def by_form(browser: Client, one: Making, key: str, **more: Any) -> Any:
    where = reverse(one.address, args=["atlas"])
    return browser.post(where, {**one.given, **more, KEY: key}, follow=True)


def by_api(browser: Client, one: Making, key: str, **more: Any) -> Any:
    body = json.dumps({**one.given, **more})
    return browser.post(one.address, data=body, content_type="application/json", headers={"Idempotency-Key": key})


Send = Callable[..., Any]
WAYS = [pytest.param(by_form, one, id=f"form-{name}") for name, one in FORMS.items()]
WAYS += [pytest.param(by_api, one, id=f"api-{name}") for name, one in ENDPOINTS.items()]


def more_than_before(one: Making, act: Callable[[], object]) -> int:
    before = one.model.objects.count()
    act()
    return int(one.model.objects.count() - before)


def made(one: Making, act: Callable[[], object]) -> int:
    """How many rows one such request makes."""
    count = more_than_before(one, act)
    assert count >= 1
    return count


@pytest.mark.parametrize(("send", "one"), WAYS)
def test_what_is_sent_again_is_made_once_and_answered_alike(desk: Client, atlas: Team, send: Send, one: Making) -> None:
    answers: list[Any] = []
    made(one, lambda: answers.append(send(desk, one, "a")))
    assert more_than_before(one, lambda: answers.append(send(desk, one, "a"))) == 0
    assert answers[0].status_code == answers[1].status_code < 300
    if send is by_api:
        assert answers[0].json() == answers[1].json()
    else:
        assert answers[0].redirect_chain == answers[1].redirect_chain


@pytest.mark.parametrize(("send", "one"), WAYS)
def test_another_key_other_words_and_no_key_make_another_one(desk: Client, atlas: Team, send: Send, one: Making) -> None:
    each = made(one, lambda: send(desk, one, "a"))
    assert more_than_before(one, lambda: send(desk, one, "b")) == each
    changed = {one.words: one.given[one.words] + ("# more" if one.words == "plan" else " again")}
    assert more_than_before(one, lambda: send(desk, one, "a", **changed)) == each
    assert more_than_before(one, lambda: send(desk, one, "")) == each
    assert more_than_before(one, lambda: send(desk, one, "")) == each


@pytest.mark.parametrize(("send", "one"), WAYS)
def test_the_key_of_one_person_is_none_of_another(
    desk: Client, atlas: Team, browser_of: Callable[[Any], Client], send: Send, one: Making
) -> None:
    other = browser_of(make.TeamAccessFactory(team=atlas, user__username="cleo", level="lead").user)
    each = made(one, lambda: send(desk, one, "a"))
    assert more_than_before(one, lambda: send(other, one, "a")) == each


@pytest.mark.parametrize("name", FORMS)
def test_a_form_that_makes_something_has_a_key_of_its_own_each_time(desk: Client, atlas: Team, name: str) -> None:
    found = [
        re.search(rf'name="{KEY}" value="([\w-]{{16}})"', html_of(desk.get(reverse(FORMS[name].page, args=["atlas"]))))
        for _ in range(2)
    ]
    assert all(found)
    assert found[0].group(1) != found[1].group(1)


def test_a_plan_that_was_checked_starts_one_team_however_often_it_is_sent(desk: Client, atlas: Team) -> None:
    shown = html_of(desk.post(reverse("team-create"), {"plan": PLAN, "rehearsal": "1", "do": "check"}))
    start = dict(
        re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', shown.partition('action="/teams/new/plan/">')[2])
    )
    start = {**start, "do": "start", "plan": PLAN}
    for _ in range(2):
        assert desk.post(reverse("team-create"), start).headers["Location"] == "/teams/small/"
    # who goes back and loads the preview again has the same key in it
    preview = {"plan": PLAN, "rehearsal": "1", "do": "check", KEY: start[KEY]}
    assert html_of(desk.post(reverse("team-create"), preview)).count(f'value="{start[KEY]}"') == 2
    assert Team.objects.filter(name="Small").count() == 1


AFTER = {"task": (scheduling, "tick"), "team": (teams, "drop_folder_of_none")}
"""What asks the database first when that was made."""


@pytest.mark.parametrize("name", AFTER)
def test_what_was_made_before_the_database_went_away_is_what_comes_when_it_is_sent_again(
    desk: Client, atlas: Team, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit is done, and what is read after it fails: the person is told that the database is away."""

    def away(_: int) -> None:
        raise OperationalError("the connection is lost")

    one = ENDPOINTS[name]
    with monkeypatch.context() as broken:
        broken.setattr(*AFTER[name], away)
        assert more_than_before(one, lambda: by_api(desk, one, "a")) == 1
        assert by_api(desk, one, "b").status_code == 503
    before = one.model.objects.count()
    answer = by_api(desk, one, "a")
    assert answer.status_code == 201
    assert one.model.objects.count() == before


def test_what_was_refused_was_not_made_and_may_come_again(desk: Client, atlas: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    one = FORMS["task"]
    assert by_form(desk, one, "a", title="").status_code == 422
    assert not KeyedRequest.objects.exists()
    assert more_than_before(one, lambda: by_form(desk, one, "a", title="")) == 0
    assert "is added" in words_of(by_form(desk, one, "a"))


def test_what_was_made_and_has_gone_again_is_said_so(desk: Client, atlas: Team) -> None:
    by_api(desk, ENDPOINTS["checkpoint"], "a")
    Checkpoint.objects.all().delete()
    assert by_api(desk, ENDPOINTS["checkpoint"], "a").status_code == 404
    assert not Checkpoint.objects.exists()


@pytest.mark.parametrize("send", ["form", "api"])
def test_a_task_given_out_again_does_not_stop_the_attempt_that_has_just_begun(desk: Client, atlas: Team, send: str) -> None:
    task = make.TaskFactory(team=atlas, number=2, gave_up=True)
    form = {"do": "reassign", "agent": "", "guidance": "Use UTC.", "start": "clean", KEY: "a"}

    def give() -> int:
        if send == "form":
            return desk.post(reverse("task-action", args=[task.pk]), form).status_code
        body = json.dumps({"guidance": "Use UTC."})
        headers = {"Idempotency-Key": "a"}
        return desk.post(
            f"/api/tasks/{task.pk}/reassign", data=body, content_type="application/json", headers=headers
        ).status_code

    assert give() in (200, 302)
    begun = Run.objects.get(task=task)
    assert give() in (200, 302)
    assert list(Run.objects.filter(task=task).values_list("pk", "status")) == [(begun.pk, begun.status)]


def test_a_form_with_nothing_but_its_key_is_refused_as_without_it(desk: Client, atlas: Team) -> None:
    assert desk.post(reverse("checkpoint-save", args=["atlas"]), {KEY: "a"}).status_code == 422


@pytest.mark.parametrize("error", [OperationalError("away"), RuntimeError("a fault")])
def test_the_page_of_an_error_keeps_a_form_with_a_key_and_sends_it_again_as_it_was(
    desk: Client, atlas: Team, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """For who has no scripts, and for what htmx does not send."""

    def broken(_: int) -> None:
        raise error

    desk.raise_request_exception = False
    one = FORMS["task"]
    given = {**one.given, "description": 'It says "<b>&amp;"\nand more', KEY: "a"}
    with monkeypatch.context() as away:
        away.setattr(scheduling, "tick", broken)
        page = desk.post(reverse(one.address, args=["atlas"]), given)
    assert page.status_code in (500, 503)
    assert Task.objects.filter(title="Export bills").count() == 1
    text = page.content.decode()
    again = {name: unescape(value) for name, value in re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', text)}
    assert again == given
    assert f'action="{reverse(one.address, args=["atlas"])}"' in text
    assert "T-2 is added" in words_of(desk.post(reverse(one.address, args=["atlas"]), again, follow=True))
    assert Task.objects.filter(title="Export bills").count() == 1


def test_the_page_of_an_error_keeps_nothing_of_a_form_without_a_key(
    client: Client, monkeypatch: pytest.MonkeyPatch, db: None
) -> None:
    """A password is never put into a page."""
    client.raise_request_exception = False

    def away(_: AuthenticationForm) -> None:
        raise OperationalError("away")

    monkeypatch.setattr(AuthenticationForm, "is_valid", away)
    page = client.post(reverse("sign-in"), {"username": "anna", "password": "hunter2-hunter2"})
    assert page.status_code == 503
    assert "hunter2" not in page.content.decode()


def test_a_message_with_a_key_may_also_be_said_twice(desk: Client, atlas: Team) -> None:
    """An agent's own words are not held against the lead's."""
    by_form(desk, FORMS["message"], "a")
    service.send(atlas.pk, sender_agent_id=None, to="ada", body="Go on.", actor="user:anna")
    assert Message.objects.count() == 2
