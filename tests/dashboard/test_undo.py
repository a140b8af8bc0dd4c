"""What was just done is said with a button that takes it back, where that can be; it works without scripts."""

import html
import re

import pytest
from django.core import signing
from django.urls import reverse

from dashboard.views.act import SALT
from tasks_app.domain.statuses import DecisionKind, TaskStatus
from tests import factories as make
from tests.dashboard.conftest import html_of, words_of


@pytest.fixture
def task(team):
    type(team).objects.update(status="paused")
    return make.TaskFactory(team=team, number=4)


def undo(client, response):
    token = re.search(r'name="undo" value="([^"]+)"', response.content.decode())
    assert token, "no undo is offered"
    return client.post(reverse("undo"), {"undo": html.unescape(token[1])}, follow=True)


def test_cancelling_a_queued_task_can_be_taken_back_once(desk, task):
    done = desk.post(reverse("task-action", args=[task.pk]), {"do": "cancel", "why": ""}, follow=True)
    assert "Cancelled. What depends on it stays blocked. Undo" in words_of(done)
    back = undo(desk, done)
    assert "Undone: T-4 is as it was in the queue." in words_of(back)
    task.refresh_from_db()
    assert task.status == TaskStatus.PENDING
    refused = undo(desk, done)
    assert refused.status_code == 409
    assert "That cannot be undone any more." in words_of(refused)
    assert "took the cancelling of T-4" in words_of(desk.get(reverse("history")))


def test_giving_a_task_to_another_agent_can_be_taken_back(desk, team, task):
    agent = make.AgentFactory(team=team, name="ada")
    fields = {"do": "reassign", "agent": str(agent.pk), "start": "clean", "guidance": "Look at DST."}
    done = desk.post(reverse("task-action", args=[task.pk]), fields, follow=True)
    assert "Undone: T-4 is as it was before." in words_of(undo(desk, done))
    task.refresh_from_db()
    assert (task.assignee_id, task.guidance) == (None, "")


def test_a_snooze_can_be_taken_back(desk, team):
    run = make.RunFactory(task__team=team, agent__team=team)
    asked = make.DecisionFactory(run=run, kind=DecisionKind.QUESTION.value)
    done = desk.post(reverse("decision-snooze", args=[asked.pk]), {"minutes": "5"}, follow=True)
    assert "Snoozed for 5 min: " in words_of(done)
    back = undo(desk, done)
    assert back.redirect_chain[-1][0] == reverse("inbox-detail", args=[asked.pk])
    asked.refresh_from_db()
    assert asked.snoozed_until is None


def test_an_answer_to_an_agent_is_not_taken_back(desk, team):
    run = make.RunFactory(task__team=team, agent__team=team)
    asked = make.DecisionFactory(run=run, kind=DecisionKind.STALL.value)
    fields = {"choice": "wait", "version": "1", "payload_hash": asked.payload_hash}
    done = desk.post(reverse("decision-answer", args=[asked.pk]), fields, follow=True)
    assert "it cannot be undone" in words_of(done)
    assert 'name="undo"' not in html_of(done)


@pytest.mark.parametrize("token", ["", "x", "x:y:z"])
def test_what_no_page_of_ours_sends_is_refused_in_words(desk, token):
    assert desk.post(reverse("undo"), {"undo": token}).status_code == 422


@pytest.mark.parametrize("signed", [{"act": "exploded"}, 3])
def test_what_we_signed_but_do_not_know_is_refused_in_words(desk, signed):
    assert desk.post(reverse("undo"), {"undo": signing.dumps(signed, salt=SALT)}).status_code == 422


def test_nobody_undoes_what_they_may_not_do(desk, watcher, stranger, task):
    done = desk.post(reverse("task-action", args=[task.pk]), {"do": "cancel", "why": ""}, follow=True)
    assert [undo(client, done).status_code for client in (watcher, stranger)] == [403, 404]
    task.refresh_from_db()
    assert task.status == TaskStatus.CANCELLED


def test_what_was_answered_stays_in_the_list_for_a_moment_with_the_answer(desk, team):
    runs = [make.RunFactory(task__team=team, agent__team=team) for _ in range(2)]
    first, _ = (make.DecisionFactory(run=run, kind=DecisionKind.STALL.value) for run in runs)
    fields = {"choice": "wait", "version": "1", "payload_hash": first.payload_hash}
    done = desk.post(reverse("decision-answer", args=[first.pk]), fields, follow=True)
    row = f'<a id="row-{first.pk}" class="item gone"'
    assert row in html_of(done)
    assert "To wait." in words_of(done)
    assert row not in html_of(desk.get(reverse("inbox"))), "once"
