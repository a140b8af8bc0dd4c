"""Claims: one task, one agent, one run, whoever comes at the same moment."""

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from tasks_app.domain.errors import AlreadyClaimed, Blocked, Conflict, NotFound
from tasks_app.domain.statuses import RunStatus, TaskStatus, TeamStatus
from tasks_app.models import Agent, Event, Run, Task, Team, Worker
from tasks_app.services import claims, runs, scheduling, workers
from tests import factories
from tests.services import world

MANY = 20


@pytest.mark.django_db(transaction=True)
def test_of_twenty_agents_that_claim_one_task_at_once_one_wins_and_the_others_are_told_who():
    """N05"""
    crew = world.make(agents=MANY)
    results = world.at_once(MANY, lambda n: runs.claim_task(crew.tasks[0].pk, agent_id=crew.agents[n].pk, actor="system"))
    won = [r for r in results if isinstance(r, Run)]
    lost = [r for r in results if isinstance(r, AlreadyClaimed)]
    assert (len(won), len(lost)) == (1, MANY - 1), results
    assert {str(e) for e in lost} == {f"T-1 is already claimed by {won[0].agent.name}."}
    assert Run.objects.count() == 1
    assert world.kinds(crew.team).count("task.claimed") == 1


@pytest.mark.django_db(transaction=True)
def test_of_twenty_schedulers_three_ready_tasks_go_to_three_agents_and_no_agent_gets_two():
    """N05, its second half: "give me the next task" on three ready tasks."""
    crew = world.make(agents=5, titles=("A", "B", "C"), limits={"parallel": 10})
    results = world.at_once(MANY, lambda _: scheduling.tick(crew.team.pk))
    assert not [r for r in results if isinstance(r, Exception)], results
    assert sorted(map(len, results)) == [0] * (MANY - 1) + [3]
    made = Run.objects.values_list("task_id", "agent_id")
    assert len({t for t, _ in made}) == len({a for _, a in made}) == len(made) == 3
    assert world.kinds(crew.team).count("task.claimed") == 3


@pytest.mark.django_db(transaction=True)
def test_of_twenty_workers_that_are_nudged_for_one_run_one_gets_it():
    crew = world.make()
    run = runs.claim_task(crew.tasks[0].pk, agent_id=crew.agents[0].pk, actor="system")
    results = world.at_once(MANY, lambda n: claims.claim(run.pk, worker=f"w{n}", host="h"))
    held = [r for r in results if r is not None]
    assert len(held) == 1, results
    assert (held[0].fence, Run.objects.get().fence, Run.objects.get().status) == (1, 1, "running")
    assert world.kinds(crew.team).count("run.started") == 1


@pytest.mark.django_db(transaction=True)
def test_of_twenty_workers_that_claim_the_same_five_runs_together_each_run_goes_to_one():
    crew = world.make(agents=5, titles=[f"T{n}" for n in range(5)], limits={"parallel": 5})
    ids = scheduling.tick(crew.team.pk)
    results = world.at_once(
        MANY, lambda n: claims.claim_all(ids if n % 2 else ids[::-1], worker=f"w{n}", host="h", more=n % 3 * 5)
    )
    assert not [r for r in results if isinstance(r, Exception)], results
    held = [each for found in results for each in found]
    assert (sorted(each.id for each in held), {each.fence for each in held}) == (sorted(ids), {1})
    assert set(Run.objects.values_list("status", "fence")) == {("running", 1)}
    assert world.kinds(crew.team).count("run.started") == 5
    seqs = list(Event.objects.filter(team=crew.team).order_by("seq").values_list("seq", flat=True))
    assert seqs == list(range(1, len(seqs) + 1))


