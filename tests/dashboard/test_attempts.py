"""The attempts of a task on its page: the newest side by side, all of them when asked for."""

import html
import re
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from dashboard.access import viewer_for
from dashboard.panels import registry
from dashboard.panels.base import render
from tasks_app.selectors import attempts
from tests import factories as make
from tests.dashboard.conftest import html_of, words_of

MORE = attempts.MOST + 3


@pytest.fixture
def task(team):
    return make.TaskFactory(team=team)


def tried(task, count):
    agent = make.AgentFactory(team=task.team)
    for number in range(1, count + 1):
        make.RunFactory(
            task=task, agent=agent, attempt=number, status="failed", reason="reported", dossier={"error": f"No. {number}"}
        )


def shown(answer):
    return [int(number) for number in re.findall(r">Attempt (\d+)</h3>", html_of(answer))]


def test_of_many_attempts_the_newest_are_shown_and_all_when_asked_for(desk, task):
    tried(task, MORE)
    address = reverse("task", args=[task.pk])
    answer = desk.get(address)
    assert shown(answer) == list(range(4, MORE + 1))
    assert f"Showing the newest {attempts.MOST} of {MORE} attempts. Show all {MORE}" in words_of(answer)
    assert f'href="{address}?attempts=all#attempts-h">Show all {MORE}</a>' in html_of(answer)
    assert f"No. {MORE}" in words_of(answer)
    everything = desk.get(address, {"attempts": "all"})
    assert shown(everything) == list(range(1, MORE + 1))
    assert f"Showing all {MORE} attempts. Show the newest {attempts.MOST}" in words_of(everything)
    assert f'href="{address}#attempts-h">Show the newest' in html_of(everything)


@pytest.mark.parametrize("count", [1, attempts.MOST])
def test_a_few_attempts_are_all_shown_and_nothing_is_said_of_it(desk, task, count):
    tried(task, count)
    answer = desk.get(reverse("task", args=[task.pk]), {"attempts": "nonsense"})
    assert shown(answer) == list(range(1, count + 1))
    assert "Show" not in words_of(answer)


def test_attempts_whose_numbers_have_gaps_are_counted(desk, task):
    tried(task, 2)
    make.RunFactory(task=task, agent=make.AgentFactory(team=task.team), attempt=9, status="failed", reason="reported")
    answer = desk.get(reverse("task", args=[task.pk]))
    assert shown(answer) == [1, 2, 9]
    assert "Show" not in words_of(answer)


@pytest.mark.parametrize(("asked", "first"), [({"attempts": "all"}, 1), ({}, 4)])
def test_the_socket_of_the_page_shows_the_same_attempts(desk, lead, team, task, asked, first):
    tried(task, MORE)
    answer = desk.get(reverse("task", args=[task.pk]), asked)
    place = dict(parse_qsl(urlsplit(answer.context["live_url"]).query))
    viewer = viewer_for(lead)
    drawn = [render(block, viewer) for block in registry.blocks(place["page"], place["arg"], viewer)]
    [block] = [found for found in drawn if found and 'id="task-attempts' in found]
    assert [int(number) for number in re.findall(r">Attempt (\d+)</h3>", block)] == list(range(first, MORE + 1))


@pytest.mark.parametrize(("query", "first"), [("?attempts=all", 1), ("", 4)])
@pytest.mark.parametrize("do", ["budget", "guidance", "preview", "nonsense"])
def test_what_a_form_answers_shows_the_attempts_that_its_page_shows(desk, task, do, query, first):
    tried(task, MORE)
    at = f"http://testserver{reverse('task', args=[task.pk])}{query}"
    headers = {"HX-Request": "true", "HX-Current-URL": at}
    answer = desk.post(reverse("task-action", args=[task.pk]), {"do": do, "words": "Go on."}, headers=headers, follow=True)
    assert shown(answer) == list(range(first, MORE + 1))


def test_a_page_of_tasks_reads_them_and_the_open_runs_once(desk, team, task):
    tried(task, 1)
    with CaptureQueriesContext(connection) as queries:
        assert desk.get(reverse("team", args=[team.slug]) + "?view=table").status_code == 200
    said = [query["sql"] for query in queries.captured_queries]
    assert len([sql for sql in said if '"took_s"' in sql]) == 1
    assert len([sql for sql in said if '"database_s"' in sql]) == 1


@pytest.mark.parametrize(
    "page", ["http://[", "http://[::1", "?attempts=all&" * 1001, "#?attempts=all", "attempts=all", "é?attempts=al"]
)
def test_an_odd_page_is_taken_for_the_newest(desk, task, page):
    tried(task, MORE)
    headers = {"HX-Request": "true", "HX-Current-URL": page}
    answer = desk.post(reverse("task-action", args=[task.pk]), {"do": "nonsense"}, headers=headers)
    assert len(shown(answer)) == (MORE if "all&" in page else attempts.MOST)


def test_undo_comes_back_to_the_attempts_that_the_page_showed(desk, task):
    tried(task, MORE)
    at = f"http://testserver{reverse('task', args=[task.pk])}?attempts=all"
    headers = {"HX-Request": "true", "HX-Current-URL": at}
    answer = desk.post(
        reverse("task-action", args=[task.pk]), {"do": "cancel", "why": "Not needed."}, headers=headers, follow=True
    )
    token = html.unescape(re.search(r'name="undo" value="([^"]+)"', html_of(answer))[1])
    assert desk.post(reverse("undo"), {"undo": token}, headers=headers).url == reverse("task", args=[task.pk]) + "?attempts=all"
