"""A page is of one moment: whatever others write while it is read, it is neither torn nor an error."""

from itertools import count

import pytest
from django.contrib.sessions.models import Session
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from dashboard.live import refresh as module
from dashboard.live.client import Ticket
from dashboard.live.frames import Close
from dashboard.live.orders import Admitted, Order, Refused, Shown, View
from dashboard.live.pace import Pace
from dashboard.panels.kpis import Kpis
from tasks_app.domain.errors import NotFound
from tasks_app.management import status
from tasks_app.models import Decision, Run, Task, Team
from tasks_app.services import context
from tasks_app.services.context import Writer
from tests import factories as make
from tests.dashboard.conftest import words_of
from tests.services import world

pytestmark = pytest.mark.django_db(transaction=True)
PAGES = ("overview", "inbox", "team", "table", "task", "agent")
MOST = 80
"""More statements than any page makes: the loop ends where one was read to its end undisturbed."""


@pytest.fixture
def run(team):
    make.WorkerFactory()
    return make.RunFactory(task__team=team, agent__team=team)


@pytest.fixture
def addresses(team, run):
    places = {"overview": (), "inbox": (), "team": [team.slug], "task": [run.task_id], "agent": [run.agent_id]}
    found = {name: reverse(name, args=args) for name, args in places.items()}
    return {**found, "table": found["team"] + "?view=table"}


class Disturbed:
    """Lets somebody else write before the n-th statement that reads; `done`: whether it came to that."""

    def __init__(self, nth, write):
        self.left, self.write, self.done = nth, write, False

    def __call__(self, execute, sql, params, many, context):
        if sql.startswith("SELECT"):
            self.left -= 1
            if not self.left:
                [found] = world.at_once(1, lambda _: self.write())
                assert not isinstance(found, Exception), found
                self.done = True
        return execute(sql, params, many, context)


def at_each_statement(look, *, write, back):
    """Look again and again, disturbed before the first statement, the second, …; returns how often."""
    for nth in count(1):
        assert nth < MOST
        hook = Disturbed(nth, write)
        with connection.execute_wrapper(hook):
            look()
        if not hook.done:
            return nth - 1
        back()
    raise AssertionError


@pytest.mark.parametrize("which", PAGES)
def test_a_request_that_is_opened_meanwhile_breaks_no_page(desk, run, addresses, which):
    def look():
        assert desk.get(addresses[which]).status_code == 200

    assert at_each_statement(look, write=lambda: make.DecisionFactory(run=run), back=Decision.objects.all().delete) > 10


@pytest.mark.parametrize("which", PAGES)
def test_the_last_request_that_is_answered_meanwhile_breaks_no_page(desk, run, addresses, which):
    asked = Decision.objects.filter(pk=make.DecisionFactory(run=run).pk)

    def look():
        assert desk.get(addresses[which]).status_code == 200

    answered = {"status": "answered", "choice": "allow", "answered_by": "lead"}
    again = {"status": "open", "choice": "", "answered_by": "", "answered_at": None}
    at_each_statement(
        look, write=lambda: asked.update(**answered, answered_at=timezone.now()), back=lambda: asked.update(**again)
    )


def test_a_task_that_begins_meanwhile_is_queued_or_at_work_and_never_said_to_be_left_open(desk, team, run, addresses):
    agent, task = make.AgentFactory(team=team), make.TaskFactory(team=team)

    def begin():
        Task.objects.filter(pk=task.pk).update(status="in_progress")
        make.RunFactory(task=task, agent=agent)

    def back():
        Run.objects.filter(task=task).delete()
        Task.objects.filter(pk=task.pk).update(status="pending")

    def pages():
        assert "complete it, retry it or cancel it" not in words_of(desk.get(addresses["table"]))

    def terminal():
        found = {card.pk: card for card in status.read(team.pk, timezone.now()).tasks}
        assert not found[task.pk].attention

    at_each_statement(pages, write=begin, back=back)
    at_each_statement(terminal, write=begin, back=back)


def test_a_task_that_is_deleted_meanwhile_is_shown_or_not_found(desk, team, run):
    made = [make.TaskFactory(team=team)]

    def look():
        assert desk.get(reverse("task", args=[made[-1].pk])).status_code in (200, 404)

    at_each_statement(
        look, write=lambda: Task.objects.filter(pk=made[-1].pk).delete(), back=lambda: made.append(make.TaskFactory(team=team))
    )


OF_THE_TEAM = ("messages", "deciders", "team-removal", "/api/teams/{}/messaging")


