"""What a page says about a task is derived exactly from what is stored, and every state has a reason."""

import datetime as dt
import time

import pytest
from django.utils import timezone

from tasks_app.domain.graph import Why
from tasks_app.domain.statuses import TaskStatus, TeamStatus
from tasks_app.management import words
from tasks_app.management.status import task_words
from tasks_app.selectors import tasks, teams
from tasks_app.selectors.states import TaskState, TeamState
from tests import factories as make

pytestmark = pytest.mark.django_db


@pytest.fixture
def team():
    return make.TeamFactory()


@pytest.fixture
def builder(team):
    make.WorkerFactory()
    return make.AgentFactory(team=team, name="ada", role="builder")


def card(task):
    found = tasks.one(task.pk)
    assert found is not None
    return found


def test_a_pending_task_whose_dependencies_are_completed_is_ready(team, builder):
    blocker = make.TaskFactory(team=team, done=True)
    task = card(make.TaskFactory(team=team, needs=[blocker]))
    assert task.state is TaskState.QUEUED
    assert task.obstacles == ()
    assert task.reason == "waits for a free agent"


def test_a_task_is_blocked_by_exactly_the_dependencies_that_are_not_completed(team, builder):
    done, open_ = make.TaskFactory(team=team, done=True), make.TaskFactory(team=team)
    task = card(make.TaskFactory(team=team, needs=[done, open_]))
    assert task.state is TaskState.BLOCKED
    assert [(one.task.pk, one.why, one.never) for one in task.obstacles] == [(open_.pk, Why.WAITING, False)]


def test_what_depends_on_a_failed_task_says_so_down_the_whole_chain(team, builder):
    a = make.TaskFactory(team=team, gave_up=True)
    b = make.TaskFactory(team=team, needs=[a])
    c = make.TaskFactory(team=team, needs=[b])
    direct, indirect = card(b), card(c)
    assert [(one.task.pk, one.why, one.root.pk) for one in direct.obstacles] == [(a.pk, Why.FAILED, a.pk)]
    assert [(one.task.pk, one.why, one.root.pk) for one in indirect.obstacles] == [(b.pk, Why.FAILED, a.pk)]
    assert direct.never
    assert indirect.never


def test_what_depends_on_a_cancelled_task_can_never_start_by_waiting(team, builder):
    gone = make.TaskFactory(team=team, cancelled=True)
    task = card(make.TaskFactory(team=team, needs=[gone]))
    assert task.state is TaskState.BLOCKED
    assert task.obstacles[0].why is Why.CANCELLED
    assert task.never


def test_all_members_of_an_imported_circle_say_that_they_wait_for_themselves(team, builder):
    a = make.TaskFactory(team=team)
    b = make.TaskFactory(team=team, needs=[a])
    make.DependencyFactory(task=a, needs=b)
    assert {card(a).obstacles[0].why, card(b).obstacles[0].why} == {Why.CYCLE}


def test_an_open_decision_makes_a_task_wait_for_the_lead_and_an_answered_one_does_not(team, builder):
    run = make.RunFactory(task__team=team, agent=builder)
    decision = make.DecisionFactory(run=run)
    waiting = card(run.task)
    assert waiting.state is TaskState.WAITING
    assert waiting.ask is not None
    assert waiting.ask.id == decision.pk
    type(decision).objects.filter(pk=decision.pk).update(status="answered")
    assert card(run.task).state is TaskState.IN_FLIGHT


def test_what_the_lead_agent_decides_is_in_flight_and_does_not_wait_for_you(team, builder):
    run = make.RunFactory(task__team=team, agent=builder, parked=True)
    gone = make.TaskFactory(team=team, gave_up=True)
    for on in ({"run": run}, {"run": None, "task": gone, "kind": "escalation"}):
        make.DecisionFactory(decider="lead", opened_at=make.ago(minutes=9), **on)
    for task in (run.task, gone):
        found = card(task)
        assert (found.state, found.with_lead_agent, found.reason, found.attention) == (TaskState.IN_FLIGHT, True, "", False)
        assert task_words(found).split(" – ")[1].startswith("with the lead agent: ")
    assert teams.summaries([team.pk])[team.pk].state is TeamState.IN_FLIGHT
    yours = make.DecisionFactory(run=run, kind="question")
    assert (card(run.task).state, card(run.task).ask.id) == (TaskState.WAITING, yours.pk)


def test_an_escalation_of_the_system_makes_a_pending_task_wait_too(team, builder):
    task = make.TaskFactory(team=team, gave_up=True)
    make.DecisionFactory(run=None, task=task, kind="escalation")
    assert card(task).state is TaskState.WAITING


def test_the_oldest_of_two_open_decisions_is_the_one_that_is_shown(team, builder):
    run = make.RunFactory(task__team=team, agent=builder)
    make.DecisionFactory(run=run, kind="question", opened_at=make.ago(minutes=1))
    oldest = make.DecisionFactory(run=run, kind="escalation", opened_at=make.ago(minutes=9))
    assert card(run.task).ask.id == oldest.pk


