"""A small team made through the services, lives of its runs, and callers that start at the same moment."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.db import connection
from django.db.models import F
from django.utils import timezone

from tasks_app.domain.leases import NEVER
from tasks_app.domain.statuses import DecisionKind, StepKind
from tasks_app.models import Agent, Decision, Event, Run, Task, Team
from tasks_app.runners.port import Ask, Cost, StepDraft, Usage
from tasks_app.services import actions, claims, decisions, runs, tasks
from tasks_app.services.runs import Held
from tests import factories

HOST = "host"
PAYLOADS = factories.PAYLOADS


@dataclass(frozen=True)
class World:
    """A team with its agents and tasks, as they were made."""

    team: Team
    agents: tuple[Agent, ...]
    tasks: tuple[Task, ...]

    def claim(self, task: int = 0, agent: int = 0, *, worker: str = "w1") -> Held:
        """Give a task to an agent and take its run."""
        run = runs.claim_task(self.tasks[task].pk, agent_id=self.agents[agent].pk, actor="system")
        return take(run.pk, worker=worker)

    def task(self, place: int = 0) -> Task:
        """The task as it is now."""
        return Task.objects.get(pk=self.tasks[place].pk)


def make(
    *, agents: int = 2, titles: Sequence[str] = ("Build",), chain: bool = False, role: str = "builder", **team: Any
) -> World:
    """Make a team with so many agents of one role; `chain` lets each task need the one before it."""
    made = factories.TeamFactory(**team)
    crew = tuple(factories.AgentFactory(team=made, name=f"{role}-{n}", role=role, position=n) for n in range(1, agents + 1))
    todo: list[Task] = []
    for title in titles:
        needs = (todo[-1].pk,) if chain and todo else ()
        draft = tasks.Draft(title=title, criteria=("It works.",), role=role, depends_on=needs)
        todo.append(tasks.create(made.pk, draft, actor="system"))
    return World(made, crew, tuple(todo))


def take(run_id: str, *, worker: str = "w1", host: str = HOST) -> Held:
    """Claim a run; it must be to be had."""
    held = claims.claim(run_id, worker=worker, host=host)
    assert held is not None, Run.objects.filter(pk=run_id).values("status", "due_at", "reason")
    return held


def expire_lease(run_id: str) -> None:
    """Let the lease have run out."""
    Run.objects.filter(pk=run_id).update(lease_until=1.0)


def next_life(held: Held, *, worker: str = "w2") -> Held:
    """The next life of the run, as after a worker that was lost without a word."""
    from_now = {"status": "pending", "due_at": 0, "interrupted": True}
    Run.objects.filter(pk=held.id).update(**from_now)
    return take(held.id, worker=worker)


def ask(kind: DecisionKind = DecisionKind.PERMISSION, *, tool_use_id: str = "toolu_1", **payload: Any) -> Ask:
    """A typical request of a kind."""
    return Ask(kind, {**PAYLOADS[kind], **payload}, tool_use_id)


def say(text: str = "I go on.", **more: Any) -> StepDraft:
    """A step that says something."""
    return StepDraft(StepKind.SAID, text, **more)


def usage(message_id: str = "msg_1", *, output: int = 10, subagent: str = "") -> Usage:
    """Usage as in the case N29."""
    return Usage(message_id, "claude-sonnet", 3, 9284, 63347, output, subagent)


def cost(process: str, usd: float) -> Cost:
    """What a process says it has cost."""
    return Cost(process, usd)


def answer(
    decision: Decision, choice: str, *, note: str = "", data: Mapping[str, Any] | None = None, by: str = "lead"
) -> Decision:
    """Answer as the page does, with what is shown now."""
    now = decisions.get(decision.pk)
    return actions.answer(
        now.pk, choice=choice, note=note, data=data, version=now.version, payload_hash=now.payload_hash, actor=f"user:{by}"
    )


def age(decision: Decision, *, seconds: float) -> None:
    """Time goes by for a decision: by the database's clock, which no test can move."""
    Decision.objects.filter(pk=decision.pk).update(expires_at=F("expires_at") - timedelta(seconds=seconds))


def is_parked(run_id: str) -> bool:
    """Whether the run waits without a process."""
    return Run.objects.filter(pk=run_id, status="pending", due_at=NEVER).exists()


def kinds(team: Team) -> list[str]:
    """The kinds of all events of a team, in order."""
    return list(Event.objects.filter(team=team).order_by("seq").values_list("kind", flat=True))


def frozen(team: Team) -> dict[str, Any]:
    """Everything stored of a team that a write could change, to be compared before and after."""
    found: dict[str, Any] = {"seq": Team.objects.get(pk=team.pk).last_seq}
    for name in ("tasks", "agents", "runs", "decisions", "messages", "context", "checkpoints"):
        found[name] = list(getattr(Team.objects.get(pk=team.pk), name).order_by("pk").values())
    found["steps"] = list(Run.objects.filter(team=team).order_by("pk", "steps__seq").values("pk", "steps__seq", "steps__text"))
    found["usage"] = list(
        Run.objects.filter(team=team).order_by("pk", "usages").values("pk", "usages__output_tokens", "costs__usd")
    )
    return found


def at_once(count: int, work: Callable[[int], Any]) -> list[Any]:
    """Call `work(n)` in so many threads that start together; returns each result, or the exception it raised."""
    barrier, found = threading.Barrier(count), [None] * count

    def one(number: int) -> None:
        try:
            barrier.wait(30)
            found[number] = work(number)
        except Exception as error:
            found[number] = error  # type: ignore[call-overload]
        finally:
            connection.close()

    threads = [threading.Thread(target=one, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return found


def workspace(team: Team, folder: Path) -> Team:
    """Let the team work in a folder that exists."""
    folder.mkdir(parents=True, exist_ok=True)
    Team.objects.filter(pk=team.pk).update(workspace=str(folder))
    team.workspace = str(folder)
    return team


def now() -> Any:
    """The time as Django has it."""
    return timezone.now()