@pytest.mark.django_db
def test_of_runs_that_are_claimed_together_those_named_first_fill_the_teams_cap():
    crew = world.make(agents=4, titles=list("ABCD"), limits={"parallel": 2})
    ids = [runs.claim_task(t.pk, agent_id=a.pk, actor="system").pk for t, a in zip(crew.tasks, crew.agents, strict=True)]
    assert [held.id for held in claims.claim_all(ids[::-1], worker="w", host="h")] == [ids[3], ids[2]]
    assert claims.claim_all(ids, worker="w", host="h", more=9) == []
    started = Event.objects.filter(kind="run.started").order_by("seq")
    assert [event.run_id for event in started] == [ids[3], ids[2]]


@pytest.mark.django_db
def test_what_else_is_due_is_taken_along_up_to_the_workers_share_and_never_what_may_not_run():
    crew = world.make(agents=7, titles=list("ABCDEFG"), limits={"parallel": 9})
    ids = [runs.claim_task(t.pk, agent_id=a.pk, actor="system").pk for t, a in zip(crew.tasks, crew.agents, strict=True)]
    other = world.make()
    runs.claim_task(other.tasks[0].pk, agent_id=other.agents[0].pk, actor="system")
    Agent.objects.filter(pk=crew.agents[5].pk).update(status="stopped")
    Run.objects.filter(pk=ids[6]).update(due_at=4e9)
    for name in ("w1", "w2"):
        workers.register(name, host="h", slots=9, has_key=False)
    Worker.objects.create(name="gone", host="h", pid=1, started_at=world.now(), seen_at=0, slots=9)
    assert [held.id for held in claims.claim_all(ids[2:3], worker="w1", host="h", more=9)] == [ids[2], ids[0], ids[1]]
    assert claims.claim_all([ids[6], "a00000000"], worker="w1", host="h", more=9) == []
    assert [held.id for held in claims.claim_all(ids[3:4], worker="w1", host="h", more=9)] == [ids[3]], "it has its share"
    assert [held.id for held in claims.claim_all(ids[4:5], worker="w2", host="h", more=9)] == [ids[4]]


@pytest.mark.django_db
def test_who_is_nudged_for_what_another_took_along_takes_its_own_share_at_once(django_assert_num_queries):
    """Of fifty nudges in one moment half name runs that the first worker has: the second began only when they were through."""
    crew = world.make(agents=4, titles=list("ABCD"), limits={"parallel": 4})
    ids = [runs.claim_task(t.pk, agent_id=a.pk, actor="system").pk for t, a in zip(crew.tasks, crew.agents, strict=True)]
    for name in ("w1", "w2"):
        workers.register(name, host="h", slots=9, has_key=False)
    assert [held.id for held in claims.claim_all(ids[:1], worker="w1", host="h", more=9)] == ids[:2]
    assert claims.claim_all(ids[1:2], worker="w2", host="h") == [], "only what it named"
    assert [held.id for held in claims.claim_all(ids[1:2], worker="w2", host="h", more=0)] == ids[2:3], "in its place"
    assert [held.id for held in claims.claim_all(ids[1:2], worker="w2", host="h", more=0)] == ids[3:], "and that is its share"
    with django_assert_num_queries(2):  # nothing is due: the team is not even locked
        assert claims.claim_all(ids[1:2], worker="w2", host="h", more=9) == []


@pytest.mark.django_db
def test_a_place_that_an_earlier_try_has_filled_is_not_filled_twice():
    """The commit was done and its answer lost; what was not due then is due when it is tried again."""
    crew = world.make(agents=2, titles=list("AB"), limits={"parallel": 2})
    ids = [runs.claim_task(t.pk, agent_id=a.pk, actor="system").pk for t, a in zip(crew.tasks, crew.agents, strict=True)]
    workers.register("w1", host="h", slots=1, has_key=False)
    Run.objects.filter(pk=ids[0]).update(due_at=4e9)
    tried = {}
    assert [held.id for held in claims.claim_all(ids[:1], worker="w1", host="h", more=0, tried=tried)] == ids[1:]
    Run.objects.filter(pk=ids[0]).update(due_at=1)
    assert [held.id for held in claims.claim_all(ids[:1], worker="w1", host="h", more=0, tried=tried)] == ids[1:]


