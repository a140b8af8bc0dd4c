"""Scheduling: ready tasks to free agents, failures by the team's policy, then one question to the lead."""

import pytest

from tasks_app.domain.errors import Conflict, Invalid
from tasks_app.domain.statuses import Reason, RunStatus
from tasks_app.models import Agent, Decision, Event, Run, Task, Team
from tasks_app.services import actions, endings, recovery, runs, scheduling, steps, tasks
from tests import factories
from tests.services import world

pytestmark = pytest.mark.django_db


def fail(held, reason=Reason.REPORTED, detail="It does not work.", **ending):
    endings.finish(held.id, held.fence, endings.Ending(RunStatus.FAILED, reason, detail, **ending))


def open_run(task):
    return Run.objects.select_related("agent").get(task=task, status__in=runs.OPEN)


def take_any(crew, place=0):
    return world.take(open_run(crew.tasks[place]).pk)


def fail_for_good(crew, place=0):
    """Let every allowed attempt fail."""
    for _ in range(crew.tasks[place].attempts_allowed):
        scheduling.tick(crew.team.pk)
        fail(take_any(crew, place))
    scheduling.tick(crew.team.pk)


def test_a_tick_fills_the_teams_cap_and_a_second_changes_nothing():
    crew = world.make(agents=3, titles=("A", "B", "C"), limits={"parallel": 2})
    assert len(scheduling.tick(crew.team.pk)) == 2
    before = world.frozen(crew.team)
    assert scheduling.tick(crew.team.pk) == []
    assert world.frozen(crew.team) == before


def test_a_run_that_waits_for_an_answer_takes_no_place():
    crew = world.make(agents=3, titles=("A", "B", "C"), limits={"parallel": 1})
    scheduling.tick(crew.team.pk)
    held = take_any(crew)
    scheduling.decisions.open_for_run(held.id, held.fence, world.ask())
    runs.park(held.id, held.fence, reason=Reason.PARKED, interrupted=False)
    assert len(scheduling.tick(crew.team.pk)) == 1


@pytest.mark.parametrize("act", [actions.pause_team, actions.stop_team])
def test_a_team_that_does_not_work_gets_nothing_new_and_goes_on_when_resumed(act):
    crew = world.make()
    act(crew.team.pk, actor="user:ada")
    assert scheduling.tick(crew.team.pk) == []
    actions.resume_team(crew.team.pk, actor="user:ada")
    assert Run.objects.count() == 1
    with pytest.raises(Conflict, match="active already"):
        actions.resume_team(crew.team.pk, actor="user:ada")


def test_a_task_goes_to_its_assignee_or_to_its_role_and_to_nobody_else():
    crew = world.make(agents=2, titles=("A", "B"), limits={"parallel": 5})
    tester = factories.AgentFactory(team=crew.team, name="tester", role="tester", position=0)
    Task.objects.filter(pk=crew.tasks[0].pk).update(assignee=crew.agents[1])
    Task.objects.filter(pk=crew.tasks[1].pk).update(role="tester")
    scheduling.tick(crew.team.pk)
    assert (open_run(crew.tasks[0]).agent, open_run(crew.tasks[1]).agent) == (crew.agents[1], tester)


def test_an_assignee_that_is_stopped_keeps_its_task_waiting_and_the_rest_goes_on():
    crew = world.make(titles=("A", "B"), limits={"parallel": 5})
    Task.objects.filter(pk=crew.tasks[0].pk).update(assignee=crew.agents[0])
    Agent.objects.filter(pk=crew.agents[0].pk).update(status="stopped")
    scheduling.tick(crew.team.pk)
    assert list(Run.objects.values_list("task__title", "agent__name")) == [("B", "builder-2")]


def test_names_of_agents_are_one_each_and_a_task_belongs_to_one():
    """N10: members `Writer`, `Writer-2`, `Writer-3`; what is for `Writer` goes to one."""
    team = factories.TeamFactory(limits={"parallel": 5})
    writers = [
        factories.AgentFactory(team=team, name=n, role="writer", position=p)
        for p, n in enumerate(("Writer", "Writer-2", "Writer-3"))
    ]
    task = tasks.create(team.pk, tasks.Draft("Write", assignee_id=writers[0].pk), actor="user:ada")
    scheduling.tick(team.pk)
    assert open_run(task).agent == writers[0]
    sent = actions.send_message(team.pk, to="writer", body="Hello.", actor="user:ada")
    assert sent.recipient == writers[0]


def test_a_failed_task_goes_to_another_agent_of_its_role_with_the_last_state():
    crew = world.make(agents=3)
    scheduling.tick(crew.team.pk)
    held = take_any(crew)
    fail(held)
    assert (crew.task().status, crew.task().failed, crew.task().attempts) == ("pending", True, 1)
    scheduling.tick(crew.team.pk)
    run = open_run(crew.tasks[0])
    assert run.agent_id != held.agent_id
    assert (run.attempt, run.start_from) == (2, "last")


