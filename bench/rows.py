"""A large installation made of bulk inserts: teams that have worked for months, told by the seed."""

import datetime as dt
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from django.db import connection, models
from django.utils import timezone

from tasks_app.decision_kinds.base import payload_hash
from tasks_app.domain.events import EventKind
from tasks_app.domain.ids import new_id
from tasks_app.domain.leases import LEASE_S
from tasks_app.domain.statuses import DecisionKind, DecisionStatus, Reason, RunStatus, StepKind, TaskStatus
from tasks_app.models import Agent, Decision, Dependency, Event, Message, MessageUsage, Run, Step, Task, Team
from tasks_app.services.clock import now_s

BATCH = 2000
M = TypeVar("M", bound=models.Model)
DONE: dict[str, Any] = {"status": RunStatus.COMPLETED.value, "reason": Reason.DONE.value, "input_tokens": 900}
FAILED: dict[str, Any] = DONE | {
    "status": RunStatus.FAILED.value,
    "reason": Reason.REPORTED.value,
    "dossier": {
        "reason": Reason.REPORTED.value,
        "error": "The migration is locked by another one.",
        "approaches": ["Waited for the lock", "Ran it without the index"],
        "last_steps": ["Bash make migrate", "All 214 tests pass.", "Bash make migrate"],
    },
}
STATUSES = (TaskStatus.COMPLETED, TaskStatus.COMPLETED, TaskStatus.COMPLETED, TaskStatus.IN_PROGRESS, TaskStatus.PENDING)
PAYLOAD = {
    "tool": "Bash",
    "input": {"command": "make migrate"},
    "title": "",
    "description": "",
    "rule": None,
    "risk": {"level": "low", "sentences": []},
    "cwd": "/w",
    "subagent": "",
}


@dataclass(frozen=True)
class Size:
    """How much there is in all."""

    teams: int = 10
    tasks: int = 500
    runs: int = 10_000
    steps: int = 100_000
    events: int = 1_000_000
    agents_per_team: int = 10


def make(size: Size, *, seed: int = 1, first: int = 0) -> list[Team]:
    """Insert it all and return the teams; `first` numbers the teams, so that it may be called again."""
    chance = random.Random(seed)
    return [_team(first + number, size, chance) for number in range(size.teams)]


def _bulk(model: type[M], rows: Iterable[M]) -> None:
    each = iter(rows)
    while batch := list(islice(each, BATCH)):
        model._default_manager.bulk_create(batch)


