"""Small lives of runs, played through the services: what happens where a guard is needed (`broken_guards`)."""

import contextlib

from django.db import transaction

from bench import crew
from tasks_app.domain.errors import DomainError, LeaseLost
from tasks_app.domain.statuses import DecisionKind, Reason, RunStatus, StepKind, TeamStatus
from tasks_app.models import Agent, Decision, MessageUsage, Run, Task, Team
from tasks_app.runners.port import Ask, Cost, StepDraft, Usage
from tasks_app.services import claims, decisions, deliveries, endings, recovery, runs, steps, task_edits, tasks, teams
from tasks_app.services.endings import Ending, finish

SCRIPT = """
parts:
  - turns: [{say: One., usage: {input: 101, cache_read: 1000, cache_write: 50, output: 7}}]
"""
SAID = StepDraft(StepKind.SAID, "I work.")
ASK = Ask(
    DecisionKind.PERMISSION, {"tool": "Bash", "input": {"command": "make"}, "risk": {"level": "low", "sentences": []}}, "toolu_1"
)


def a_team(size: int = 1) -> Team:
    tasks = [{"title": f"Task {number}", "criteria": ["done"]} for number in range(size)]
    return crew.start(crew.plan("Guarded", agents=size, tasks=tasks, parallel=8), script=SCRIPT)


def claim(run_id: str, worker: str) -> runs.Held:
    held = claims.claim(run_id, worker=worker, host="here")
    assert held is not None
    return held


def first_run(team: Team) -> str:
    return str(Run.objects.get(team=team).pk)


def lose(run_id: str) -> None:
    """Its lease runs out and a sweep takes it back."""
    Run.objects.filter(pk=run_id).update(lease_until=1)
    assert recovery.take_back_expired() == 1


def speak(held: runs.Held) -> None:
    """What the script says, once, and what it cost."""
    said = StepDraft(StepKind.SAID, "One.", usage=Usage(f"msg_{held.id}", "claude-sonnet-4-5", 101, 50, 1000, 7))
    cost = StepDraft(StepKind.RESULT, "", cost=Cost(f"{held.id}:{held.fence}:1", 0.0008955))
    steps.record(held.id, held.fence, after=Run.objects.get(pk=held.id).last_seq, drafts=[said, cost])


def complete(held: runs.Held) -> None:
    """End it in order; one that has said nothing yet says its turn first."""
    if not MessageUsage.objects.filter(run=held.id).exists():
        speak(held)
    runs.report(held.id, held.fence, {"status": "completed", "summary": "done", "evidence": {}})
    with transaction.atomic():
        finish(held.id, held.fence, Ending(RunStatus.COMPLETED, Reason.DONE))


def a_frozen_worker_goes_on(team: Team) -> None:
    old = claim(first_run(team), "old")
    steps.record(old.id, old.fence, after=0, drafts=[SAID])
    lose(old.id)
    new = claim(old.id, "new")
    steps.record(new.id, new.fence, after=1, drafts=[SAID])
    with contextlib.suppress(LeaseLost):
        steps.record(old.id, old.fence, after=2, drafts=[SAID])
    complete(new)


def a_frozen_worker_is_first(team: Team) -> None:
    """It goes on before the life that took its run over has said anything."""
    old = claim(first_run(team), "old")
    lose(old.id)
    new = claim(old.id, "new")
    with contextlib.suppress(LeaseLost):
        steps.record(old.id, old.fence, after=0, drafts=[SAID])
    complete(new)


def a_frozen_worker_ends_its_run(team: Team) -> None:
    old = claim(first_run(team), "old")
    speak(old)
    lose(old.id)
    new = claim(old.id, "new")
    for held in (old, new):
        with contextlib.suppress(LeaseLost):
            complete(held)


def a_task_is_given_out_too_early(team: Team) -> None:
    first, second = Task.objects.filter(team=team).order_by("number")
    task_edits.add_dependencies(second.pk, needs=[first.pk], actor="user:ann")
    stop_what_runs(second)
    with contextlib.suppress(DomainError):
        runs.claim_task(second.pk, agent_id=free_agent(team), actor="user:ann")
    complete(claim(str(Run.objects.get(task=first).pk), "one"))
    if not Run.objects.filter(task=second, status=RunStatus.PENDING.value).exists():
        runs.claim_task(second.pk, agent_id=free_agent(team), actor="user:ann")
    complete(claim(str(Run.objects.get(task=second, status=RunStatus.PENDING.value).pk), "one"))


