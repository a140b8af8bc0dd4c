"""A small team that has finished its work in order, for tests that corrupt what is left of it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import F
from django.utils import timezone

from bench import crew
from tasks_app.domain.events import EventKind
from tasks_app.domain.statuses import DecisionKind, Reason, RunStatus, StepKind
from tasks_app.models import Decision, Event, Message, Run, Task, Team
from tasks_app.runners.port import Ask, Cost, StepDraft, Usage
from tasks_app.services import claims, decisions, deliveries, messages, recovery, runs, scheduling, steps
from tasks_app.services.endings import Ending

SCRIPT = "\n".join(
    ["parts:"]
    + [
        f"  - task: t{n}\n    turns:\n"
        f"      - {{say: One., usage: {{input: {n}01, cache_read: 1000, cache_write: 50, output: 7}}}}\n"
        f"      - {{say: Two., usage: {{input: {n}02, cache_read: 1000, cache_write: 50, output: 9}}}}"
        for n in (1, 2)
    ]
)
OUTPUTS = (7, 9)
PERMISSION = {"tool": "Bash", "input": {"command": "make"}, "risk": {"level": "low", "sentences": []}}


def usd(*said: Usage) -> float:
    return sum((3 * one.input_tokens + 3.75 * 50 + 0.3 * 1000 + 15 * one.output_tokens) / 1e6 for one in said)


def works(number: int, *, taken_over: bool) -> None:
    """Play the run of task t<number>: it speaks, asks, is told, speaks and ends; between them it may lose its worker."""
    run = Run.objects.get(task__key=f"t{number}", status=RunStatus.PENDING.value)
    held = claims.claim(run.pk, worker="w1", host="here")
    assert held is not None
    said = [
        Usage(f"msg_{number}_{k}", "claude-sonnet-4-5", 100 * number + k, 50, 1000, output) for k, output in enumerate(OUTPUTS, 1)
    ]
    steps.record(held.id, held.fence, after=0, drafts=[StepDraft(StepKind.SAID, "One.", usage=said[0])])
    messages.take_due(held.agent_id, run_id=held.id, fence=held.fence)
    decision = decisions.open_for_run(held.id, held.fence, Ask(DecisionKind.PERMISSION, PERMISSION, f"toolu_{number}"))
    decisions.answer(
        decision.pk, choice="allow", note="", data={}, version=1, payload_hash=decision.payload_hash, actor="user:ann"
    )
    deliveries.deliver(decision.pk, held.fence, tool_use_id=f"toolu_{number}")
    deliveries.consume(held.id, held.fence, results=[f"toolu_{number}"], told=[])
    if taken_over:
        Run.objects.filter(pk=held.id).update(lease_until=1)
        assert recovery.take_back_expired() == 1
        held = claims.claim(held.id, worker="w2", host="here")
        assert held is not None
    cost = Cost(f"{held.id}:{held.fence}:1", round(usd(*(said[1:] if taken_over else said)), 6))
    steps.record(
        held.id,
        held.fence,
        after=1,
        drafts=[StepDraft(StepKind.SAID, "Two.", usage=said[1]), StepDraft(StepKind.RESULT, "", cost=cost)],
    )
    runs.report(held.id, held.fence, {"status": "completed", "summary": "done", "evidence": {}})
    deliveries.end(held.id, held.fence, Ending(RunStatus.COMPLETED, Reason.DONE), why="its run ended")
    scheduling.tick(held.team_id)


@dataclass
class Finished:
    """Two tasks, the second of which waits for the first and is taken over once; `team` has completed both."""

    team: Team

    @classmethod
    def make(cls) -> "Finished":
        tasks: list[dict[str, Any]] = [
            {"key": "t1", "title": "One", "criteria": ["done"]},
            {"key": "t2", "title": "Two", "criteria": ["done"], "depends_on": ["t1"]},
        ]
        team = crew.start(crew.plan("Finished", agents=2, tasks=tasks, parallel=4), script=SCRIPT)
        run = Run.objects.get(team=team)
        messages.send(team.pk, sender_agent_id=None, to=run.agent.name, body="Mind the date.", actor="user:ann")
        works(1, taken_over=False)
        works(2, taken_over=True)
        return cls(Team.objects.get(pk=team.pk))

    def task(self, number: int) -> Task:
        return Task.objects.get(team=self.team, number=number)

    def run(self, number: int) -> Run:
        return Run.objects.get(task=self.task(number))

    def decision(self, number: int) -> Decision:
        return Decision.objects.get(run=self.run(number))

    def message(self) -> Message:
        return Message.objects.get(team=self.team)

    # the log ---------------------------------------------------------------------------------------------------------

    def log(self) -> list[Event]:
        return list(Event.objects.filter(team=self.team).order_by("seq"))

    def write(self, log: Iterable[Event]) -> None:
        """Make this the log, numbered without a gap: what a fault that is not a hole would leave."""
        Event.objects.filter(team=self.team).update(seq=F("seq") + 100_000)
        kept = [event.pk for event in log if event.pk]
        Event.objects.filter(team=self.team).exclude(pk__in=kept).delete()
        for seq, event in enumerate(log, 1):
            event.seq = seq
            event.save()
        Team.objects.filter(pk=self.team.pk).update(last_seq=len(list(log)))

    def drop(self, kind: EventKind, task: int | None = None) -> None:
        self.write([event for event in self.log() if not self._is(event, kind, task)])

    def double(self, kind: EventKind, task: int | None = None) -> None:
        log = []
        for event in self.log():
            log += [event, *([self._copy(event)] if self._is(event, kind, task) else [])]
        self.write(log)

    def move_to_front(self, kind: EventKind, task: int, *, of: EventKind, of_task: int) -> None:
        """Move an event to before another one."""
        moved = [event for event in self.log() if self._is(event, kind, task)]
        log: list[Event] = []
        for event in (event for event in self.log() if event not in moved):
            log += [*(moved if self._is(event, of, of_task) and moved[0] not in log else []), event]
        self.write(log)

    def change(self, kind: EventKind, task: int, change: Callable[[Event], None]) -> None:
        for event in (event for event in self.log() if self._is(event, kind, task)):
            change(event)
            event.save()

    def add_after(self, kind: EventKind, task: int, new: EventKind, **data: Any) -> None:
        run = self.run(task)
        made = Event(
            team=self.team, kind=new.value, at=timezone.now(), actor="system", task_number=task, run_id=run.pk, data=data
        )
        log: list[Event] = []
        for event in self.log():
            log += [event, *([made] if self._is(event, kind, task) and made not in log else [])]
        self.write(log)

    def _is(self, event: Event, kind: EventKind, task: int | None) -> bool:
        about = task is None or task == event.task_number or event.run_id == self.run(task).pk
        return event.kind == kind.value and about

    @staticmethod
    def _copy(event: Event) -> Event:
        copy = Event.objects.get(pk=event.pk)
        copy.pk = None
        return copy
