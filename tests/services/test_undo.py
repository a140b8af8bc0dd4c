"""Undo brings a task or a request back as it was, once, and only while nothing has come of the act."""

import pytest

from tasks_app.domain.errors import Conflict
from tasks_app.domain.statuses import DecisionKind, TaskStatus
from tasks_app.models import Decision, Task, Team
from tasks_app.services import actions, undo
from tests.services import asking, world

pytestmark = pytest.mark.django_db
LEAD = "user:ada"
FIELDS = ("status", "assignee_id", "guidance", "start_from", "failed", "held", "attempts_allowed", "not_before", "fork")


@pytest.fixture
def crew():
    made = world.make(titles=("Build", "Test"), agents=2)
    Team.objects.update(status="paused")  # nothing starts by itself
    return made


def stands(crew):
    return Task.objects.filter(pk=crew.tasks[0].pk).values(*FIELDS).get()


def plain(back):
    """As it comes back from a page."""
    return undo.load(back.plain())


def test_a_cancelled_task_is_in_the_queue_again_as_it_was(crew):
    Task.objects.filter(pk=crew.tasks[0].pk).update(assignee=crew.agents[1], guidance="Mind DST.", held=True, attempts_allowed=4)
    before = stands(crew)
    back = undo.cancel(crew.tasks[0].pk, why="no need", actor=LEAD)
    assert stands(crew)["status"] == TaskStatus.CANCELLED
    assert undo.take_back(plain(back), actor=LEAD) == "Undone: T-1 is as it was in the queue."
    assert stands(crew) == before
    assert world.kinds(crew.team)[-2:] == ["task.cancelled", "task.undone"]


def test_a_team_that_ended_with_the_cancelled_task_goes_on(crew):
    actions.cancel(crew.tasks[1].pk, actor=LEAD)
    back = undo.cancel(crew.tasks[0].pk, actor=LEAD)
    undo.take_back(plain(back), actor=LEAD)
    assert Team.objects.get().ended_at is None


def test_a_task_that_was_given_out_again_is_as_it_was_before(crew):
    Task.objects.filter(pk=crew.tasks[0].pk).update(failed=True, attempts=3, guidance="old words", start_from="last")
    before = stands(crew)
    back = undo.reassign(crew.tasks[0].pk, agent_id=crew.agents[1].pk, guidance="new words", start="clean", actor=LEAD)
    assert (stands(crew)["guidance"], stands(crew)["attempts_allowed"]) == ("new words", 4)
    undo.take_back(plain(back), actor=LEAD)
    assert stands(crew) == before


@pytest.mark.parametrize("since", ["undone", "reopened", "moved on", "started"])
def test_what_has_come_of_it_since_is_left_alone(crew, since):
    pk = crew.tasks[0].pk
    back = undo.reassign(pk, agent_id=None, guidance="", start="clean", actor=LEAD)
    if since == "undone":
        undo.take_back(plain(back), actor=LEAD)
    elif since == "reopened":
        actions.cancel(pk, actor=LEAD)
        actions.reopen(pk, why="again", actor=LEAD)
    elif since == "moved on":
        actions.edit_task(pk, {"title": "Other"}, actor=LEAD)
    else:
        Team.objects.update(status="active")
        crew.claim()
    before = world.frozen(crew.team)
    with pytest.raises(Conflict, match=r"^T-1 has changed since: it is .*That cannot be undone any more\.$"):
        undo.take_back(plain(back), actor=LEAD)
    assert world.frozen(crew.team) == before


def test_no_undo_is_offered_for_what_an_undo_would_not_bring_back(crew):
    Team.objects.update(status="active")
    held = crew.claim(1, 1)
    assert undo.cancel(held.task_id, actor=LEAD) is None, "an attempt was stopped"
    given = undo.reassign(crew.tasks[0].pk, agent_id=crew.agents[0].pk, guidance="", start="clean", actor=LEAD)
    assert given is None, "it has started"


def test_a_snooze_is_ended_and_a_request_that_was_answered_meanwhile_is_left_alone(crew):
    Team.objects.update(status="active")
    _, asked = asking.opened(crew, DecisionKind.QUESTION)
    back = undo.snooze(asked.pk, minutes=5, actor=LEAD)
    assert undo.take_back(plain(back), actor=LEAD) == "It waits again as before."
    asked.refresh_from_db()
    assert asked.snoozed_until is None
    Decision.objects.update(status="answered", answered_by="user:eve", answered_at=world.now())
    with pytest.raises(Conflict):
        undo.take_back(plain(back), actor=LEAD)
