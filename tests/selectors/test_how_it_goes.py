"""How a team does is read from its rows and events: what counts, for which day, in a constant number of queries."""

import datetime as dt

import pytest
from django.utils import timezone

from tasks_app.domain.events import EventKind
from tasks_app.models import Event, Run, Task
from tasks_app.selectors import how_it_goes
from tests import factories as make

pytestmark = pytest.mark.django_db
MONDAY = dt.datetime(2026, 11, 2, 12, tzinfo=dt.UTC)
TUESDAY = MONDAY + dt.timedelta(days=1)


@pytest.fixture
def team():
    return make.TeamFactory()


def attempt(team, *, task=None, number=1, minutes=9.0, at=MONDAY, status="completed", **more):
    """A finished attempt; the task is completed by it where it is one that completed."""
    words = {"attempt": number, "worked_s": minutes * 60, "started_at": at, "ended_at": at, "ended": True, **more}
    task = task or make.TaskFactory(team=team, expected_min=5, expected_max=30)
    run = make.RunFactory(task=task, **{"agent__team": team, **words})
    Run.objects.filter(pk=run.pk).update(status=status)
    if status == "completed":
        Task.objects.filter(pk=task.pk).update(status="completed", completed_at=at, completed_by=run.agent.name)
    return run


def read(team):
    return how_it_goes.of_team(team.pk)


def test_a_team_that_has_not_begun_knows_nothing(team):
    make.TaskFactory(team=team)
    report = read(team)
    assert (report.days, report.whole.asked, report.whole.reopened, report.whole.wait_typical_s) == ((), None, None, None)


def test_tasks_are_within_short_or_over_by_working_time(team):
    for minutes in (2, 9, 29, 45):
        attempt(team, minutes=minutes)
    attempt(team, minutes=0)
    make.TaskFactory(team=team, done=True)  # by hand
    found = read(team).whole
    assert (found.done, found.timed, found.short, found.within, found.over) == (5, 4, 1, 2, 1)


def test_a_task_that_a_person_completed_after_a_failure_is_not_the_agents(team):
    run = attempt(team, status="failed")
    Task.objects.filter(pk=run.task_id).update(status="completed", completed_at=MONDAY)
    assert read(team).whole.done == 0


def test_an_attempt_that_ends_well_after_a_person_completed_its_task_is_not_counted(team):
    run = attempt(team)
    Task.objects.filter(pk=run.task_id).update(completed_by="lead")
    assert read(team).whole.done == 0


def test_questions_and_escalations_of_attempts_are_clarifications(team):
    run = attempt(team)
    attempt(team)
    for kind in ("question", "escalation", "permission"):
        make.DecisionFactory(run=run, kind=kind, opened_at=MONDAY)
    make.DecisionFactory(run=None, task=run.task, kind="escalation", opened_at=MONDAY)  # opened by Crewdesk itself
    found = read(team).whole
    assert (found.asked, found.asked_tasks, found.done) == (2, 1, 2)


def test_another_agent_is_a_reassignment_and_the_same_again_is_none(team):
    first = attempt(team, status="failed")
    attempt(team, task=first.task, number=2, agent=first.agent, status="failed")
    attempt(team, task=first.task, number=3, at=TUESDAY)
    make.EventFactory(team=team, kind=EventKind.TASK_REOPENED.value, at=TUESDAY)
    report = read(team)
    assert (report.whole.reassigned, report.whole.reopened) == (1, 1)
    assert [(one.day.day, one.figures.reassigned, one.figures.reopened) for one in report.days] == [(3, 1, 1), (2, 0, 0)]


def test_what_has_aged_out_of_the_log_is_not_known(team):
    attempt(team)
    for at in (MONDAY, TUESDAY):
        make.EventFactory(team=team, kind=EventKind.TASK_REOPENED.value, at=at)
    Event.objects.filter(seq=1).delete()
    report = read(team)
    assert (report.whole.reopened, report.log_from) == (None, (TUESDAY + dt.timedelta(days=1)).date())


def test_messages_count_for_the_task_they_were_handed_over_in(team):
    busy, quiet = attempt(team), attempt(team)
    for run in (busy, busy, quiet):
        make.MessageFactory(team=team, created_at=MONDAY, delivered_run=run.pk)
    make.MessageFactory(team=team, created_at=MONDAY)
    found = read(team).whole
    assert (found.messages, found.messages_typical) == (4, 1.5)


def test_a_response_that_coordinates_counts_with_its_new_tokens(team):
    run = attempt(team)
    words = {"run": run, "at": MONDAY, "input_tokens": 10, "cache_read_tokens": 9999}
    make.MessageUsageFactory(**words, output_tokens=290)
    make.MessageUsageFactory(**words, output_tokens=90, coordinates=True)
    found = read(team).whole
    assert (found.tokens, found.coordination_tokens, found.coordination_percent) == (400, 100, 25)


def test_a_hand_off_is_clean_where_the_next_task_asked_nothing(team):
    base = attempt(team).task

    def next_task(**more):
        return attempt(team, task=make.TaskFactory(team=team, needs=[base]), **more)

    next_task()
    make.DecisionFactory(run=next_task(), kind="question")
    next_task(status="killed")
    next_task(status="running", ended_at=None)
    found = read(team).whole
    assert (found.handed_over, found.clean, found.clean_percent) == (2, 1, 50)


def test_the_wait_is_from_request_to_answer_and_what_waits_now_stands_beside_it(team):
    run, now = attempt(team), timezone.now()
    for minutes in (1, 2, 60):
        since = TUESDAY - dt.timedelta(minutes=minutes)
        make.DecisionFactory(run=run, answered=True, opened_at=since, answered_at=TUESDAY, ask_key=str(minutes))
    make.DecisionFactory(run=run, withdrawn=True)
    make.DecisionFactory(run=run, opened_at=now)
    report = read(team)
    assert (report.whole.wait_typical_s, report.whole.wait_longest_s, report.whole.answered) == (120, 3600, 3)
    assert (report.waiting, report.waiting_since) == (1, now)


def test_what_the_lead_agent_answers_is_no_wait_for_a_person(team):
    run = attempt(team)
    words = {"run": run, "opened_at": MONDAY}
    make.DecisionFactory(**words, answered=True, answered_at=TUESDAY, answered_by="lead agent lea", ask_key="1")
    make.DecisionFactory(**words, decider="lead", ask_key="2")
    report = read(team)
    assert (report.whole.answered, report.whole.wait_longest_s, report.waiting, report.waiting_since) == (0, None, 0, None)


def test_turns_of_the_lead_agent_are_no_tasks_and_all_their_tokens_coordinate(team):
    attempt(team, minutes=9)
    turn = attempt(team, minutes=1, task=make.TaskFactory(team=team, type="lead", expected_min=5, expected_max=30))
    make.MessageUsageFactory(run=turn, at=MONDAY, input_tokens=10, output_tokens=90)
    found = read(team).whole
    assert (found.done, found.timed, found.short, found.coordination_tokens) == (1, 1, 0, 100)


def test_other_teams_do_not_count_and_the_number_of_queries_is_constant(team, django_assert_num_queries):
    attempt(make.TeamFactory())
    for count in (1, 20):
        for _ in range(count):
            run = attempt(team, task=make.TaskFactory(team=team, needs=[make.TaskFactory(team=team)]))
            make.DecisionFactory(run=run, kind="question")
            make.MessageFactory(team=team, delivered_run=run.pk)
            make.MessageUsageFactory(run=run)
        with django_assert_num_queries(6):
            report = read(team)
    assert report.whole.done == 21
