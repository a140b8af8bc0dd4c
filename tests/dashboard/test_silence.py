"""Every page says while no worker answers although there is work, and stops by itself."""

import time

import pytest
from django.urls import reverse

from dashboard.live import refresh as module
from dashboard.live.orders import Order, Shown, View
from dashboard.live.pace import Pace
from tests import factories as make
from tests.dashboard.conftest import words_of
from tests.management.commands import run

NAMES = ("overview", "inbox", "history", "teams", "team-new")


@pytest.fixture
def work(team):
    """A task that could start at once."""
    return make.TaskFactory(team=team)


@pytest.mark.parametrize("name", NAMES)
def test_every_page_says_that_no_worker_answers_and_how_to_start_one(desk, work, name):
    make.WorkerFactory(seen_at=time.time() - 100)
    said = words_of(desk.get(reverse(name)))
    assert "No worker answers since" in said
    assert "Nothing goes on until one is back" in said
    assert "manage.py up" in said
    make.WorkerFactory()
    assert "No worker answers" not in words_of(desk.get(reverse(name)))


def test_who_sees_no_work_is_not_told(stranger, work):
    assert "No worker answers" not in words_of(stranger.get(reverse("overview")))


def test_the_slow_timer_tells_open_pages_without_any_event_and_takes_it_back(lead, team, work, monkeypatch):
    monkeypatch.setattr(module, "close_old_connections", lambda: None)
    worker = make.WorkerFactory()
    view = View("overview", "", frozenset({team.pk}), frozenset({team.pk}))
    first = look(view, Shown(()), None, everything=True)
    assert first.answering
    assert "No worker answers" not in first.rooms[view].html["silence"]

    type(worker).objects.update(seen_at=time.time() - 100)
    second = look(view, first.rooms[view].shown, first.answering)
    assert "No worker answers" in second.rooms[view].html["silence"]

    type(worker).objects.update(seen_at=time.time())
    third = look(view, second.rooms[view].shown, second.answering)
    assert "No worker answers" not in third.rooms[view].html["silence"]
    assert not look(view, third.rooms[view].shown, third.answering).rooms[view].html


def look(view, shown, answering, *, everything=False):
    """One look of the slow timer."""
    order = Order({view: shown}, dict.fromkeys(view.team_ids, 0), look=None, everything=everything, answering=answering)
    return module.refresh(order, Pace())


def test_the_terminal_says_so_too(team, work):
    assert "No worker answers. Nothing goes on until one is back" in run("team", "status", team.slug)[1]
