"""A task is added to a running team and changed while it waits, by the lead alone."""

import re

import pytest
from django.urls import reverse

from tasks_app.models import Task
from tests import factories as make
from tests.dashboard.conftest import html_of, words_of

FORM = {"title": "Export bills", "criteria": "check: pytest -q\nIt is there", "who": "", "minutes": "5-20", "priority": "3"}


@pytest.fixture
def crew(team):
    """Atlas with a builder and a task that is under way."""
    make.AgentFactory(team=team, name="ada", role="builder")
    task = make.TaskFactory(team=team, number=1, title="Schema", in_progress=True)
    type(team).objects.update(last_task_number=1)
    return task


def add(browser, **fields):
    return browser.post(reverse("task-add", args=["atlas"]), {**FORM, "do": "add", **fields}, follow=True)


def test_the_board_leads_to_a_form_that_adds_a_task(desk, crew):
    assert reverse("task-new", args=["atlas"]) in html_of(desk.get(reverse("team", args=["atlas"])))
    assert "New task for Atlas" in words_of(desk.get(reverse("task-new", args=["atlas"])))
    said = words_of(add(desk, depends_on="t-1", who="role:builder", usd="2.50", description="In `bills.py`"))
    assert "T-2 is added" in said
    assert "Blocked by T-1 Schema" in said
    task = Task.objects.get(number=2)
    assert (task.role, task.priority, task.expected_max, float(task.budget_usd)) == ("builder", 3, 20, 2.5)
    assert task.criteria == [{"check": "pytest -q"}, "It is there"]


def test_check_shows_what_could_be_written_better_and_adds_nothing(desk, crew):
    said = words_of(add(desk, do="check", title="Fix things"))
    assert "Could be written better" in said
    assert "“Fix things” could be any task." in said
    assert Task.objects.count() == 1


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("title", "", "Say in a few words"),
        ("criteria", "", "at least one acceptance criterion"),
        ("criteria", "A\nB\nA", "line 3 repeats line 1"),
        ("criteria", "artifact: /etc/passwd", "path inside the workspace"),
        ("minutes", "soon", "such as 5-30"),
        ("priority", "x", "from 0 (first) to 9"),
        ("depends_on", "T-9", "There are T-1 to T-1"),
        ("who", "agent:999", "not an agent of this team"),
        ("who", "role:zoo", "Nobody in this team has the role"),
        ("usd", "-1", "above 0"),
        ("usd", "0.00001", "from $0.01 to $1,000,000"),
        ("tokens", "0", "from 1 to"),
    ],
)
def test_what_is_wrong_is_said_at_its_field_and_what_was_typed_is_kept(desk, crew, field, value, said):
    answer = add(desk, **{"description": "Kept words", field: value})
    assert answer.status_code == 422
    page = html_of(answer)
    assert re.search(rf'<p class="error"[^>]*>[^<]*{re.escape(said)}', page)
    assert "Kept words" in page
    assert Task.objects.count() == 1


def save(browser, task, **fields):
    page = html_of(browser.get(reverse("task-edit", args=[task.pk])))
    made_from = re.search(r'name="made_from" value="(\w+)"', page)[1]
    return browser.post(
        reverse("task-save", args=[task.pk]), {**FORM, "do": "save", "made_from": made_from, **fields}, follow=True
    )


def test_a_task_that_waits_is_edited_and_history_tells(desk, team, crew):
    task = make.TaskFactory(team=team, number=2, title="Old", criteria=[{"check": "make", "seconds": 300.0}])
    assert reverse("task-edit", args=[task.pk]) in html_of(desk.get(reverse("task", args=[task.pk])))
    said = words_of(save(desk, task, criteria="check: make\nMore", who=f"agent:{team.agents.get().pk}"))
    assert "The task is changed" in said
    task.refresh_from_db()
    assert (task.title, task.assignee.name) == ("Export bills", "ada")
    assert task.criteria == [{"check": "make", "seconds": 300.0}, "More"], "what a line cannot say is kept"
    assert "changed T-2 Export bills" in words_of(desk.get(reverse("history")))


def test_an_attempt_that_has_begun_is_not_changed_and_says_what_to_do(desk, crew):
    assert reverse("task-edit", args=[crew.pk]) not in html_of(desk.get(reverse("task", args=[crew.pk])))
    answer = save(desk, crew)
    assert answer.status_code == 409
    assert "Send its agent a message" in words_of(answer)


def test_who_edits_an_older_text_is_told_and_overwrites_nothing(desk, team, crew):
    task = make.TaskFactory(team=team, number=2, title="Old")
    answer = save(desk, task, made_from="0123")
    assert answer.status_code == 409
    assert "changed while you wrote" in words_of(answer)
    assert "Title, now Old Title, as you wrote it Export bills" in words_of(answer)
    assert 'value="Export bills"' in html_of(answer)
    task.refresh_from_db()
    assert task.title == "Old"
    again = re.search(r'name="made_from" value="(\w+)"', html_of(answer))[1]
    assert save(desk, task, made_from=again).status_code == 200, "who has seen both may replace it"


def test_a_cancelled_blocker_has_a_way_out_on_the_page(desk, team):
    make.AgentFactory(team=team)
    first = make.TaskFactory(team=team, number=1, title="Schema", cancelled=True)
    second = make.TaskFactory(team=team, number=2, needs=[first])
    page = desk.get(reverse("task", args=[second.pk]))
    assert "It need not wait: remove a dependency" in words_of(page)
    act = reverse("task-action", args=[second.pk])
    assert "It no longer waits for that." in words_of(desk.post(act, {"do": "unblock", "needs": first.pk}, follow=True))
    assert not second.dependencies.exists()
    assert "It waits for that now" in words_of(desk.post(act, {"do": "depend", "depends_on": "T-1"}, follow=True))
    circle = desk.post(reverse("task-action", args=[first.pk]), {"do": "depend", "depends_on": "T-2"})
    assert circle.status_code == 409, "it is over"


def test_a_circle_is_refused_with_its_path_at_the_field(desk, team):
    first = make.TaskFactory(team=team, number=1)
    make.TaskFactory(team=team, number=2, needs=[first])
    answer = desk.post(reverse("task-action", args=[first.pk]), {"do": "depend", "depends_on": "T-2"})
    assert answer.status_code == 422
    assert re.search(r'<p class="error"[^>]*>[^<]*T-1 → T-2 → T-1', html_of(answer))


def test_only_a_lead_may(watcher, stranger, team, crew):
    task = make.TaskFactory(team=team, number=2)
    for browser, status in ((watcher, 403), (stranger, 404)):
        for name, key in (("task-new", "atlas"), ("task-edit", task.pk)):
            assert browser.get(reverse(name, args=[key])).status_code == status
        assert add(browser).status_code == status
        assert browser.post(reverse("task-save", args=[task.pk]), FORM).status_code == status
        answer = browser.post(reverse("task-action", args=[task.pk]), {"do": "unblock", "needs": crew.pk})
        assert answer.status_code == status
    page = html_of(watcher.get(reverse("task", args=[task.pk])))
    assert "Edit task" not in page
    assert Task.objects.count() == 2
