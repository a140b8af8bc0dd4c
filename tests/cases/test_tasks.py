"""N01, N08 and N10 through the pages: what was blocked, whose owner is gone, who is called the same."""

import re

import pytest
from django.urls import reverse

from tasks_app.domain.statuses import Reason
from tasks_app.execution import outcome
from tasks_app.models import Agent, Decision, Message, Run, Task, Team
from tasks_app.runners.port import Outcome, OutcomeKind
from tasks_app.services import recovery
from tests import factories
from tests.dashboard.conftest import html_of, words_of
from tests.services import world

pytestmark = pytest.mark.django_db


def everywhere(browser, task):
    """What the board, the table, the task's page, its team's bar and the API say, as one text each."""
    slug = task.team.slug
    addresses = [reverse("team", args=[slug]), reverse("team", args=[slug]) + "?view=table", reverse("task", args=[task.pk])]
    return [*(words_of(browser.get(address)) for address in addresses), browser.get(f"/api/teams/{slug}").content.decode()]


def press(browser, name, key, **fields):
    """Press a button; returns the page that comes of it."""
    return browser.post(reverse(name, args=[key]), fields, follow=True)


# -- N01

BLOCKED = r'(?i)blocked(?! 0\b)(?!_by": \[\])'  # but for the empty column of the board and the empty list of the API


def test_a_completed_blocker_blocks_nowhere_any_more_and_stays_as_history(anna):
    crew = world.make(titles=("First", "Then"), chain=True)
    Team.objects.update(status="paused")  # else it would start at once
    browser, (first, second) = anna(crew), crew.tasks
    for said in everywhere(browser, second):
        assert re.search(BLOCKED, said), said
    assert "Completed by hand." in words_of(press(browser, "task-action", first.pk, do="complete", note="Done."))
    for said in everywhere(browser, second):
        assert "Then" in said
        assert not re.search(BLOCKED, said), said
    assert "Depends on T-1 ✓" in words_of(browser.get(reverse("task", args=[second.pk])))
    assert "Queued" in words_of(browser.get(reverse("task", args=[second.pk])))


# -- N08


def lost(crew):
    """The run of the first task, whose worker died without a word."""
    held = crew.claim()
    world.expire_lease(held.id)
    return held


def test_a_task_whose_owner_is_gone_says_so_everywhere_and_raises_attention(anna):
    crew = world.make()
    held = lost(crew)
    factories.WorkerFactory()
    browser, task = anna(crew), crew.tasks[0]
    page = browser.get(reverse("task", args=[task.pk]))
    assert "Its worker is gone: another takes it up." in words_of(page)
    assert "Lost" in words_of(browser.get(reverse("overview")))
    assert re.search(r"builder-1 Lost .*no heartbeat for", words_of(browser.get(reverse("team", args=[crew.team.slug]))))
    recovery.sweep()
    run = Run.objects.get(pk=held.id)
    assert (run.status, run.reason, run.attempt, crew.task().status) == ("pending", "worker_lost", 1, "in_progress")
    assert "Its worker was lost" in words_of(browser.get(reverse("task", args=[task.pk])))


@pytest.mark.parametrize(
    ("name", "fields", "status", "attempts"),
    [
        ("run-stop", {}, "pending", 1),
        ("task-action", {"do": "complete", "note": "I did it."}, "completed", 1),
        ("task-action", {"do": "reassign", "agent": "", "start": "last", "guidance": "Go on."}, "in_progress", 2),
    ],
    ids=["release", "complete", "retry"],
)
def test_the_lead_may_release_complete_or_retry_what_has_lost_its_owner(anna, name, fields, status, attempts):
    crew = world.make()
    held = lost(crew)
    recovery.sweep()
    response = press(anna(crew), name, held.id if name == "run-stop" else held.task_id, **fields)
    assert response.status_code == 200, words_of(response)
    assert (crew.task().status, Run.objects.count(), Task.objects.count()) == (status, attempts, 1)
    assert Run.objects.get(pk=held.id).status == "killed"


