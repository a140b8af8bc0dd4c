"""The graph of a team: every task in its place with its state, what waits for what as lines, the longest open chain in words."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from dashboard.panels import graph
from tasks_app.models import Dependency
from tests import factories as make
from tests.dashboard.conftest import html_of, words_of


@pytest.fixture
def show(board):
    return lambda query="?view=graph": board(query)


def corners(response):
    """The left edge of each task's place by its title."""
    found = re.findall(r'<foreignObject x="([\d.]+)".*?title="T-\d+ ([^"]+)"', html_of(response), re.DOTALL)
    return {title: float(x) for x, title in found}


def test_each_task_stands_right_of_what_it_waits_for_with_its_state_and_a_link(show, team):
    done = make.TaskFactory(team=team, done=True, title="Alpha")
    failed = make.TaskFactory(team=team, gave_up=True, title="Beta")
    last = make.TaskFactory(team=team, needs=[done, failed], title="Gamma")
    page = show()
    left = corners(page)
    assert left["Alpha"] == left["Beta"] < left["Gamma"]
    assert html_of(page).count("<path d=") == 2
    node = html_of(page).split(f'id="node-{last.pk}"')[1].split("</article>")[0]
    assert "s-block" in node[:40]
    assert "Blocked" in node
    assert reverse("task", args=[last.pk]) in node


def test_the_longest_open_chain_is_named_with_its_time(show, team):
    one = make.TaskFactory(team=team, number=11, expected_min=5, expected_max=10)
    two = make.TaskFactory(team=team, number=12, expected_min=5, expected_max=20, needs=[one])
    make.TaskFactory(team=team, number=13, expected_min=5, expected_max=25, needs=[make.TaskFactory(team=team, done=True)])
    assert "Longest open chain: T-11 → T-12 , about 10–30 min" in words_of(show())
    type(one).objects.filter(pk__in=[one.pk, two.pk]).update(status="cancelled")
    assert "Longest open chain: T-13 , about 5–25 min" in words_of(show())


def test_a_circle_in_imported_tasks_is_drawn_and_does_not_hang(show, team):
    one, two = make.TaskFactory(team=team, title="One"), make.TaskFactory(team=team, title="Two")
    for task, needs in ((one, two), (two, one)):
        Dependency.objects.create(task=task, needs=needs)
    page = show()
    assert set(corners(page)) == {"One", "Two"}
    assert "Nothing is open" in words_of(page)


def test_a_large_graph_shows_what_is_open_and_its_neighbours_until_all_is_asked_for(show, team, monkeypatch):
    monkeypatch.setattr(graph, "SHOWN", 2)
    far = make.TaskFactory(team=team, done=True, title="Far")
    near = make.TaskFactory(team=team, done=True, title="Near", needs=[far])
    make.TaskFactory(team=team, title="Open", needs=[near])
    page = show()
    assert set(corners(page)) == {"Near", "Open"}
    assert "Showing 2 open tasks and what is next to them, of 3. Show all 3" in words_of(page)
    assert set(corners(show("?view=graph&all=1"))) == {"Far", "Near", "Open"}


def test_a_filter_holds_in_the_graph_too_and_an_empty_one_says_so(show, team):
    assert "This team has no task yet." in words_of(show())
    make.TaskFactory(team=team, title="Billing page")
    make.TaskFactory(team=team, title="Other thing")
    assert set(corners(show("?view=graph&q=billing"))) == {"Billing page"}
    page = show("?view=graph&q=nothing-like-it")
    assert "No task matches. Clear filters" in words_of(page)
    assert '<input type="hidden" name="view" value="graph">' in html_of(page)


def test_the_number_of_queries_does_not_grow_with_the_tasks(show, team):
    counts = []
    for more in (2, 30):
        previous = None
        for _ in range(more):
            previous = make.TaskFactory(team=team, needs=[previous] if previous else [])
        with CaptureQueriesContext(connection) as queries:
            show()
        counts.append(len(queries))
    assert counts[0] == counts[1]