@pytest.mark.parametrize("which", OF_THE_TEAM)
def test_a_team_that_is_deleted_meanwhile_is_shown_or_not_found(browser_of, which):
    made = []

    def make_one(slug):
        made.append(make.TeamFactory(slug=slug))

    browser = browser_of(make.UserFactory(is_superuser=True))

    def look():
        slug = made[-1].slug
        assert browser.get(which.format(slug) if "/" in which else reverse(which, args=[slug])).status_code in (200, 404)

    make_one("one-1")
    at_each_statement(look, write=lambda: made[-1].delete(), back=lambda: make_one(f"one-{len(made) + 1}"))


def test_the_last_event_that_a_poller_is_told_of_is_one_that_it_was_given(desk, team):
    make.EventFactory(team=team)

    def look():
        answer = desk.get(f"/api/teams/{team.slug}/events").json()
        assert answer["last_seq"] == answer["events"][-1]["seq"]

    def write():
        make.EventFactory(team=team)
        Team.objects.filter(pk=team.pk).update(last_seq=team.events.count())

    Team.objects.filter(pk=team.pk).update(last_seq=team.events.count())
    at_each_statement(look, write=write, back=lambda: None)


def test_a_shared_value_and_its_version_belong_together(desk, team):
    by, seen, written = Writer("user:lead"), set(), [context.share(team.pk, name="facts", value="v1", by=Writer("user:lead"))]

    def look():
        answer = desk.get(f"/api/teams/{team.slug}/context/facts").json()
        seen.add((answer["version"], answer["value"]))

    def write():
        last = len(written)
        written.append(context.share(team.pk, name="facts", value=f"v{last + 1}", by=by, version=last))

    assert at_each_statement(look, write=write, back=lambda: None) > 5
    assert all(value == f"v{number}" for number, value in seen), seen


def session_of(browser_of, user):
    return browser_of(user).cookies["crewdesk_session"].value


def test_who_may_not_look_any_more_is_sent_away_and_the_others_go_on(monkeypatch, lead, team, run, browser_of):
    """A session whose password was changed is removed while it is read: within a moment that only reads it could not be."""
    monkeypatch.setattr(module, "close_old_connections", lambda: None)
    anna, ben = session_of(browser_of, lead), session_of(browser_of, make.UserFactory(username="ben", is_superuser=True))
    view = View("team", team.slug, frozenset({team.pk}), frozenset({team.pk}))
    stale, good = Ticket(anna, "team", team.slug, ""), Ticket(ben, "team", team.slug, "")
    type(lead).objects.filter(pk=lead.pk).update(password="pbkdf2_sha256$1$other$x")
    found = module.refresh(Order({}, {team.pk: 0}, joins=(good, stale), checks=((stale, view),)), Pace())
    assert found.joins[stale] == found.checks[stale, view] == Refused(Close.SIGNED_OUT, "not signed in")
    assert isinstance(found.joins[good], Admitted)
    assert not Session.objects.filter(session_key=anna).exists()


def test_a_block_whose_statement_fails_takes_no_other_with_it(monkeypatch, team, run):
    monkeypatch.setattr(module, "close_old_connections", lambda: None)

    def broken(*_):
        with connection.cursor() as cursor:
            cursor.execute("SELECT no_such_thing")

    monkeypatch.setattr(Kpis, "context", broken)
    ids, rights = frozenset({team.pk}), frozenset({team.pk})
    first, second = View("overview", "", ids, rights), View("team", team.slug, ids, rights)
    rooms = module.refresh(Order({first: Shown(()), second: Shown(())}, {team.pk: 0}, everything=True), Pace()).rooms
    assert rooms[first].shown.broken == {"kpis"}
    assert "team-list" in rooms[first].html
    assert not rooms[second].shown.broken
    assert rooms[second].html


def test_the_status_of_a_team_that_is_gone_is_said_in_words(run):
    with pytest.raises(NotFound, match="There is no such team"):
        status.read(0, timezone.now())


def test_what_the_hub_draws_is_of_one_moment_too(team, run, monkeypatch):
    monkeypatch.setattr(module, "close_old_connections", lambda: None)
    view = View("team", team.slug, frozenset({team.pk}), frozenset({team.pk}))
    order = Order({view: Shown(())}, {team.pk: 0}, everything=True)

    def look():
        news = module.refresh(order, Pace()).rooms[view]
        assert not news.resync
        assert not news.shown.broken

    assert at_each_statement(look, write=lambda: make.DecisionFactory(run=run), back=Decision.objects.all().delete) > 10
