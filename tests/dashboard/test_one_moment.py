"""A page is of one moment: whatever others write while it is read, it is neither torn nor an error."""

from itertools import count

import pytest
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from dashboard.live import refresh as module
from dashboard.live.orders import Order, Shown, View
from dashboard.live.pace import Pace
from tasks_app.domain.errors import NotFound
from tasks_app.management import status
from tasks_app.models import Decision, Run, Task
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