def test_who_has_not_tried_yet_comes_first_and_alone_it_tries_again():
    crew = world.make(agents=3)
    seen = []
    for _ in range(3):
        scheduling.tick(crew.team.pk)
        held = take_any(crew)
        seen.append(held.agent_id)
        fail(held)
    assert sorted(seen) == sorted(a.pk for a in crew.agents)
    alone = world.make(agents=1)
    scheduling.tick(alone.team.pk)
    fail(take_any(alone))
    scheduling.tick(alone.team.pk)
    assert open_run(alone.tasks[0]).agent == alone.agents[0]


def test_after_the_last_attempt_the_lead_is_asked_once_with_concrete_options():
    crew = world.make(agents=2)
    fail_for_good(crew)
    scheduling.tick(crew.team.pk)
    asked = Decision.objects.get()
    assert (asked.kind, asked.run, asked.task, asked.payload["auto"]) == ("escalation", None, crew.tasks[0], True)
    assert "T-1 Build failed after attempt 3 of 3: It does not work." in asked.payload["problem"]
    labels = [o["label"] for o in asked.payload["options"]]
    assert labels == [
        f"Give it to {next(a.name for a in crew.agents if a.pk != Run.objects.get(attempt=3).agent_id)}",
        f"Let {Run.objects.get(attempt=3).agent.name} try again",
        "Mark it completed",
        "Cancel it",
    ]
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize("reason", [Reason.AUTH, Reason.START_FAILED, Reason.REFUSED, Reason.BUDGET])
def test_what_another_agent_would_only_repeat_is_asked_at_once(reason):
    crew = world.make()
    scheduling.tick(crew.team.pk)
    fail(take_any(crew), reason)
    scheduling.tick(crew.team.pk)
    assert Decision.objects.get().kind == "escalation"
    assert not Run.objects.filter(status="pending").exists()


def test_a_team_that_wants_to_be_asked_is_asked_after_the_first_failure():
    crew = world.make(limits={"on_failure": "ask"})
    scheduling.tick(crew.team.pk)
    fail(take_any(crew))
    scheduling.tick(crew.team.pk)
    assert Decision.objects.count() == 1


def answered(crew, label, text=""):
    asked = Decision.objects.get(status="open")
    return world.answer(asked, "answer", data={"option": label, "text": text})


def test_the_lead_may_give_a_task_to_another_agent_beyond_the_attempts_with_guidance():
    crew = world.make(agents=2)
    fail_for_good(crew)
    other = next(a for a in crew.agents if a.pk != Run.objects.get(attempt=3).agent_id)
    decision = answered(crew, f"Give it to {other.name}", "Use the sandbox.")
    run = open_run(crew.tasks[0])
    assert (run.agent, run.attempt, run.guidance) == (other, 4, "Use the sandbox.")
    assert crew.task().attempts_allowed == 4
    assert decision.pk == Decision.objects.get().pk
    assert Decision.objects.get().consumed_at is not None


def test_the_lead_may_let_the_same_agent_try_again():
    crew = world.make(agents=2)
    fail_for_good(crew)
    last = Run.objects.get(attempt=3).agent
    answered(crew, f"Let {last.name} try again")
    assert open_run(crew.tasks[0]).agent == last


def test_the_lead_may_take_it_as_done_and_what_waited_starts():
    crew = world.make(titles=("A", "B"), chain=True)
    fail_for_good(crew)
    answered(crew, "Mark it completed", "Did it by hand.")
    assert (crew.task().status, crew.task().completed_by, crew.task().output) == ("completed", "lead", "Did it by hand.")
    assert open_run(crew.tasks[1])


def test_the_lead_may_give_it_up():
    crew = world.make(titles=("A", "B"), chain=True)
    fail_for_good(crew)
    answered(crew, "Cancel it")
    assert crew.task().status == "cancelled"
    assert not Run.objects.filter(task=crew.tasks[1]).exists()


def test_an_option_whose_agent_was_stopped_meanwhile_is_refused_and_the_question_stays():
    crew = world.make(agents=2)
    fail_for_good(crew)
    other = next(a for a in crew.agents if a.pk != Run.objects.get(attempt=3).agent_id)
    Agent.objects.filter(pk=other.pk).update(status="stopped")
    with pytest.raises(Conflict, match="stopped"):
        answered(crew, f"Give it to {other.name}")
    assert Decision.objects.get().status == "open"


def test_words_alone_do_not_answer_a_question_of_the_system():
    crew = world.make()
    fail_for_good(crew)
    with pytest.raises(Invalid, match="Choose one of the options") as refused:
        answered(crew, "", "Just fix it.")
    assert refused.value.field == "option"


