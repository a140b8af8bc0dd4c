"""Recovery: what a lost worker held goes back to the queue; nothing depends on a hint; a quiet run is seen."""

import os
import subprocess
import sys
import time
from datetime import timedelta

import psutil
import pytest
import time_machine

from tasks_app.domain.leases import CRASHES, LEASE_S
from tasks_app.domain.statuses import DecisionKind, Reason
from tasks_app.models import Decision, Run, Task, Team, Worker
from tasks_app.runners.port import Directive
from tasks_app.services import actions, claims, decisions, deliveries, expiry, recovery, runs, scheduling, steps, workers
from tasks_app.services.clock import DatabaseNow, now_s
from tests.services import world
from tests.services_fixtures import until

pytestmark = pytest.mark.django_db


@pytest.fixture
def crew():
    return world.make(titles=("A", "B"))


def test_the_databases_clock_is_that_of_the_world_in_both_its_forms():
    world.make()
    seen = Team.objects.annotate(now=DatabaseNow()).values_list("now", flat=True).get()
    assert seen == pytest.approx(time.time(), abs=2)
    assert now_s() == pytest.approx(time.time(), abs=2)


def test_the_databases_clock_can_be_compared_and_added_to_in_one_statement(crew):
    held = crew.claim()
    Run.objects.filter(lease_until__gt=DatabaseNow()).update(lease_until=DatabaseNow() + LEASE_S)
    assert Run.objects.get(pk=held.id).lease_until == pytest.approx(time.time() + LEASE_S, abs=2)


def test_a_live_lease_is_left_alone_and_an_expired_one_gives_the_run_back(crew):
    held = crew.claim()
    assert recovery.take_back_expired() == 0
    world.expire_lease(held.id)
    assert (recovery.take_back_expired(), recovery.take_back_expired()) == (1, 0)
    run = Run.objects.get()
    assert (run.status, run.reason, run.interrupted, run.crashes, run.attempt) == ("pending", "worker_lost", True, 1, 1)
    assert crew.task().status == "in_progress", "the same attempt goes on"
    later = world.take(held.id, worker="w2")
    assert later.fence == held.fence + 1


def test_a_lease_that_was_renewed_between_the_look_and_the_taking_is_left_alone(crew):
    held = crew.claim()
    before = world.frozen(crew.team)
    assert recovery._take_back(held.id, held.fence, check_lease=True) is False
    assert world.frozen(crew.team) == before


def test_what_runs_out_on_a_host_with_a_worker_is_left_to_that_for_a_moment(crew):
    held = crew.claim()
    workers.register("w2", host=world.HOST, slots=1, has_key=False)
    for late_s, taken in ((recovery.LATE_S - 2, 0), (recovery.LATE_S + 1, 1)):
        Run.objects.filter(pk=held.id).update(lease_until=DatabaseNow() - late_s)
        assert recovery.take_back_expired() == taken


def test_a_run_that_waited_for_an_answer_is_taken_back_parked_and_goes_on_when_it_is_answered(crew):
    held = crew.claim()
    decision = decisions.open_for_run(held.id, held.fence, world.ask())
    world.expire_lease(held.id)
    recovery.take_back_expired()
    assert world.is_parked(held.id)
    assert Decision.objects.get().parked is True
    assert recovery.due_runs() == []
    world.answer(decision, "allow")
    assert not world.is_parked(held.id)
    assert deliveries.deliver(decision.pk, world.take(held.id).fence).choice == "allow"


def test_a_worker_that_is_lost_again_and_again_without_one_new_step_fails_the_attempt_in_words(crew):
    held = crew.claim()
    for _ in range(CRASHES - 1):
        world.expire_lease(held.id)
        assert recovery.take_back_expired() == 1
        held = world.take(held.id)
    world.expire_lease(held.id)
    recovery.take_back_expired()
    run = Run.objects.get()
    assert (run.status, run.reason) == ("failed", "crashed")
    assert f"{CRASHES} times in a row" in run.detail
    assert (crew.task().status, crew.task().failed, crew.task().attempts) == ("pending", True, 1)


def test_one_new_step_sets_the_count_back(crew):
    held = crew.claim()
    for number in range(CRASHES + 2):
        steps.record(held.id, held.fence, after=number, drafts=[world.say()])
        world.expire_lease(held.id)
        recovery.take_back_expired()
        held = world.take(held.id)
    assert Run.objects.get().status == "running"


