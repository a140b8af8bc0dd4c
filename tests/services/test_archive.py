"""A team that has ended is put aside and brought back; one with anything open is not."""

import pytest

from tasks_app.domain.errors import Conflict
from tasks_app.models import Decision, Task, Team
from tasks_app.services import actions, decisions, teams
from tests.services import world

pytestmark = pytest.mark.django_db
LEAD = "user:lead"


def done():
    """A team whose only task was completed by hand."""
    crew = world.make()
    actions.complete_by_hand(crew.tasks[0].pk, actor=LEAD)
    return crew


def archived(crew):
    return Team.objects.get(pk=crew.team.pk).archived_at is not None


def refused(crew, words):
    before = world.frozen(crew.team)
    with pytest.raises(Conflict, match=words):
        teams.archive(crew.team.pk, actor=LEAD)
    assert world.frozen(crew.team) == before
    assert not archived(crew)


def test_a_team_whose_tasks_are_all_done_or_cancelled_is_archived_and_brought_back():
    crew = world.make(titles=("One", "Two"))
    actions.complete_by_hand(crew.tasks[0].pk, actor=LEAD)
    actions.cancel(crew.tasks[1].pk, actor=LEAD)
    teams.archive(crew.team.pk, actor=LEAD)
    assert archived(crew)
    teams.restore(crew.team.pk, actor=LEAD)
    assert not archived(crew)
    assert world.kinds(crew.team)[-2:] == ["team.archived", "team.restored"]


def test_a_stopped_team_is_archived_with_what_it_has_left():
    crew = world.make()
    actions.stop_team(crew.team.pk, actor=LEAD)
    teams.archive(crew.team.pk, actor=LEAD)
    assert archived(crew)
    assert Task.objects.get().status == "pending"


def test_a_team_with_something_left_to_do_is_not_and_the_task_is_named():
    refused(world.make(titles=("Build", "Ship")), "T-1 Build is not done. Finish or cancel what is left, or stop the team.")


def test_a_team_with_an_open_attempt_is_not_even_when_it_is_being_stopped():
    crew = world.make()
    crew.claim()
    refused(crew, "builder-1 has an open attempt at T-1. Stop the team, or wait until it has ended.")
    actions.stop_team(crew.team.pk, actor=LEAD)
    refused(crew, "builder-1 has an open attempt at T-1")


def test_a_team_with_an_open_request_is_not_and_the_request_is_named():
    crew = world.make()
    held = crew.claim()
    decisions.open_for_run(held.id, held.fence, world.ask())
    Task.objects.update(status="completed")
    held_run = crew.team.runs.get()
    type(held_run).objects.update(status="killed")
    refused(crew, "A request waits for an answer: builder-1 wants to run: .* Answer it, or stop the team.")
    Decision.objects.update(status="withdrawn")
    teams.archive(crew.team.pk, actor=LEAD)


def test_twice_is_refused_in_words_both_ways():
    crew = done()
    with pytest.raises(Conflict, match="is not archived"):
        teams.restore(crew.team.pk, actor=LEAD)
    teams.archive(crew.team.pk, actor=LEAD)
    with pytest.raises(Conflict, match="is archived already"):
        teams.archive(crew.team.pk, actor=LEAD)


def test_an_archived_team_takes_up_no_work_before_it_is_restored():
    crew = done()
    teams.archive(crew.team.pk, actor=LEAD)
    for act in (actions.pause_team, actions.resume_team, actions.stop_team):
        with pytest.raises(Conflict, match=r"This team is archived\. Restore it first\."):
            act(crew.team.pk, actor=LEAD)
    with pytest.raises(Conflict, match="This team is archived"):
        actions.reopen(crew.tasks[0].pk, why="Not quite.", actor=LEAD)
    assert crew.task().status == "completed", "nothing half-done"
    teams.restore(crew.team.pk, actor=LEAD)
    actions.reopen(crew.tasks[0].pk, why="Not quite.", actor=LEAD)
    assert crew.task().status != "completed"


@pytest.mark.django_db(transaction=True)
def test_of_two_who_archive_at_the_same_moment_one_does():
    crew = done()
    results = world.at_once(2, lambda _: teams.archive(crew.team.pk, actor=LEAD))
    assert sorted(type(result).__name__ for result in results) == ["Conflict", "NoneType"]
    assert world.kinds(crew.team).count("team.archived") == 1