def test_a_task_in_progress_without_an_open_run_says_that_it_is_still_open(team, builder):
    task = card(make.TaskFactory(team=team, in_progress=True))
    assert task.state is TaskState.IN_FLIGHT
    assert task.attention
    assert "the agent finished, the task is still open" in task.reason


def test_a_task_whose_worker_is_gone_says_so(team, builder):
    task = card(make.RunFactory(task__team=team, agent=builder, lost=True).task)
    assert task.attention
    assert task.reason == "its worker is gone: another takes it up"


def test_a_task_that_nobody_has_claimed_yet_waits_for_a_worker(team, builder):
    task = card(make.RunFactory(task__team=team, agent=builder, waiting_for_worker=True).task)
    assert not task.attention
    assert task.reason == "waits for a free worker"


def test_a_task_is_over_time_only_after_its_window(team, builder):
    late = make.RunFactory(task__team=team, agent=builder, started_at=make.ago(minutes=31))
    other = make.AgentFactory(team=team)
    early = make.RunFactory(task__team=team, agent=other, started_at=make.ago(minutes=29))
    assert card(late.task).over
    assert not card(early.task).over


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"role": "tester"}, "no active agent has the role tester: reassign it"),
        ({"held": True}, "a person stopped it, or nobody has judged it: start it again, reassign it or complete it by hand"),
    ],
)
def test_a_queued_task_says_what_it_waits_for(team, builder, changes, reason):
    assert card(make.TaskFactory(team=team, **changes)).reason == reason


def test_a_queued_task_whose_agent_is_free_says_that_the_places_of_the_team_are_taken(team, builder):
    team.limits = {"parallel": 1}
    team.save()
    task = make.TaskFactory(team=team, assignee=builder)
    asks = make.RunFactory(task__team=team, agent__team=team, agent__name="ben", lease_until=time.time() + 60)
    assert card(task).reason == "waits for a place: 1 may be at work at once"
    make.DecisionFactory(run=asks)
    assert card(task).reason == "waits for a free agent", "who waits for the lead leaves its place to another"


@pytest.mark.parametrize(("hours", "reason"), [(1, "tries again by itself"), (-1, "waits for a free agent")])
def test_a_queued_task_that_failed_says_when_it_is_tried_again(team, builder, hours, reason):
    task = make.TaskFactory(team=team, not_before=timezone.now() + dt.timedelta(hours=hours))
    assert card(task).reason == reason


@pytest.mark.parametrize(
    ("status", "reason"), [(TeamStatus.PAUSED, "the team is paused"), (TeamStatus.STOPPED, "the team is stopped")]
)
def test_a_queued_task_of_a_team_that_rests_says_so(status, reason):
    team = make.TeamFactory(status=status.value)
    make.AgentFactory(team=team)
    assert card(make.TaskFactory(team=team)).reason == reason


def test_a_task_of_a_stopped_agent_says_to_reassign_it(team):
    ghost = make.AgentFactory(team=team, name="ghost", stopped=True)
    make.AgentFactory(team=team)
    assert card(make.TaskFactory(team=team, assignee=ghost)).reason == "ghost is stopped: reassign it"


def test_a_task_done_before_its_window_is_short(team):
    short, fine, by_hand = (make.TaskFactory(team=team, done=True, started_at=make.ago(minutes=20)) for _ in range(3))
    make.RunFactory(task=short, ended=True, worked_s=120)
    make.RunFactory(task=fine, ended=True, worked_s=720)
    assert (card(short).took_s, card(fine).took_s, card(by_hand).took_s) == (120, 720, None)
    assert card(short).short
    assert not card(fine).short
    assert not card(by_hand).short


def test_attempts_are_those_that_failed_with_the_one_under_way_or_done(team):
    new, failed = make.TaskFactory(team=team), make.TaskFactory(team=team, attempts=1)
    going, done = make.TaskFactory(team=team, attempts=1, in_progress=True), make.TaskFactory(team=team, attempts=1, done=True)
    make.RunFactory(task=done, attempt=2, ended=True)
    by_hand = make.TaskFactory(team=team, done=True, attempts=0)
    found = [(card(one).attempts, card(one).failures) for one in (new, failed, going, done, by_hand)]
    assert found == [(0, 0), (1, 1), (2, 1), (2, 1), (0, 0)]
    assert [words.attempts(card(one)) for one in (new, done)] == ["none yet, 3 allowed", "2 of 3 allowed, 1 failed"]


def test_completed_and_cancelled_tasks_name_no_obstacle(team):
    open_ = make.TaskFactory(team=team)
    for status in (TaskStatus.COMPLETED, TaskStatus.CANCELLED):
        assert card(make.TaskFactory(team=team, status=status.value, needs=[open_])).obstacles == ()


@pytest.mark.parametrize("teams", [1, 5])
def test_tasks_of_all_teams_cost_the_same_queries(teams, django_assert_num_queries):
    made = [make.TeamFactory() for _ in range(teams)]
    for team in made:
        make.RunFactory(task__team=team, agent__team=team)
        make.TaskFactory(team=team, needs=[make.TaskFactory(team=team)])
    make.WorkerFactory()
    with django_assert_num_queries(7):
        found = tasks.of_teams([team.pk for team in made])
    assert [len(cards) for cards in found.values()] == [3] * teams
