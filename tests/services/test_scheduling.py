"""Scheduling: ready tasks to free agents, failures by the team's policy, then one question to the lead."""

import random

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tasks_app.domain.errors import Conflict
from tasks_app.domain.statuses import Reason
from tasks_app.models import Agent, Event, Run, Task, Team
from tasks_app.selectors import queue
from tasks_app.services import actions, matching, messages, recovery, runs, scheduling, steps, tasks
from tests import factories
from tests.services import world
from tests.services.failing import fail, fail_for_good, open_run, take_any

pytestmark = pytest.mark.django_db


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


def test_a_team_that_has_finished_is_not_called_active_when_it_is_resumed():
    crew = world.make()
    Team.objects.update(ended_at=world.now())
    with pytest.raises(Conflict, match=r" has finished: reopen a task or add one, and it goes on\.$"):
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
    sent = messages.send(team.pk, sender_agent_id=None, to="writer", body="Hello.", actor="user:ada")
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
    with pytest.raises(Conflict, match="ended already: it was stopped"):
        actions.stop_run(run.pk, actor="user:ada")


def test_a_team_with_nothing_left_has_ended_and_works_again_when_a_task_is_added():
    crew = world.make()
    Task.objects.update(status="completed")
    scheduling.tick(crew.team.pk)
    assert Team.objects.get().ended_at is not None
    actions.add_task(crew.team.pk, tasks.Draft("More", criteria=("It is there.",), role="builder"), actor="user:ada")
    assert Team.objects.get().ended_at is None
    assert Run.objects.count() == 1


@pytest.mark.parametrize("status", ["paused", "stopped"])
def test_a_team_that_gets_no_work_has_ended_all_the_same_when_nothing_is_left(status):
    crew = world.make(status=status)
    scheduling.tick(crew.team.pk)
    assert Team.objects.get().ended_at is None
    Task.objects.update(status="completed")
    scheduling.tick(crew.team.pk)
    assert Team.objects.get().ended_at is not None


def test_a_task_that_cannot_start_does_not_keep_the_others_waiting(monkeypatch):
    crew = world.make(titles=("A", "B"))
    give_all = runs.give_all

    def refusing(team, given, **words):
        if crew.tasks[0] in [task for task, _ in given]:
            raise Conflict("no")
        return give_all(team, given, **words)

    monkeypatch.setattr(runs, "give_all", refusing)
    assert len(scheduling.tick(crew.team.pk)) == 1
    assert (crew.task(0).status, crew.task(1).status) == ("pending", "in_progress")


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


def _queries(team):
    with CaptureQueriesContext(connection) as found:
        assert scheduling.tick(team.pk) == []
    return len(found)


def test_a_tick_asks_as_much_for_many_tasks_that_nobody_can_take_as_for_one():
    def stuck(tasks):
        crew = world.make(agents=1, titles=[f"T{n}" for n in range(tasks)])
        Task.objects.filter(team=crew.team).update(role="painter")
        return crew.team

    assert _queries(stuck(20)) == _queries(stuck(1))


@pytest.mark.parametrize("seed", range(12))
def test_whom_a_tick_gives_tasks_is_what_looking_at_all_ready_tasks_in_order_gives(seed):
    chance = random.Random(seed)
    crew = world.make(agents=6, titles=[f"T{n}" for n in range(14)], limits={"parallel": chance.randint(1, 8)})
    for agent in crew.agents:
        Agent.objects.filter(pk=agent.pk).update(role=chance.choice(("builder", "painter", "tester", "")))
    for task in crew.tasks:
        assignee = chance.choice((None, None, chance.choice(crew.agents).pk))
        role = chance.choice(("builder", "painter", "lead", "", "nobody"))
        Task.objects.filter(pk=task.pk).update(role=role, assignee=assignee, priority=chance.randint(0, 2))
    free, wanted = list(Agent.objects.filter(team=crew.team)), []
    for task in queue.ready(crew.team.pk):
        if len(wanted) < crew.team.limits["parallel"] and (agent := matching.choose(task, free, tried=())):
            free.remove(agent)
            wanted.append((task.number, agent.name))
    scheduling.tick(crew.team.pk)
    given = Run.objects.filter(team=crew.team).order_by("task__priority", "task__position", "task__number")
    assert list(given.values_list("task__number", "agent__name")) == wanted


def test_a_failure_that_the_lead_was_asked_about_is_not_worked_out_again_at_each_tick():
    crew = world.make(agents=2)
    nothing = _queries(world.make(titles=()).team)
    fail_for_good(crew)
    before = world.frozen(crew.team)
    assert _queries(crew.team) <= nothing
    assert world.frozen(crew.team) == before


def test_a_tick_reads_no_more_tasks_than_there_are_places_for_though_many_agents_are_free():
    crew = world.make(agents=5, titles=[f"T{n}" for n in range(9)], limits={"parallel": 2})
    with CaptureQueriesContext(connection) as found:
        assert len(scheduling.tick(crew.team.pk)) == 2
    assert [one["sql"].rpartition(" ")[2] for one in found if "not_before" in one["sql"] and "LIMIT" in one["sql"]] == ["2"]