def test_reassigning_by_hand_ends_the_open_question():
    crew = world.make(agents=2)
    fail_for_good(crew)
    actions.reassign(crew.tasks[0].pk, agent_id=crew.agents[0].pk, guidance="Go.", start="clean", actor="user:ada")
    asked = Decision.objects.get()
    assert (asked.status, asked.closed_why) == ("withdrawn", "the task was reassigned")
    assert (open_run(crew.tasks[0]).agent, open_run(crew.tasks[0]).start_from) == (crew.agents[0], "clean")


def test_what_depends_on_a_failed_task_waits_without_anything_growing_and_goes_on_when_it_succeeds():
    """N09"""
    crew = world.make(titles=("A", "B", "C"), chain=True)
    fail_for_good(crew)
    before = world.frozen(crew.team)
    for _ in range(100):
        scheduling.tick(crew.team.pk)
    assert world.frozen(crew.team) == before
    answered(crew, f"Let {Run.objects.get(attempt=3).agent.name} try again")
    held = take_any(crew)
    runs.report(held.id, held.fence, {"status": "completed", "evidence": {"1": "ok"}, "summary": "done"})
    endings.finish(held.id, held.fence, endings.Ending(RunStatus.COMPLETED, Reason.DONE))
    scheduling.tick(crew.team.pk)
    assert open_run(crew.tasks[1])


def test_an_agent_whose_worker_is_gone_goes_on_with_the_same_attempt_and_one_that_ends_silently_fails_it():
    """N08, at the level of services: the retry is attempt 2 of the same task, so what depends on it follows."""
    crew = world.make(titles=("A", "B"), chain=True)
    scheduling.tick(crew.team.pk)
    held = take_any(crew)
    world.expire_lease(held.id)
    scheduling.tick(crew.team.pk)
    recovery.sweep()
    assert (Run.objects.count(), crew.task().attempts, crew.task().status) == (1, 0, "in_progress")
    again = world.take(held.id)
    fail(again, Reason.UNREPORTED, "ended twice without reporting")
    assert (crew.task().attempts, crew.task().status) == (1, "pending")
    scheduling.tick(crew.team.pk)
    assert (open_run(crew.tasks[0]).attempt, Task.objects.count()) == (2, 2)


def test_stopping_does_not_count_as_an_attempt_and_waits_for_a_person():
    crew = world.make()
    scheduling.tick(crew.team.pk)
    run = open_run(crew.tasks[0])
    actions.stop_run(run.pk, actor="user:ada")
    task = crew.task()
    assert (task.status, task.held, task.failed, task.attempts) == ("pending", True, False, 0)
    assert scheduling.tick(crew.team.pk) == []
    actions.retry(crew.tasks[0].pk, guidance="Again.", actor="user:ada")
    assert (open_run(crew.tasks[0]).attempt, open_run(crew.tasks[0]).guidance) == (2, "Again.")
    with pytest.raises(Conflict, match="ended already: killed"):
        actions.stop_run(run.pk, actor="user:ada")


def test_a_team_with_nothing_left_has_ended_and_works_again_when_a_task_is_added():
    crew = world.make()
    Task.objects.update(status="completed")
    scheduling.tick(crew.team.pk)
    assert Team.objects.get().ended_at is not None
    actions.add_task(crew.team.pk, tasks.Draft("More", role="builder"), actor="user:ada")
    assert Team.objects.get().ended_at is None
    assert Run.objects.count() == 1


def test_a_task_that_cannot_start_does_not_keep_the_others_waiting(monkeypatch):
    crew = world.make(titles=("A", "B"))
    claim = runs.claim_task

    def refusing(task_id, **words):
        if task_id == crew.tasks[0].pk:
            raise Conflict("no")
        return claim(task_id, **words)

    monkeypatch.setattr(runs, "claim_task", refusing)
    assert len(scheduling.tick(crew.team.pk)) == 1
    assert crew.task(1).status == "in_progress"


def test_a_run_ends_with_its_words_cleaned_and_masked_and_its_task_told():
    crew = world.make()
    held = crew.claim()
    steps.record(held.id, held.fence, after=0, drafts=[world.say()])
    fail(held, detail="bad\0", raw="x" * 30_000, result="token=abcdef0123456789abcdef", dossier={"error": "\ud800"})
    run = Run.objects.get()
    assert (run.detail, len(run.raw), run.result, run.dossier) == ("bad", 20_000, "token=***", {"error": "\ufffd"})
    assert (run.lease_until, run.pid, run.ended_at is None) == (0, 0, False)
    assert world.kinds(crew.team)[-2:] == ["run.failed", "task.released"]
    assert Event.objects.get(kind="run.failed").data["reason"] == "reported"
