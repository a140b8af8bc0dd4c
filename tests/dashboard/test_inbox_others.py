"""The inbox beside others: what was just answered keeps its place for a moment, and who looks is told to everybody."""

import datetime as dt
import re
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.urls import reverse
from django.utils import timezone

from dashboard.access import Viewer
from dashboard.panels import pages
from dashboard.panels.inbox_list import Gone, InboxList
from tasks_app.domain.statuses import DecisionKind, DecisionStatus
from tests import factories as make
from tests.dashboard.conftest import html_of, words_of


@pytest.fixture
def ask(team):
    """Return a function that opens a decision of a kind in Atlas."""

    names = iter(["ada", "ben", "cleo"])

    def open_(kind=DecisionKind.PERMISSION, **words):
        run = make.RunFactory(task__team=team, agent__team=team, agent__name=next(names))
        return make.DecisionFactory(run=run, kind=kind.value, **words)

    return open_


@pytest.fixture
def answer(desk):
    """Return a function that answers a decision as its form does."""

    def post(decision, client=desk, **fields):
        seen = {"version": decision.version, "payload_hash": decision.payload_hash}
        response = client.post(reverse("decision-answer", args=[decision.pk]), {**seen, **fields})
        decision.refresh_from_db()
        return response

    return post


def page(client, decision):
    return client.get(reverse("inbox-detail", args=[decision.pk]))


def rows(response):
    return re.findall(r'id="row-(\w+)"\s+class="item([^"]*)"', html_of(response))


def test_what_was_just_answered_stands_greyed_in_its_place_and_only_on_the_next_page(ask, answer, desk):
    first, second, third = (ask(opened_at=timezone.now() - dt.timedelta(minutes=9 - n)) for n in range(3))
    answer(second, choice="deny", note="No.")
    listed = rows(page(desk, first))
    assert [id for id, _ in listed] == [first.pk, second.pk, third.pk]
    assert [("gone" in css) for _, css in listed] == [False, True, False]
    assert [id for id, _ in rows(page(desk, first))] == [first.pk, third.pk]


def test_the_greyed_row_survives_the_frame_that_tells_of_the_same_answer_and_nobody_else_sees_it(ask, answer, desk, team):
    first, second = (ask(opened_at=timezone.now() - dt.timedelta(minutes=9 - n)) for n in range(2))
    answer(first, choice="allow")
    live = re.search(r'data-live="([^"]+)"', html_of(page(desk, second))).group(1).replace("&amp;", "&")
    arg = dict(parse_qsl(urlsplit(live).query))["arg"]
    mine = Viewer(1, "anna", frozenset({team.pk}), frozenset({team.pk}), False)
    for viewer, seen in ((mine, True), (Viewer(2, "eve", frozenset(), frozenset(), False), False)):
        block = InboxList().block("", second.pk, viewer.team_ids, Gone(first.pk, ""))
        shown = InboxList().context(block, viewer)["items"]
        assert (first.pk in [item.id for item in shown]) is seen
    blocks = {block.id: block for block in pages.blocks("inbox", arg, mine)}
    assert blocks["inbox-list"].args == ("", second.pk, first.pk, "")


def test_who_looks_is_told_to_the_others_and_anybody_may_still_answer(ask, answer, desk):
    decision = ask()
    response = desk.post(reverse("decision-looking", args=[decision.pk]), follow=True)
    assert "Anna is looking, for" in words_of(response)
    assert "anna is looking" in words_of(response), "in the list, too"
    assert "I’m looking" not in words_of(response)
    assert desk.get("/api/decisions").json()["decisions"][0]["looking"] == "user:anna"
    type(decision).objects.update(looked_at=timezone.now() - dt.timedelta(minutes=11))
    assert "I’m looking" in words_of(page(desk, decision)), "the word is over after ten minutes"
    answer(decision, choice="allow")
    assert decision.status == DecisionStatus.ANSWERED
    refused = desk.post(reverse("decision-looking", args=[decision.pk]))
    assert refused.status_code == 409


def test_a_session_of_an_earlier_version_breaks_no_page(desk, ask):
    session = desk.session
    session["answered"] = {"id": "d1", "title": "A title", "word": "Allow"}
    session.save()
    assert desk.get(reverse("inbox-detail", args=[ask().pk])).status_code == 200


def test_what_was_answered_while_it_was_snoozed_is_not_snoozed_any_more(ask, answer, desk):
    asked, _ = ask(), ask(DecisionKind.PLAN)
    desk.post(reverse("decision-snooze", args=[asked.pk]), {"minutes": "5"})
    html = html_of(desk.get(answer(asked, choice="allow")["Location"]))
    row = html.partition(f'id="row-{asked.pk}"')[2].partition("</a>")[0]
    assert "Allowed once" in row
    assert "snoozed" not in row


def test_where_everything_is_snoozed_the_bar_does_not_read_as_if_more_waited(ask, desk):
    for said in ("1 waiting for you · snoozed ·", "2 waiting for you · all snoozed ·"):
        desk.post(reverse("decision-snooze", args=[ask().pk]), {"minutes": "5"})
        assert said in words_of(desk.get(reverse("overview")))