@pytest.mark.parametrize(
    ("stop", "reason", "status", "held_back"),
    [
        (lambda c, h: actions.stop_run(h.id, actor="user:ada"), "stopped", "pending", True),
        (lambda c, h: actions.stop_agent(h.agent_id, actor="user:ada"), "stopped", "pending", False),
        (lambda c, h: actions.stop_team(h.team_id, actor="user:ada"), "stopped", "pending", False),
        (lambda c, h: actions.cancel(h.task_id, actor="user:ada"), "stopped", "cancelled", False),
        (lambda c, h: actions.complete_by_hand(h.task_id, actor="user:ada"), "by_hand", "completed", False),
        (lambda c, h: actions.reassign(h.task_id, agent_id=c.agents[1].pk, actor="user:ada"), "superseded", "pending", False),
    ],
)
def test_a_worker_that_is_lost_while_it_is_asked_to_stop_has_stopped(stop, reason, status, held_back):
    crew = world.make()
    held = crew.claim()
    stop(crew, held)
    assert Run.objects.get().stop_asked_by == "ada"
    world.expire_lease(held.id)
    recovery.take_back_expired()
    run, task = Run.objects.get(pk=held.id), crew.task()
    assert (run.status, run.reason) == ("killed", reason)
    assert "ada" in run.detail
    assert (task.status, task.held, task.failed, task.attempts) == (status, held_back, False, 0)


def test_a_starting_worker_takes_back_what_the_dead_of_its_host_held_and_only_that(crew):
    me = workers.name_of_this_process("h")
    dead = f"h:{os.getpid()}:1"  # the pid lives, but that process did not start then
    lost = crew.claim(0, 0, worker=dead)
    Run.objects.filter(pk=lost.id).update(host="h")
    mine = crew.claim(1, 1, worker=me)
    Run.objects.filter(pk=mine.id).update(host="h")
    assert recovery.take_back_from_dead("other", alive="x") == 0
    assert recovery.take_back_from_dead("h", alive="someone-else:1:1") == 1
    assert Run.objects.get(pk=lost.id).status == "pending"
    assert Run.objects.get(pk=mine.id).status == "running", "a process with that pid and start lives"


@pytest.mark.skipif(not workers.ON_LINUX, reason="only Linux counts from the boot")
def test_a_clock_that_is_set_makes_no_worker_look_dead(monkeypatch):
    """psutil counts start times from the boot by the clock of today: after a step a live sibling would look like another."""
    before = workers.name_of_this_process("h")
    boot = psutil.boot_time()
    monkeypatch.setattr(psutil._pslinux, "BOOT_TIME", boot + 3600, raising=False)
    monkeypatch.setattr(psutil._pslinux, "boot_time", lambda: boot + 3600)
    assert workers.name_of_this_process("h") == before


@pytest.mark.parametrize("linux", [True, False])
def test_a_process_that_nobody_has_reaped_yet_is_gone(crew, monkeypatch, linux):
    monkeypatch.setattr(workers, "ON_LINUX", linux and workers.ON_LINUX)
    with subprocess.Popen([sys.executable, "-c", "pass"], stdout=subprocess.PIPE) as child:
        name = f"h:{child.pid}:{workers._start(child.pid)}"
        assert workers.lives(name)
        until(lambda: psutil.Process(child.pid).status() == psutil.STATUS_ZOMBIE)
        assert not workers.lives(name)


def test_a_name_that_is_no_workers_counts_as_dead_and_breaks_nothing(crew):
    for task, worker in ((0, "x"), (1, "h:no:number")):
        held = crew.claim(task, task, worker=worker)
        Run.objects.filter(pk=held.id).update(host="h")
    assert recovery.take_back_from_dead("h", alive="me") == 2


def test_due_runs_are_marked_once(crew):
    run = runs.claim_task(crew.tasks[0].pk, agent_id=crew.agents[0].pk, actor="system")
    assert recovery.due_runs() == [], "nudged a moment ago"
    Run.objects.update(nudged_at=0)
    assert recovery.due_runs() == [run.pk]
    assert recovery.due_runs() == []


@pytest.mark.django_db(transaction=True)
def test_of_many_sweeps_at_once_one_nudges_a_run():
    crew = world.make(titles=("A", "B"))
    ids = {runs.claim_task(t.pk, agent_id=a.pk, actor="system").pk for t, a in zip(crew.tasks, crew.agents, strict=True)}
    Run.objects.update(nudged_at=0)
    found = world.at_once(8, lambda _: recovery.due_runs())
    assert sorted(pk for some in found for pk in some) == sorted(ids)


def test_a_nudge_that_cannot_be_sent_is_returned_for_the_sweeper_itself(crew, hints):
    run = runs.claim_task(crew.tasks[0].pk, agent_id=crew.agents[0].pk, actor="system")
    Run.objects.update(nudged_at=0)
    hints.nudging = False
    assert recovery.renudge() == [run.pk]


@pytest.mark.parametrize("changes", [{"due_at": 4e9}, {"status": "running"}, {"status": "completed"}])
def test_what_is_not_due_is_not_nudged(crew, changes):
    runs.claim_task(crew.tasks[0].pk, agent_id=crew.agents[0].pk, actor="system")
    Run.objects.update(nudged_at=0, **changes)
    assert recovery.due_runs() == []


