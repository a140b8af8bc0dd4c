"""Plays a small life of a run twice, with a guard of the product in place and with it broken, and audits both; prints JSON.

`python -m tests.bench.broken_guards` with an empty CREWDESK_HOME. Output: {guard: {"intact": [violations], "broken": […]}}.
"""

import contextlib
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import transaction  # noqa: E402

from bench import audit, crew, leftovers  # noqa: E402
from tasks_app.domain.errors import DomainError, LeaseLost  # noqa: E402
from tasks_app.domain.statuses import DecisionKind, Reason, RunStatus, StepKind  # noqa: E402
from tasks_app.domain.usage import Tokens  # noqa: E402
from tasks_app.management import leftovers as ours  # noqa: E402
from tasks_app.models import Decision, Run, Task, Team  # noqa: E402
from tasks_app.runners.claude import processes  # noqa: E402
from tasks_app.runners.port import Ask, Cost, StepDraft, Usage  # noqa: E402
from tasks_app.services import claims, decisions, deliveries, recovery, rows, runs, steps, tasks, usage  # noqa: E402
from tasks_app.services.endings import Ending, finish  # noqa: E402

SCRIPT = """
parts:
  - turns: [{say: One., usage: {input: 101, cache_read: 1000, cache_write: 50, output: 7}}]
"""
SAID = StepDraft(StepKind.SAID, "I work.")
ASK = Ask(
    DecisionKind.PERMISSION, {"tool": "Bash", "input": {"command": "make"}, "risk": {"level": "low", "sentences": []}}, "toolu_1"
)
PATIENCE_S = 2.0
PENDING = ("status__in", "status", "due_at__lte")
"""What a claim looks for: that nobody has the run."""


class Blind:
    """A model whose `filter` does not see some of its conditions: what a guard would be if somebody had forgotten it."""

    def __init__(self, model: Any, *unseen: str) -> None:
        self._model, self._unseen = model, unseen
        self.objects = self

    def filter(self, *conditions: Any, **named: Any) -> Any:
        return self._model.objects.filter(*conditions, **{k: v for k, v in named.items() if k not in self._unseen})

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model.objects, name)


class Whatever(int):
    """A fence that is as old as anybody wants it."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


def whoever_asks(run_id: str, recorded: Callable[[str], Run | None] = rows.recorded) -> Run:
    run = recorded(run_id)
    assert run is not None
    run.fence = Whatever(run.fence)
    return run


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


def complete(held: runs.Held) -> None:
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


@contextlib.contextmanager
def a_shell_left_behind(team: Team) -> Iterator[None]:
    """A process that carries the marker of a run that nobody runs any more."""
    env = {"CREWDESK_RUN": f"{first_run(team)}:1", "HOME": f"{settings.HOME}/runs/x", "PATH": os.defpath}
    with subprocess.Popen(["sleep", "60"], env=env, start_new_session=True) as shell:
        try:
            yield
        finally:
            shell.kill()


def kept_shell(team: Team) -> list[str]:
    """What is left on the host after the desk has cleaned up."""
    with a_shell_left_behind(team):
        ours.end()
        return leftovers.processes(Path(settings.HOME), patience_s=PATIENCE_S)


async def kill_nothing(run_id: str, **given: Any) -> bool:
    return True


def forget(known: Tokens | None, row: Tokens) -> tuple[Tokens, Tokens]:
    return row, row


GUARDS: dict[str, tuple[Callable[[Team], None], Callable[[], Any]]] = {
    "fence": (a_frozen_worker_goes_on, lambda: patch.object(steps.rows, "recorded", whoever_asks)),
    "lease": (a_nudge_comes_twice, lambda: patch.object(claims, "Run", Blind(Run, *PENDING))),
    "claimed together": (two_workers_take_the_same_along, lambda: patch.object(claims, "Run", Blind(Run, *PENDING))),
    "first answer wins": (two_people_answer, lambda: patch.object(decisions, "must_be_open", lambda decision: None)),
    "delivered once": (an_answer_is_fetched_twice, lambda: patch.object(decisions, "usable", lambda fence: decisions.Q())),
    "sweep": (a_nudge_is_lost, lambda: patch.object(recovery, "renudge", list)),
    "completed once": (a_task_is_completed_by_two, lambda: patch.object(tasks, "Task", Blind(Task, "status__in"))),
    "counted once": (a_message_is_said_in_two_rows, lambda: patch.object(usage, "merge", forget)),
}


def play(story: Callable[[Team], None]) -> list[str]:
    team = a_team(3 if story is two_workers_take_the_same_along else 1)
    try:
        story(team)
        return audit.audit().violations
    finally:
        team.delete()


def main() -> dict[str, Any]:
    call_command("migrate", verbosity=0, interactive=False)
    found: dict[str, Any] = {}
    for name, (story, breaking) in GUARDS.items():
        found[name] = {"intact": play(story)}
        with breaking():
            found[name]["broken"] = play(story)
    team = a_team()
    found["process kill"] = {"intact": kept_shell(team)}
    with patch.object(processes, "kill_run", kill_nothing):
        found["process kill"]["broken"] = kept_shell(team)
    return found


if __name__ == "__main__":
    print(json.dumps(main()))
