"""What a request says of the time it has: each kind in its own words."""

import datetime as dt

import pytest
from django.urls import reverse
from django.utils import timezone

from tasks_app.services import expiry
from tests import factories as make
from tests.dashboard.conftest import words_of


@pytest.mark.parametrize(
    ("kind", "then", "meant"),
    [
        ("permission", "it is denied", "it counts as denied"),
        ("question", "the agent decides itself", "it was left to the agent"),
        ("escalation", "nothing is chosen", "nothing was chosen"),
        ("plan", "the plan is sent back", "the plan was sent back"),
        ("review", "the work is sent back", "the work was sent back"),
        ("budget", "nothing is raised", "nothing was raised"),
        ("stall", "nothing is done", "nothing was done"),
    ],
)
def test_each_kind_says_what_comes_of_it_without_an_answer(desk, team, kind, then, meant):
    run = make.RunFactory(task__team=team, agent__team=team)
    item = make.DecisionFactory(run=run, kind=kind, expires_at=timezone.now() + dt.timedelta(minutes=6))
    text = words_of(desk.get(reverse("inbox-detail", args=[item.pk])))
    assert f", then {then}" in text
    assert f"If nobody answers {then} at" in text
    type(item).objects.update(expires_at=timezone.now() - dt.timedelta(seconds=1))
    expiry.expire_due()
    assert f": {meant}. Nobody answered in time" in words_of(desk.get(reverse("inbox-detail", args=[item.pk])))
    assert f"in time: {meant}" in words_of(desk.get(reverse("history")))
    item.refresh_from_db()
    assert (item.choice == "") == (then.startswith("nothing"))


def test_the_head_of_the_inbox_counts_what_waits_and_what_is_snoozed(desk, team):
    for minutes in (5, None):
        run = make.RunFactory(task__team=team, agent__team=team)
        asleep = timezone.now() + dt.timedelta(minutes=minutes) if minutes else None
        make.DecisionFactory(run=run, snoozed_until=asleep)
    assert "Inbox Waiting 2 · Snoozed 1" in words_of(desk.get(reverse("inbox")))


def test_the_banner_of_a_page_that_hears_nothing_has_a_place_for_the_moment(desk, team):
    assert "What you see may be old. Reload" in words_of(desk.get(reverse("overview")))
    assert b'id="conn-since"' in desk.get(reverse("overview")).content