@pytest.mark.django_db
def test_a_place_is_for_the_run_that_has_waited_longest_whatever_its_team():
    crew, other = world.make(titles=("A", "B")), world.make()
    mine = runs.claim_task(crew.tasks[0].pk, agent_id=crew.agents[0].pk, actor="system")
    runs.claim_task(crew.tasks[1].pk, agent_id=crew.agents[1].pk, actor="system")
    assert claims._is_next(mine.pk), "others of its own team do not count"
    theirs = runs.claim_task(other.tasks[0].pk, agent_id=other.agents[0].pk, actor="system")
    assert claims._is_next(mine.pk)
    Run.objects.filter(pk=theirs.pk).update(due_at=1)
    assert not claims._is_next(mine.pk)
    Team.objects.filter(pk=other.team.pk).update(status="paused")
    assert claims._is_next(mine.pk)
    assert not claims._is_next("a00000000")


@pytest.mark.django_db
def test_many_tasks_are_given_out_by_few_statements_and_told_one_after_another(hints):
    crew = world.make(agents=20, titles=[f"T{n}" for n in range(20)], limits={"parallel": 20})
    before = Team.objects.get().last_seq
    with CaptureQueriesContext(connection) as found:
        ids = scheduling.give_out(crew.team.pk, keep=True)
    assert len(found) < 40
    told = Event.objects.filter(seq__gt=before).order_by("seq").values_list("seq", "kind", "run_id", "data__agent")
    names = [agent.name for agent in crew.agents]
    assert list(told) == [(before + n, "task.claimed", ids[n - 1], names[n - 1]) for n in range(1, 21)]
    with CaptureQueriesContext(connection) as found:
        assert len(claims.claim_all(ids, worker="w", host="h")) == 20
    assert len(found) < 15


@pytest.mark.django_db(transaction=True)
def test_nobody_is_nudged_for_the_run_that_the_caller_keeps(hints):
    crew = world.make(agents=3, titles=("A", "B", "C"), limits={"parallel": 3})
    with transaction.atomic():
        ids = scheduling.give_out(crew.team.pk, keep=True)
    assert hints.nudges == ids[1:]


@pytest.mark.django_db(transaction=True)
def test_workers_that_claim_at_once_never_exceed_the_teams_cap():
    crew = world.make(agents=6, titles=[f"T{n}" for n in range(6)], limits={"parallel": 2})
    ids = [runs.claim_task(t.pk, agent_id=a.pk, actor="system").pk for t, a in zip(crew.tasks, crew.agents, strict=True)]
    results = world.at_once(6, lambda n: claims.claim(ids[n], worker=f"w{n}", host="h"))
    assert sum(r is not None for r in results) == 2
    assert Run.objects.filter(status=RunStatus.RUNNING.value).count() == 2


@pytest.mark.django_db(transaction=True)
def test_one_agent_asked_for_two_tasks_at_once_takes_one():
    crew = world.make(titles=("A", "B"))
    results = world.at_once(2, lambda n: runs.claim_task(crew.tasks[n].pk, agent_id=crew.agents[0].pk, actor="system"))
    assert sorted(type(r).__name__ for r in results) == ["AlreadyClaimed", "Run"]
    assert sorted(Task.objects.values_list("status", flat=True)) == ["in_progress", "pending"], "the refused claim left nothing"


@pytest.mark.django_db
def test_a_claim_by_nobody_by_a_stopped_agent_or_by_another_teams_agent_is_refused_and_the_task_stays_ready():
    """N07"""
    crew, other = world.make(), world.make()
    Agent.objects.filter(pk=crew.agents[1].pk).update(status="stopped")
    before = world.frozen(crew.team)
    for agent_id, error, words in (
        (999_999, NotFound, "no such agent in this team"),
        (other.agents[0].pk, NotFound, "no such agent in this team"),
        (crew.agents[1].pk, Conflict, "builder-2 is stopped and takes no task"),
    ):
        with pytest.raises(error, match=words):
            runs.claim_task(crew.tasks[0].pk, agent_id=agent_id, actor="system")
    assert world.frozen(crew.team) == before
    assert crew.task().status == TaskStatus.PENDING.value


