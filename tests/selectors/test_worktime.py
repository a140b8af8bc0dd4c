"""What pages say of an attempt's time: what it worked, and what it waited for the lead."""

import datetime as dt

import pytest
from django.db.models import F

from tasks_app.domain.leases import LEASE_S
from tasks_app.domain.statuses import DecisionKind, DecisionStatus
from tasks_app.models import Run
from tasks_app.selectors import agents, attempts, tasks, worktime
from tasks_app.selectors.clock import Seconds
from tasks_app.services.clock import now_s
from tests import factories as make

pytestmark = pytest.mark.django_db


def about(seconds):
    return pytest.approx(seconds, abs=2)


def test_waiting_for_the_lead_counts_apart_on_card_page_and_agent_alike():
    run = make.RunFactory(started_at=make.ago(minutes=16), worked_s=240)
    make.DecisionFactory(run=run, opened_at=make.ago(minutes=12))
    shown = [
        tasks.one(run.task_id).run.time,
        attempts.of_task(run.task_id)[0].time,
        agents.by_ids([run.agent_id])[run.agent_id].run.time,
    ]
    assert [(time.worked_s, time.waited_s) for time in shown] == [(about(240), about(720))] * 3
    assert [(time.working, time.waiting) for time in shown] == [(False, True)] * 3


def test_who_only_waited_long_is_not_over_time():
    run = make.RunFactory(started_at=make.ago(minutes=95), worked_s=240)
    make.DecisionFactory(run=run, opened_at=make.ago(minutes=90))
    assert not tasks.one(run.task_id).over
    assert not agents.by_ids([run.agent_id])[run.agent_id].over
    assert tasks.one(make.RunFactory(started_at=make.ago(minutes=95)).task_id).over


def test_requests_that_were_open_at_once_are_waited_for_once():
    run = make.RunFactory(started_at=make.ago(minutes=10), worked_s=420, waiting_for_worker=True)
    for _ in range(3):
        make.DecisionFactory(
            run=run, status=DecisionStatus.ANSWERED.value, opened_at=make.ago(minutes=5), answered_at=make.ago(minutes=2)
        )
    assert attempts.of_task(run.task_id)[0].time.waited_s == about(180)


def test_a_question_about_a_quiet_process_is_no_waiting():
    run = make.RunFactory(started_at=make.ago(minutes=10), worked_s=0)
    make.DecisionFactory(run=run, kind=DecisionKind.STALL.value, opened_at=make.ago(minutes=5))
    time = attempts.of_task(run.task_id)[0].time
    assert (time.waited_s, time.working) == (0, True)


def test_a_run_that_waits_for_what_another_asked_waits_too():
    asked = make.DecisionFactory(opened_at=make.ago(minutes=9))
    run = make.RunFactory(started_at=make.ago(minutes=10), worked_s=60, parked=True, waits_for=asked)
    time = attempts.of_task(run.task_id)[0].time
    assert (time.waited_s, time.waiting) == (about(540), True)


def test_an_ended_attempt_keeps_what_it_worked_and_waited():
    run = make.RunFactory(started_at=make.ago(minutes=10), ended=True, worked_s=120)
    make.DecisionFactory(
        run=run, status=DecisionStatus.ANSWERED.value, opened_at=make.ago(minutes=9), answered_at=make.ago(minutes=4)
    )
    found = attempts.of_task(run.task_id)[0]
    assert (found.worked_s, found.waited_s, found.time.working, found.time.waiting) == (120, about(300), False, False)


@pytest.mark.parametrize("silent_s", [-5, 6, 100])
@pytest.mark.parametrize("asks", [False, True])
def test_what_a_page_adds_up_is_what_the_database_stores(silent_s, asks):
    run = make.RunFactory(started_at=make.ago(minutes=16), worked_s=240)
    if asks:
        make.DecisionFactory(run=run, opened_at=make.ago(minutes=1))
    Run.objects.update(lease_until=now_s() + LEASE_S - silent_s)
    stored = Run.objects.annotate(until_now=worktime.until_now()).values_list("until_now", flat=True).get()
    assert attempts.of_task(run.task_id)[0].time.worked_s == pytest.approx(stored, abs=0.5)
    assert stored == about(240 if asks else 240 + min(max(silent_s, 0), LEASE_S))


def test_seconds_between_moments_are_told_to_the_millisecond():
    run = make.RunFactory(started_at=make.ago(minutes=10), ended=True)
    since = run.started_at
    Run.objects.update(ended_at=since + dt.timedelta(days=400, seconds=1, milliseconds=7), stop_asked_at=None)
    row = Run.objects.annotate(lasted=Seconds(F("ended_at"), F("started_at")), never=Seconds(F("stop_asked_at"), F("started_at")))
    assert row.values_list("lasted", "never").get() == (pytest.approx(400 * 86400 + 1.007, abs=0.002), None)