def stop_what_runs(task: Task) -> None:
    run = Run.objects.get(task=task)
    endings.end_pending(run.pk, endings.stopped_by("user:ann", reason=Reason.STOPPED, held=True), actor="user:ann")


def free_agent(team: Team) -> int:
    busy = Run.objects.filter(team=team, status__in=(RunStatus.PENDING.value, RunStatus.RUNNING.value)).values("agent_id")
    return int(Agent.objects.filter(team=team).exclude(pk__in=busy).values_list("pk", flat=True)[0])


def a_team_is_paused(team: Team) -> None:
    teams.set_status(team.pk, status=TeamStatus.PAUSED, actor="user:ann")
    held = claims.claim(first_run(team), worker="one", host="here")
    teams.set_status(team.pk, status=TeamStatus.ACTIVE, actor="user:ann")
    complete(held or claim(first_run(team), "one"))


def a_run_fails_while_it_asks(team: Team) -> None:
    held = claim(first_run(team), "one")
    speak(held)
    decisions.open_for_run(held.id, held.fence, ASK)
    with transaction.atomic():
        deliveries.end(held.id, held.fence, Ending(RunStatus.FAILED, Reason.REPORTED), why="its run failed")
        tasks.mark_completed(Task.objects.get(team=team), by="lead", evidence={}, output="", actor="user:lead")


def a_nudge_comes_twice(team: Team) -> None:
    held = claim(first_run(team), "one")
    held = claims.claim(held.id, worker="two", host="here") or held
    complete(held)


def two_workers_take_the_same_along(team: Team) -> None:
    """Each is nudged for one run of its own and takes along what else is due: one of three has no nudge."""
    ids = list(Run.objects.filter(team=team).order_by("pk").values_list("pk", flat=True))
    held = {}
    for name, nudged in (("one", ids[0]), ("two", ids[1])):
        held |= {each.id: each for each in claims.claim_all([nudged], worker=name, host="here", more=9)}
    for each in held.values():
        complete(each)


def two_people_answer(team: Team) -> None:
    held = claim(first_run(team), "one")
    decision = decisions.open_for_run(held.id, held.fence, ASK)
    for who, choice in (("user:ann", "allow"), ("user:bob", "deny")):
        with contextlib.suppress(DomainError):
            decisions.answer(
                decision.pk, choice=choice, note="", data={}, version=1, payload_hash=decision.payload_hash, actor=who
            )
    deliveries.deliver(decision.pk, held.fence)
    Decision.objects.filter(pk=decision.pk).update(consumed_at=decision.opened_at)
    complete(held)


def an_answer_is_fetched_twice(team: Team) -> None:
    held = claim(first_run(team), "one")
    decision = decisions.open_for_run(held.id, held.fence, ASK)
    decisions.answer(
        decision.pk, choice="allow", note="", data={}, version=1, payload_hash=decision.payload_hash, actor="user:ann"
    )
    deliveries.deliver(decision.pk, held.fence)
    with contextlib.suppress(LeaseLost):
        deliveries.deliver(decision.pk, held.fence)
    Decision.objects.filter(pk=decision.pk).update(consumed_at=decision.opened_at)
    complete(held)


def a_nudge_is_lost(team: Team) -> None:
    """Nobody nudges: the sweep finds the run that is due, and the worker that swept takes it."""
    Run.objects.filter(team=team).update(nudged_at=0)
    for run_id in recovery.sweep():
        complete(claim(run_id, "swept"))


def a_task_is_completed_by_two(team: Team) -> None:
    held = claim(first_run(team), "one")
    complete(held)
    with transaction.atomic():
        tasks.mark_completed(Task.objects.get(team=team), by="lead", evidence={}, output="", actor="user:lead")


def a_message_is_said_in_two_rows(team: Team) -> None:
    held = claim(first_run(team), "one")
    usage = Usage("msg_1", "claude-sonnet-4-5", 101, 50, 1000, 7)
    row = StepDraft(StepKind.SAID, "One.", usage=usage)
    cost = StepDraft(StepKind.RESULT, "", cost=Cost(f"{held.id}:{held.fence}:1", 0.0008955))
    steps.record(held.id, held.fence, after=0, drafts=[row, row, cost])
    complete(held)