@pytest.mark.django_db
def test_a_claim_of_a_blocked_task_names_what_blocks_it():
    """N03"""
    crew = world.make(titles=("A", "B"), chain=True)
    with pytest.raises(Blocked, match=r"T-2 is blocked by T-1 A\."):
        runs.claim_task(crew.tasks[1].pk, agent_id=crew.agents[0].pk, actor="system")
    assert crew.task(1).status == TaskStatus.PENDING.value
    assert not Run.objects.exists()


@pytest.mark.django_db
def test_a_finished_task_cannot_be_claimed():
    crew = world.make()
    Task.objects.update(status="completed")
    with pytest.raises(AlreadyClaimed, match="T-1 is completed; builder-1 cannot claim it"):
        runs.claim_task(crew.tasks[0].pk, agent_id=crew.agents[0].pk, actor="system")


@pytest.mark.django_db
@pytest.mark.parametrize("status", [TeamStatus.PAUSED, TeamStatus.STOPPED])
def test_no_worker_gets_a_run_of_a_team_that_does_not_work(status):
    crew = world.make()
    run = runs.claim_task(crew.tasks[0].pk, agent_id=crew.agents[0].pk, actor="system")
    Team.objects.update(status=status.value)
    assert claims.claim(run.pk, worker="w", host="h") is None
    assert Run.objects.get().fence == 0


@pytest.mark.django_db
def test_no_worker_gets_a_run_of_a_stopped_agent_or_one_that_is_not_due():
    crew = world.make()
    run = runs.claim_task(crew.tasks[0].pk, agent_id=crew.agents[0].pk, actor="system")
    Agent.objects.filter(pk=run.agent_id).update(status="stopped")
    assert claims.claim(run.pk, worker="w", host="h") is None
    Agent.objects.filter(pk=run.agent_id).update(status="active")
    Run.objects.update(due_at=4e9)
    assert claims.claim(run.pk, worker="w", host="h") is None
    assert claims.claim("a00000000", worker="w", host="h") is None


@pytest.mark.django_db
def test_every_attempt_has_the_next_number_and_takes_the_guidance_along():
    crew = world.make()
    factories.RunFactory(task=crew.tasks[0], team=crew.team, agent=crew.agents[1], failed=True, attempt=1)
    Task.objects.update(guidance="Use the sandbox.", start_from="last")
    run = runs.claim_task(crew.tasks[0].pk, agent_id=crew.agents[0].pk, actor="system")
    assert (run.attempt, run.guidance, run.start_from) == (2, "Use the sandbox.", "last")
    assert (crew.task().guidance, crew.task().start_from) == ("", "clean"), "guidance is for one attempt"


@pytest.mark.django_db(transaction=True)
def test_guidance_that_is_written_while_the_task_is_claimed_is_not_lost():
    crew = world.make(agents=2)
    stale = Task.objects.get(pk=crew.tasks[0].pk)
    Task.objects.update(guidance="Use the sandbox.")
    assert stale.guidance == ""
    run = runs.claim_task(stale.pk, agent_id=crew.agents[0].pk, actor="system")
    assert run.guidance == "Use the sandbox."


@pytest.mark.django_db
def test_the_claim_is_told_in_the_log_with_agent_run_and_attempt():
    crew = world.make()
    run = runs.claim_task(crew.tasks[0].pk, agent_id=crew.agents[0].pk, actor="user:lead")
    event = Event.objects.get(kind="task.claimed")
    assert event.actor == "user:lead"
    assert event.data == {"agent": "builder-1", "run": run.pk, "attempt": 1}
    assert f"run:{run.pk}" in event.keys
    assert f"task:{crew.tasks[0].pk}" in event.keys