def ends_silently(held):
    """The process ends its turn twice without a word about the task."""
    for asked_again in (True, False):
        assert outcome.settle(held, Outcome(OutcomeKind.ENDED), leaving_for=None, may_ask=asked_again).again is asked_again


def test_an_agent_that_finishes_without_touching_its_task_has_failed_an_attempt_and_the_next_is_of_the_same_task(anna):
    crew = world.make(titles=("A", "B"), chain=True)
    held = crew.claim()
    ends_silently(held)
    browser, (first, second) = anna(crew), crew.tasks
    page = words_of(browser.get(reverse("task", args=[first.pk])))
    assert "Ended twice without a report" in page
    assert "Attempt 2" in page
    again = Run.objects.get(attempt=2)
    assert (again.task_id, Task.objects.count(), crew.task().attempts) == (first.pk, 2, 1)
    assert "Blocked by T-1 A" in words_of(browser.get(reverse("task", args=[second.pk])))
    later = world.take(again.pk)
    outcome.runs.report(later.id, later.fence, {"status": "completed", "evidence": {"1": "yes"}, "summary": "s"})
    outcome.settle(later, Outcome(OutcomeKind.ENDED), leaving_for=None)
    assert Run.objects.filter(task=second).exists(), "what depends on it follows the second attempt"


def test_after_the_last_silent_attempt_the_lead_is_asked(anna):
    crew = world.make(agents=1, limits={"on_failure": "ask"})
    ends_silently(crew.claim())
    browser = anna(crew)
    assert Decision.objects.get().kind == "escalation"
    assert "1 waiting for you" in words_of(browser.get(reverse("overview")))
    assert crew.task().status == "pending"
    assert Run.objects.get().reason == Reason.UNREPORTED


# -- N10

THREE_WRITERS = """\
team: Authors
agents:
  - {name: Writer, role: writer}
  - {name: Writer%s, role: writer}
  - {name: Writer%s, role: writer}
tasks:
  - {key: write, title: Write it, criteria: [It reads.], assignee: Writer}
"""


@pytest.fixture
def new_team(desk, tmp_path, settings):
    """Return a function that sends a plan through the page New team: checks it, and starts it where it is good."""
    settings.HOME = tmp_path

    def send(plan):
        fields = {"plan": plan, "rehearsal": "1"}
        checked = desk.post(reverse("team-create"), {**fields, "do": "check"})
        found = re.search(r'name="checked" value="(\w{64})"', html_of(checked))
        if not found:
            return checked
        return desk.post(reverse("team-create"), {**fields, "do": "start", "checked": found[1]}, follow=True)

    return send


def test_three_agents_of_one_name_are_refused_with_a_name_that_is_free(new_team):
    refused = new_team(THREE_WRITERS % ("", ""))
    assert refused.status_code == 422
    assert "agents[1].name" in words_of(refused)
    said = words_of(refused)
    offered = re.search(r"agents\[1\]\.name.*Writer-2.*agents\[2\]\.name.*Writer-3", said)
    assert offered, "each is offered a name of its own: with both there is no third refusal"
    assert not Agent.objects.exists()


def test_names_that_are_alike_are_told_apart_and_a_task_and_a_message_go_to_one(new_team, desk):
    page = new_team(THREE_WRITERS % ("-2", "-3"))
    assert page.status_code == 200, words_of(page)
    writers = list(Agent.objects.order_by("position").values_list("name", flat=True))
    assert writers == ["Writer", "Writer-2", "Writer-3"]
    assert [f"{name} (writer)" in words_of(page) for name in writers] == [True] * 3
    slug = Agent.objects.first().team.slug
    press(desk, "message-send", slug, to="writer", body="For one of you.")
    first = Agent.objects.get(name="Writer")
    assert Message.objects.get().recipient == first
    assert list(Run.objects.values_list("agent", flat=True)) == [first.pk]
    pages = [words_of(desk.get(reverse("agent", args=[agent.pk]))) for agent in Agent.objects.order_by("position")]
    assert ["For one of you." in page for page in pages] == [True, False, False]
    assert ["T-1" in page for page in pages] == [True, False, False]
