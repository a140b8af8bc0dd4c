"""Histories in which nothing went wrong, of which the auditor must say nothing."""

from datetime import timedelta

import pytest

from bench import audit, crew
from bench.audit_script import Scripted
from tasks_app.domain.statuses import Reason, RunStatus, StepKind
from tasks_app.models import Decision, Event, Run, Step, Task, Team
from tasks_app.runners.port import StepDraft, Usage
from tasks_app.services import actions, claims, deciding, deliveries, overruns, recovery, retention, runs, scheduling, steps
from tasks_app.services.endings import Ending
from tasks_app.services.runs import Held
from tests import factories
from tests.bench.finished import Finished
from tests.services import team_files, world
from tests.services.test_lead_agent import answer as lead_agent_answers

pytestmark = [pytest.mark.django_db]


def begin() -> Held:
    tasks = [{"key": "t1", "title": "One", "criteria": ["done"]}]
    crew.start(crew.plan("T", agents=1, tasks=tasks, parallel=1))
    held = claims.claim(Run.objects.get().pk, worker="w1", host="here")
    assert held is not None
    return held


def say(held: Held, *, after: int = 0, usage: Usage | None = None) -> None:
    steps.record(held.id, held.fence, after=after, drafts=[StepDraft(StepKind.SAID, "One.", usage=usage)])


def finish(held: Held, *, after: int = 0) -> None:
    say(held, after=after)
    runs.report(held.id, held.fence, {"status": "completed", "summary": "done", "evidence": {}})
    deliveries.end(held.id, held.fence, Ending(RunStatus.COMPLETED, Reason.DONE), why="its run ended")
    scheduling.tick(held.team_id)


def stall(held: Held) -> Decision:
    past = world.now() - timedelta(minutes=16)
    Run.objects.filter(pk=held.id).update(last_step_at=past, started_at=past, created_at=past)
    Event.objects.filter(kind="run.started").update(at=past)
    assert recovery.open_stalls() == 1
    return Decision.objects.get()


def test_a_quiet_agent_that_is_waited_for() -> None:
    held = begin()
    world.answer(stall(held), "wait")
    scheduling.apply_answer(Decision.objects.get(), actor="user:lead")
    finish(held)
    assert audit.audit().violations == []


def test_a_quiet_agent_that_ends_before_anybody_has_answered() -> None:
    held = begin()
    stall(held)
    finish(held)
    assert audit.audit().violations == []


def test_a_budget_that_was_raised() -> None:
    held = begin()
    Task.objects.update(budget_tokens=100)
    say(held, usage=Usage("m1", "claude-sonnet-4-5", 1000, 0, 0, 10))
    overruns.park(held.id, held.fence, ask_anyway=False)
    world.answer(Decision.objects.get(), "raise", data={"tokens": "500000"})
    finish(world.take(held.id), after=1)
    assert audit.audit().violations == []


def test_a_team_that_was_exported_while_it_worked() -> None:
    held = begin()
    say(held)
    imported = team_files.load(team_files.export(Team.objects.get()), name="Other")
    assert audit.audit(must_be_done=False).violations == []
    actions.resume_team(imported.pk, actor="user:lead")
    assert claims.claim(Run.objects.get(team=imported).pk, worker="w1", host="here") is not None
    assert audit.audit(must_be_done=False).violations == []


def test_a_failed_task_that_the_lead_agent_takes_as_done() -> None:
    held = begin()
    Task.objects.update(attempts_allowed=1)
    factories.AgentFactory(team=Team.objects.get(), name="ada", role="lead", position=9)
    deciding.set_settings(held.team_id, {"review": "lead", "escalation": "lead"}, actor="user:lead")
    say(held)
    deliveries.end(held.id, held.fence, Ending(RunStatus.FAILED, Reason.REPORTED, "no"), why="its run failed")
    scheduling.tick(held.team_id)
    lead_agent_answers(Decision.objects.get(), data={"option": "Mark it completed"})
    assert Event.objects.filter(kind="task.completed", actor="agent:ada").exists()
    assert audit.audit(must_be_done=False).violations == []


def test_a_task_that_was_cancelled_and_reopened() -> None:
    done = Finished.make()
    actions.reopen(done.task(2).pk, why="again", actor="user:lead")
    actions.cancel(done.task(2).pk, why="no", actor="user:lead")
    assert audit.audit(must_be_done=False).violations == []


def test_steps_that_retention_has_removed() -> None:
    Finished.make()
    old = world.now() - timedelta(days=40)
    Event.objects.update(at=old)
    Run.objects.update(ended_at=old)
    while retention.sweep(retention.Rules(steps=30)):
        pass
    found = audit.audit(must_be_whole=False)
    assert (found.violations, found.short) == ([], 2)


def test_closing_words_to_a_later_life_which_stand_in_the_script_without_figures() -> None:
    """It had reported when its worker died: the life that follows finds every turn played."""
    run = Finished.make().run(1)
    factories.MessageUsageFactory(run=run, team=run.team, message_id="msg_closing", input_tokens=3)

    def strangers() -> list[str]:
        return [words for words in Scripted(run.team).check() if "stand in no script" in words]

    assert strangers()
    said = {"kind": StepKind.SAID.value, "text": f"That is all for {run.task.label}.", "at": world.now()}
    Step.objects.create(run=run, seq=900, fence=1, **said)
    assert strangers(), "the first life has its turns to play"
    Step.objects.create(run=run, seq=901, fence=2, **said)
    assert strangers() == []
