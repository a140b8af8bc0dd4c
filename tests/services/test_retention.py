"""Retention: what has aged out goes in small batches; what somebody may still need stays."""

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tasks_app.domain.statuses import TaskStatus
from tasks_app.models import Agent, Event, Run, Step, TranscriptEntry
from tasks_app.services import retention, transcripts
from tasks_app.services.retention import Rules
from tests import factories as make
from tests.factories import ago

pytestmark = pytest.mark.django_db
RULES = Rules(steps=30, transcripts=30, events=30)


def attempt(*, days: float, session: str = "one", task: TaskStatus = TaskStatus.COMPLETED, team_ended: bool = True, **given):
    """An attempt that ended so many days ago, with three steps and a transcript of two lines."""
    given = {"ended": True, "task__status": task.value, "started_session": True, "session_id": session, **given}
    run = make.RunFactory(**{"ended_at": ago(days=days), **given})
    for _ in range(3):
        make.StepFactory(run=run)
    Run.objects.filter(pk=run.pk).update(last_seq=3)
    for _ in range(2):
        make.TranscriptEntryFactory(session_id=session)
    if team_ended:
        run.team.ended_at = ago(days=days)
        run.team.save()
    return run


def sweep(rules: Rules = RULES) -> int:
    removed = 0
    while some := retention.sweep(rules):
        removed += some
    return removed


def left(run) -> tuple[int, int]:
    return Step.objects.filter(run=run).count(), TranscriptEntry.objects.filter(session_id=run.session_id).count()


def test_steps_and_transcripts_of_an_old_attempt_go_and_its_figures_stay():
    run = attempt(days=31, input_tokens=7)
    young = attempt(days=29, session="two")
    assert retention.due(RULES) == {"steps": 3, "transcripts": 2, "events": 0}
    sweep()
    assert (left(run), left(young)) == ((0, 0), (3, 2))
    run.refresh_from_db()
    assert (run.last_seq, run.input_tokens, run.started_session) == (3, 7, False)
    assert not transcripts.holds(run.session_id)


def test_a_conversation_that_a_saved_checkpoint_goes_back_to_stays_and_an_automatic_one_keeps_nothing():
    kept, gone = attempt(days=31), attempt(days=31, session="two")
    for run, automatic in ((kept, False), (gone, True)):
        data = {"agents": [{"name": "ada", "position": {"session_id": run.session_id, "lines": 2, "last": "u"}}]}
        make.CheckpointFactory(team=run.team, automatic=automatic, data=data)
    make.CheckpointFactory(team=kept.team, data={})
    sweep()
    assert (left(kept), left(gone)) == ((0, 2), (0, 0))


def test_without_a_rule_nothing_goes():
    run = attempt(days=5000)
    assert not Rules()
    assert sweep(Rules()) == 0
    assert sweep(Rules(events=1)) == 0
    assert left(run) == (3, 2)


@pytest.mark.parametrize("life", ["running", "waiting_for_worker", "parked"])
def test_an_attempt_that_can_go_on_keeps_everything_however_old_it_is(life):
    traits = {} if life == "running" else {life: True}
    run = attempt(days=400, ended=False, ended_at=None, task=TaskStatus.IN_PROGRESS, team_ended=False, **traits)
    sweep()
    assert left(run) == (3, 2)


def test_a_session_stays_while_a_later_attempt_is_young_or_its_task_may_be_tried_again():
    shared = attempt(days=90, session="carried")
    make.RunFactory(agent=shared.agent, task__team=shared.team, ended=True, session_id="carried", ended_at=ago(days=1))
    unfinished = attempt(days=90, session="failed", failed=True, ended=False, task=TaskStatus.PENDING)
    sweep()
    assert (left(shared), left(unfinished)) == ((0, 2), (0, 2))


def test_the_session_of_an_agent_stays_until_its_team_has_ended_and_then_nobody_goes_on_in_it():
    run = attempt(days=90, team_ended=False)
    Agent.objects.filter(pk=run.agent_id).update(session_id=run.session_id)
    sweep()
    assert left(run) == (0, 2)
    run.team.ended_at = ago(days=90)
    run.team.save()
    sweep()
    assert left(run) == (0, 0)
    assert Agent.objects.get(pk=run.agent_id).session_id == ""


def test_one_batch_is_small_and_takes_the_lowest_numbers_first(monkeypatch):
    monkeypatch.setattr(retention, "BATCH", 2)
    run = attempt(days=31)
    with CaptureQueriesContext(connection) as done:
        assert retention.sweep(Rules(steps=30)) == 2
    assert sum(query["sql"].startswith("DELETE") for query in done) == 1
    assert list(Step.objects.filter(run=run).values_list("seq", flat=True)) == [3]
    assert sweep(Rules(steps=30)) == 1


def test_a_transcript_that_takes_several_batches_is_forgotten_before_its_first_line_is_gone(monkeypatch):
    monkeypatch.setattr(retention, "BATCH", 1)
    run = attempt(days=31)
    Agent.objects.filter(pk=run.agent_id).update(session_id=run.session_id)
    retention.sweep(Rules(transcripts=30))
    assert left(run)[1] == 1
    assert Agent.objects.get(pk=run.agent_id).session_id == ""
    sweep(Rules(transcripts=30))
    assert left(run)[1] == 0


def test_old_events_go_oldest_first_up_to_the_first_that_somebody_still_needs():
    team = make.TeamFactory()
    task = make.TaskFactory(team=team, status=TaskStatus.PENDING.value)
    ages = {1: None, 2: None, 3: task.number, 4: None}
    for number in ages.values():
        make.EventFactory(team=team, at=ago(days=60), task_number=number)
    make.EventFactory(team=team)
    sweep()
    assert list(Event.objects.filter(team=team).order_by("seq").values_list("seq", flat=True)) == [3, 4, 5]
    task.status = TaskStatus.COMPLETED.value
    task.save()
    assert retention.due(Rules(events=30)) == {"events": 2}
    sweep()
    assert list(Event.objects.filter(team=team).values_list("seq", flat=True)) == [5]


def test_the_age_is_counted_by_the_clock_of_the_database_not_by_that_of_the_host():
    run = attempt(days=1)
    with time_machine.travel(ago(days=-4000)):
        sweep()
    assert left(run) == (3, 2)
