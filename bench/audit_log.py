"""One walk through the log of a team, in order: at each event it is known which life has which run, and what may happen then.

What the rows say at the end is compared with where the walk has come to (`bench/audit_rows.py`).
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tasks_app.domain.deciders import is_lead
from tasks_app.domain.events import EventKind as Kind
from tasks_app.domain.statuses import DecisionStatus, RunStatus, StepKind, TaskStatus
from tasks_app.models import Agent, Decision, Event, Message, Run, Step, Task, Team

ENDS = {
    Kind.RUN_COMPLETED.value: RunStatus.COMPLETED.value,
    Kind.RUN_FAILED.value: RunStatus.FAILED.value,
    Kind.RUN_KILLED.value: RunStatus.KILLED.value,
}
RESTS = {
    Kind.TEAM_PAUSED.value: True,
    Kind.TEAM_STOPPED.value: True,
    Kind.TEAM_IMPORTED.value: True,
    Kind.TEAM_RESUMED.value: False,
}
DONE, OPEN, WAITS = TaskStatus.COMPLETED.value, TaskStatus.IN_PROGRESS.value, TaskStatus.PENDING.value
CANCELLED, UNKNOWN = TaskStatus.CANCELLED.value, "unknown"
SETTLED = {Kind.DECISION_DELIVERED.value, Kind.DECISION_WITHDRAWN.value, Kind.DECISION_EXPIRED.value}
SAID_OF_DECISION = SETTLED | {Kind.DECISION_OPENED.value, Kind.DECISION_ANSWERED.value}
STATE_AFTER = {
    Kind.DECISION_OPENED.value: DecisionStatus.OPEN.value,
    Kind.DECISION_ANSWERED.value: DecisionStatus.ANSWERED.value,
    Kind.DECISION_WITHDRAWN.value: DecisionStatus.WITHDRAWN.value,
    Kind.DECISION_EXPIRED.value: DecisionStatus.EXPIRED.value,
}


@dataclass
class Steps:
    """What is stored of one run, and how far the log has told of it."""

    stored: dict[int, tuple[int, str]]  # number → the life that stored it, its kind
    told: int = 0


@dataclass
class Walk:
    """Where the log has come to. `violations` yields what may not be; afterwards the fields tell how it ended."""

    team: Team
    steps_age_out: bool = False
    """A rule may have removed the first steps of runs that have ended."""
    last: int = 0
    held: dict[str, int] = field(default_factory=dict)  # run → the life that has it
    fence: Counter[str] = field(default_factory=Counter)  # run → its newest life
    ended: dict[str, str] = field(default_factory=dict)  # run → how
    tasks: dict[int, str] = field(default_factory=lambda: defaultdict(lambda: WAITS))
    steps: dict[str, Steps] = field(default_factory=dict)
    decisions: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    reached: dict[str, int] = field(default_factory=dict)  # decision → the life that was handed its answer last
    told_messages: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    handed: dict[str, str] = field(default_factory=dict)  # message → the run that was told it last
    sent: set[str] = field(default_factory=set)
    created: set[int] = field(default_factory=set)
    imported: bool = False

    def __post_init__(self) -> None:
        self._runs = {run.pk: run for run in Run.objects.filter(team=self.team).select_related("task", "agent")}
        self._judges = dict(Task.objects.filter(team=self.team).values_list("number", "review_of__number"))
        leads = Agent.objects.filter(team=self.team).values_list("name", "role")
        self._leads = {f"agent:{name}" for name, role in leads if is_lead(role)}
        self._choices = dict(Decision.objects.filter(team=self.team).values_list("pk", "choice"))
        asks = Decision.objects.filter(team=self.team, run__isnull=False).values_list("pk", "run_id", "kind", "ask_key")
        self._asks = {pk: ask for pk, *ask in asks}
        self._asked: dict[tuple[str, ...], str] = {}  # what a run has asked → the newest decision
        self._messages = set(Message.objects.filter(team=self.team).values_list("pk", flat=True))
        self._busy: dict[tuple[str, int], str] = {}  # ("task" | "agent", its number or key) → the open run
        self._needs: dict[int, set[int]] = defaultdict(set)
        self._rests = False
        for run in self._runs:
            self.steps[run] = Steps({})
        for run, seq, fence, kind in Step.objects.filter(run__team=self.team).values_list("run", "seq", "fence", "kind"):
            self.steps[run].stored[seq] = fence, kind

    def violations(self) -> Iterator[str]:
        """Walk. Each kind of event is looked at by what it is about."""
        for event in Event.objects.filter(team=self.team).order_by("seq").iterator():
            self.last = event.seq
            self._rests = RESTS.get(event.kind, self._rests)
            if event.kind == Kind.TEAM_IMPORTED.value:
                self.imported = True
                self.held.clear()  # a file brings runs along that nobody has
            if event.kind == Kind.CHECKPOINT_RESTORED.value:
                self.tasks = defaultdict(lambda: UNKNOWN)
            yield from self._of_task(event)
            if event.run_id and event.run_id not in self._runs:
                yield f"{event.kind} tells of run {event.run_id}, which is not there"
            elif event.run_id:
                yield from self._of_run(event, self._runs[event.run_id])
            if event.kind in SAID_OF_DECISION:
                yield from self._of_decision(event)
            yield from self._of_message(event)

    # tasks -----------------------------------------------------------------------------------------------------------

    def _of_task(self, event: Event) -> Iterator[str]:
        number = event.task_number
        if number is None:
            return
        if number not in self._judges:
            yield f"{event.kind} tells of T-{number}, which is not there"
        was = self.tasks[number]
        if event.kind == Kind.TASK_COMPLETED.value:
            if was in (DONE, CANCELLED):
                yield f"T-{number} was completed {'twice' if was == DONE else 'after it was cancelled'}"
            if not self._may_be_done(number, event.actor):
                yield f"T-{number} was completed by an agent, and no run of it had been"
            self.tasks[number] = DONE
        elif event.kind == Kind.TASK_CLAIMED.value:
            if was not in (WAITS, UNKNOWN):
                yield f"T-{number} was claimed while {was}"
            if late := sorted(n for n in self._needs[number] if self.tasks[n] not in (DONE, UNKNOWN)):
                yield f"T-{number} was given out before {', '.join(f'T-{n}' for n in late)} was completed"
            self.tasks[number] = OPEN
        elif event.kind == Kind.TASK_CANCELLED.value:
            self.tasks[number] = CANCELLED
        elif event.kind in (Kind.TASK_RELEASED.value, Kind.TASK_REOPENED.value):
            self.tasks[number] = WAITS
        elif event.kind == Kind.TASK_UNDONE.value:
            self.tasks[number] = UNKNOWN
        elif event.kind in (Kind.TASK_CREATED.value, Kind.TASK_EDITED.value):
            self.created |= {number} if event.kind == Kind.TASK_CREATED.value else set()
            self._note_needs(number, event.data)

    def _note_needs(self, number: int, data: dict[str, Any]) -> None:
        more, fewer = ({int(label.partition("-")[2]) for label in data.get(name, ())} for name in ("waits_for", "waits_no_more"))
        self._needs[number] = (self._needs[number] | more) - fewer

    def _may_be_done(self, number: int, actor: str) -> bool:
        """An agent's task is done by a run of its own; people, and a lead agent for them, may accept what is there."""
        if not actor.startswith("agent:"):
            return True
        own = [pk for pk, run in self._runs.items() if run.task.number == number and f"agent:{run.agent.name}" == actor]
        return any(self.ended.get(pk) == DONE for pk in own) or (not own and actor in self._leads)

    # runs ------------------------------------------------------------------------------------------------------------

    def _of_run(self, event: Event, run: Run) -> Iterator[str]:
        look: Callable[[Event, Run], Iterator[str]] | None = {
            Kind.TASK_CLAIMED.value: self._opened,
            Kind.RUN_STARTED.value: self._started,
            Kind.RUN_STEPS.value: self._recorded,
            Kind.RUN_PARKED.value: self._given_back,
            Kind.RUN_RESUMABLE.value: self._given_back,
            **dict.fromkeys(ENDS, self._ended),
        }.get(event.kind)
        if look is not None:
            yield from look(event, run)

    def _opened(self, event: Event, run: Run) -> Iterator[str]:
        for place in (("task", run.task.number), ("agent", run.agent_id)):
            if place in self._busy:
                yield f"run {run.pk} was opened while its {place[0]} had run {self._busy[place]}"
            self._busy[place] = run.pk

    def _started(self, event: Event, run: Run) -> Iterator[str]:
        """A run is started only when nobody has it, each time with the next fence, and never by a team that rests."""
        if run.pk in self.ended or run.pk in self.held:
            yield f"run {run.pk} was started while {'ended' if run.pk in self.ended else 'held'}"
        elif self._busy.get(("task", run.task.number)) != run.pk:
            yield f"run {run.pk} was started, and {run.task.label} had not been claimed for it"
        if event.data["fence"] != self.fence[run.pk] + 1:
            yield f"run {run.pk} got fence {event.data['fence']} after {self.fence[run.pk]}"
        if self._rests:
            yield f"run {run.pk} was started in a team that did not work"
        self.held[run.pk] = self.fence[run.pk] = event.data["fence"]

    def _recorded(self, event: Event, run: Run) -> Iterator[str]:
        """Steps are told of once, in order, and were stored by the life that had the run then; a notice may be the system's."""
        steps, first, last = self.steps[run.pk], event.data["first"], event.data["last"]
        if first != steps.told + 1:
            yield f"run {run.pk}: steps {first} to {last} were told of after {steps.told}"
        steps.told = last
        for seq in range(first, last + 1):
            fence, kind = steps.stored.get(seq, (0, ""))
            if not fence:
                if not self.steps_age_out:
                    yield f"run {run.pk}: step {seq} was told of and is not there"
            elif fence != self.fence[run.pk] or (run.pk not in self.held and kind != StepKind.NOTICE.value):
                has = self.held.get(run.pk)
                yield f"run {run.pk}: step {seq} is of life {fence}, and {f'life {has}' if has else 'nobody'} had the run"

    def _given_back(self, event: Event, run: Run) -> Iterator[str]:
        """By the life that had it or, where nobody has it, as the lead has answered."""
        if run.pk in self.ended:
            yield f"run {run.pk} was given back after its end"
        yield from self._by_holder(event, run, "was given back")
        self.held.pop(run.pk, None)

    def _ended(self, event: Event, run: Run) -> Iterator[str]:
        if run.pk in self.ended:
            yield f"run {run.pk} ended twice"
        yield from self._by_holder(event, run, "ended")
        self.ended[run.pk] = ENDS[event.kind]
        self.held.pop(run.pk, None)
        for place in (("task", run.task.number), ("agent", run.agent_id)):
            if self._busy.get(place) == run.pk:
                del self._busy[place]

    def _by_holder(self, event: Event, run: Run, what: str) -> Iterator[str]:
        fence, has = event.data.get("fence"), self.held.get(run.pk)
        if fence != has:
            by, had = (f"life {one}" if one else "nobody" for one in (fence, has))
            yield f"run {run.pk} {what} by {by}, and {had} had it"

    # what was asked and said -----------------------------------------------------------------------------------------

    def _of_decision(self, event: Event) -> Iterator[str]:
        pk, before = event.decision_id, self.decisions[event.decision_id]
        if pk not in self._choices:
            yield f"{event.kind} tells of decision {pk}, which is not there"
            return
        if event.kind == Kind.DECISION_OPENED.value and pk in self._asks:
            run, kind, _ = ask = tuple(self._asks[pk])
            earlier, self._asked[ask] = self._asked.get(ask), pk
            if earlier is not None and not SETTLED & set(self.decisions[earlier]):
                yield f"run {run}: {kind} was asked again, and nobody had been told of the answer to {earlier}"
        if event.kind == Kind.DECISION_ANSWERED.value and event.data["choice"] != self._choices[pk]:
            yield f"decision {pk} was answered “{event.data['choice']}” and says “{self._choices[pk]}”"
        if event.kind == Kind.DECISION_DELIVERED.value:
            if Kind.DECISION_ANSWERED.value not in before:
                yield f"decision {pk} was delivered before it was answered"
            if event.data["fence"] != self.held.get(event.run_id):
                yield f"decision {pk} reached life {event.data['fence']}, which did not have the run"
            self.reached[pk] = event.data["fence"]
        before.append(event.kind)

    def _of_message(self, event: Event) -> Iterator[str]:
        if event.kind not in (Kind.MESSAGE_SENT.value, Kind.MESSAGE_DELIVERED.value):
            return
        pk = event.data["message"]
        if pk not in self._messages:
            yield f"{event.kind} tells of message {pk}, which is not there"
        if event.kind == Kind.MESSAGE_SENT.value:
            self.sent.add(pk)
            return
        if pk not in self.sent:
            yield f"message {pk} was delivered before it was sent"
        fence = event.data.get("fence", self.held.get(event.run_id, 0))
        if event.run_id and fence != self.held.get(event.run_id):
            yield f"message {pk} reached life {fence}, which did not have the run"
        self.handed[pk] = event.run_id
        self.told_messages[(pk, event.run_id, fence)] += 1
        if self.told_messages[(pk, event.run_id, fence)] == 2:
            yield f"message {pk} reached life {fence} of run {event.run_id} twice"