def test_runs_of_a_paused_team_are_not_nudged(crew):
    runs.claim_task(crew.tasks[0].pk, agent_id=crew.agents[0].pk, actor="system")
    Run.objects.update(nudged_at=0)
    actions.pause_team(crew.team.pk, actor="user:lead")
    assert recovery.due_runs() == []


def test_the_heartbeat_renews_what_is_held_and_says_what_each_run_is_to_do(crew):
    first, second = crew.claim(0, 0), crew.claim(1, 1)
    workers.register("w1", host="h", slots=8, has_key=False)
    Run.objects.update(lease_until=now_s() + 1)
    actions.stop_run(second.id, actor="user:lead")
    held = {first.id: first.fence, second.id: second.fence, "a00000000": 1}
    assert workers.heartbeat("w1", held=held) == {
        first.id: Directive.GO_ON,
        second.id: Directive.STOP,
        "a00000000": Directive.LOST,
    }
    assert min(Run.objects.values_list("lease_until", flat=True)) > now_s() + LEASE_S - 2
    assert Worker.objects.get().seen_at == pytest.approx(time.time(), abs=2)


def test_a_worker_that_lost_a_run_is_told_and_does_not_renew_the_lease_of_its_successor(crew):
    held = crew.claim(worker="w1")
    later = world.next_life(held, worker="w2")
    Run.objects.update(lease_until=5.0)
    assert workers.heartbeat("w1", held={held.id: held.fence}) == {held.id: Directive.LOST}
    assert Run.objects.get().lease_until == 5.0
    assert workers.heartbeat("w2", held={held.id: held.fence}) == {held.id: Directive.LOST}, "an old life of its own"
    assert workers.heartbeat("w2", held={held.id: later.fence}) == {held.id: Directive.GO_ON}


def test_a_fault_in_one_team_does_not_keep_the_sweep_from_the_others(crew, monkeypatch):
    other = world.make()
    tick = scheduling.tick

    def breaking(team_id):
        if team_id == crew.team.pk:
            raise RuntimeError("a fault of ours")
        return tick(team_id)

    monkeypatch.setattr(scheduling, "tick", breaking)
    recovery.sweep()
    assert Run.objects.filter(team=other.team).exists()


def test_a_sweep_of_a_team_at_rest_changes_nothing(crew):
    Task.objects.update(status="completed")
    recovery.sweep()
    before = world.frozen(crew.team)
    for _ in range(5):
        recovery.sweep()
    assert world.frozen(crew.team) == before


def test_a_process_that_died_is_gone_on_with_up_to_the_limit(crew):
    held = crew.claim()
    runs.count_death(held.id, held.fence, overflowed=False)
    runs.park(held.id, held.fence, reason=Reason.NO_RESULT, interrupted=True)
    run = Run.objects.get()
    assert (run.status, run.reason, run.crashes, run.handoffs) == ("pending", "no_result", 1, 1)
    assert not world.is_parked(held.id)


def test_a_run_that_waits_out_a_rate_limit_is_due_at_the_reset_and_not_before(crew):
    held = crew.claim()
    at = now_s() + 3600
    runs.park(held.id, held.fence, reason=Reason.RATE_LIMITED, detail="until 12:00", retry_at=at, interrupted=True)
    run = Run.objects.get()
    assert (run.due_at, run.retries, run.reason, run.detail) == (at, 1, "rate_limited", "until 12:00")
    assert claims.claim(held.id, worker="w", host="h") is None
    Run.objects.update(due_at=1, not_before=1)
    assert world.take(held.id).fence == held.fence + 1


def test_a_budget_request_keeps_the_run_parked(crew):
    held = crew.claim()
    run = Run.objects.select_related("task", "team", "agent").get()
    payload = {"scope": "team", "used_usd": 21.0, "limit_usd": 20.0}
    decisions.open_by_system(kind=DecisionKind.BUDGET, task=run.task, run=run, payload=payload)
    runs.park(held.id, held.fence, reason=Reason.BUDGET, interrupted=True)
    assert world.is_parked(held.id)


def test_a_host_whose_clock_is_wrong_neither_calls_runs_quiet_nor_ends_what_has_a_timeout(crew):
    Team.objects.update(limits={"decision_timeout_s": 600})
    with time_machine.travel(world.now() - timedelta(hours=2)):
        held = crew.claim()
        steps.record(held.id, held.fence, after=0, drafts=[world.say()])
    assert recovery.open_stalls() == 0
    with time_machine.travel(world.now() + timedelta(hours=2)):
        assert recovery.open_stalls() == 0
        ahead = decisions.open_for_run(held.id, held.fence, world.ask())
        assert expiry.expire_due() == 0
    with time_machine.travel(world.now() - timedelta(hours=2)):
        behind = decisions.open_for_run(held.id, held.fence, world.ask(tool_use_id="toolu_2", input={"command": "b"}))
    assert behind.expires_at - ahead.expires_at < timedelta(minutes=1)
    assert expiry.expire_due() == 0