def _team(number: int, size: Size, chance: random.Random) -> Team:
    now = timezone.now()
    team = Team.objects.create(
        slug=f"big-{number}",
        name=f"Big {number}",
        goal="Everything at once.",
        workspace="/tmp",
        workspace_mode="copy",
        limits={"parallel": size.agents_per_team, "attempts": 3},
        created_at=now - dt.timedelta(days=90),
    )
    agents = Agent.objects.bulk_create(
        [
            Agent(team=team, name=f"agent{n}", role="builder", position=n, now_text="Bash pytest -q")
            for n in range(size.agents_per_team)
        ]
    )
    tasks = _tasks(team, size.tasks // size.teams, agents, chance)
    runs = _runs(team, size.runs // size.teams, tasks, agents, chance)
    _steps(runs, size.steps // size.teams)
    _decisions(team, [run for run in runs if run.status == RunStatus.RUNNING.value])
    _messages(team, agents)
    count = size.events // size.teams
    _bulk(Event, _events(team, count, runs, now))
    Team.objects.filter(pk=team.pk).update(last_seq=count, last_task_number=len(tasks), used_tokens=10**7, cost_known=True)
    return team


def _tasks(team: Team, count: int, agents: list[Agent], chance: random.Random) -> list[Task]:
    now, rows, working = timezone.now(), [], 0
    for number in range(1, count + 1):
        status = chance.choice(STATUSES)
        working += status is TaskStatus.IN_PROGRESS
        if status is TaskStatus.IN_PROGRESS and working > len(agents):
            status = TaskStatus.PENDING
        done = status is TaskStatus.COMPLETED
        rows.append(
            Task(
                team=team, number=number, key=f"t{number}", title=f"Task number {number} of {team.name}",
                criteria=["The tests pass"], role="builder", status=status.value,
                attempts=int(status is not TaskStatus.PENDING), created_at=now, started_at=now,
                completed_at=now if done else None, completed_by="agent0" if done else "", output="done" if done else "",
            )
        )  # fmt: skip
    tasks = Task.objects.bulk_create(rows)
    needs = [Dependency(task=task, needs=tasks[n - 3]) for n, task in enumerate(tasks) if n > 10 and n % 2]
    Dependency.objects.bulk_create(needs)
    return tasks


def _runs(team: Team, count: int, tasks: list[Task], agents: list[Agent], chance: random.Random) -> list[Run]:
    now, rows, lease = timezone.now(), [], now_s() + 100 * LEASE_S
    working = [task for task in tasks if task.status == TaskStatus.IN_PROGRESS.value]
    finished = [task for task in tasks if task.status == TaskStatus.COMPLETED.value]
    common: dict[str, Any] = {"team": team, "created_at": now, "started_at": now, "last_step_at": now, "fence": 1}
    ended, tried = count - len(working), len(finished)
    for number in range(ended):
        attempt, task, last = number // tried + 1, finished[number % tried], number >= ended - tried
        came_to = DONE if last else FAILED  # a task is completed once, by the last of its attempts
        rows.append(
            Run(pk=new_id("a"), task=task, agent=chance.choice(agents), attempt=attempt, ended_at=now, **common, **came_to)
        )
    for task, agent in zip(working, agents, strict=False):
        held = {"status": RunStatus.RUNNING.value, "lease_until": lease, "worker": "big", "host": "big"}
        rows.append(Run(pk=new_id("a"), task=task, agent=agent, attempt=1, **common, **held))
    _bulk(Run, rows)
    return rows


def _steps(runs: list[Run], count: int) -> None:
    each = max(1, count // max(1, len(runs)))
    now = timezone.now()
    kinds = (StepKind.SAID, StepKind.TOOL_CALL, StepKind.TOOL_RESULT)

    def rows() -> Iterator[Step]:
        for run in runs:
            for seq in range(1, each + 1):
                kind = kinds[seq % 3]
                data = {"tool": "Bash", "input": {"command": "pytest"}} if kind is StepKind.TOOL_CALL else {}
                yield Step(run=run, seq=seq, fence=1, kind=kind.value, text="All 214 tests pass.", data=data, at=now)

    _bulk(Step, rows())
    Run.objects.filter(pk__in=[run.pk for run in runs[:500]]).update(last_seq=each)
    _bulk(
        MessageUsage, (MessageUsage(team_id=r.team_id, run=r, message_id=f"msg_{r.pk}", input_tokens=900, at=now) for r in runs)
    )


def _decisions(team: Team, running: list[Run]) -> None:
    now, rows = timezone.now(), []
    for number in range(400):
        run = running[number % len(running)] if running else None
        is_open = number < 2 * len(running) // 3
        payload = PAYLOAD | {"input": {"command": f"make migrate {number}"}}
        rows.append(
            Decision(
                pk=new_id("d"), team=team, task=run.task if run else None, run=run, agent=run.agent if run else None,
                kind=DecisionKind.PERMISSION.value, title=f"May I run make migrate {number}?", payload=payload,
                payload_hash=payload_hash(payload), ask_key=f"{number}", opened_at=now,
                status=(DecisionStatus.OPEN if is_open else DecisionStatus.ANSWERED).value,
                choice="" if is_open else "allow", answered_by="" if is_open else "lead", answered_at=None if is_open else now,
            )
        )  # fmt: skip
    _bulk(Decision, rows)


def _messages(team: Team, agents: list[Agent]) -> None:
    now = timezone.now()
    _bulk(
        Message,
        (
            Message(
                pk=new_id("m"),
                team=team,
                sender=agents[0],
                sender_name="agent0",
                recipient=agents[1],
                body=f"Note {n}",
                recipient_name="agent1",
                created_at=now,
            )
            for n in range(300)
        ),
    )


def _events(team: Team, count: int, runs: list[Run], now: dt.datetime) -> Iterator[Event]:
    begin = now - dt.timedelta(days=90)
    kinds = [EventKind.RUN_STEPS] * 8 + [
        EventKind.RUN_STARTED,
        EventKind.RUN_COMPLETED,
        EventKind.TASK_CLAIMED,
        EventKind.TASK_COMPLETED,
    ]
    for seq in range(1, count + 1):
        run = runs[seq % len(runs)]
        yield Event(
            team=team, seq=seq, kind=kinds[seq % len(kinds)].value, at=begin + dt.timedelta(seconds=seq), actor="system",
            task_number=run.task.number, run_id=run.pk, agent_id=run.agent_id, keys=[f"team:{team.pk}", f"run:{run.pk}"],
            data={"first": 1, "last": 2, "fence": 1, "reason": "done"},
        )  # fmt: skip


def analyse() -> None:
    """Let the database look at its new tables, as it does by itself in time."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
