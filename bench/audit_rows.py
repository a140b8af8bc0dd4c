"""What the rows of a team say, compared with where its log has come to (`bench/audit_log.py`), and with each other."""

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal

from django.db.models import Q, Sum

from bench.audit_log import ENDS, STATE_AFTER, UNKNOWN, Walk
from tasks_app.domain.events import EventKind as Kind
from tasks_app.domain.leases import NEVER
from tasks_app.domain.statuses import DecisionKind, DecisionStatus, RunStatus
from tasks_app.models import Agent, CostReading, CrewCall, Decision, Message, MessageUsage, Run, Task, Team

TOKENS = ("input_tokens", "cache_creation_tokens", "cache_read_tokens", "output_tokens")
NOBODY_ANSWERED = ("its run ended", "its run was stopped", "its run failed")
"""Words of `decisions.withdraw_all`: the run was over. An agent may take back what it asked, and a stall ends by itself."""
SLACK_USD = Decimal("0.0000015")
"""A reading is rounded to a millionth, and SQLite adds up in floating point."""


def against_log(walk: Walk) -> Iterator[str]:
    """Runs, tasks, decisions and messages are as the log says, no more and no fewer."""
    for check in (_runs, _tasks, _decisions, _messages):
        yield from check(walk)


def _runs(walk: Walk) -> Iterator[str]:
    for run in Run.objects.filter(team=walk.team):
        said = walk.ended.get(run.pk, "open")
        if said != (run.status if run.status in ENDS.values() else "open"):
            yield f"run {run.pk} is {run.status}, its events say {said}"
        if run.fence != walk.fence[run.pk]:
            yield f"run {run.pk} has fence {run.fence}, its events say {walk.fence[run.pk]}"
        if (run.status == RunStatus.RUNNING.value) != (run.pk in walk.held):
            yield f"run {run.pk} is {run.status}, by its events {'a life' if run.pk in walk.held else 'nobody'} has it"
        if run.last_seq != walk.steps[run.pk].told:
            yield f"run {run.pk} has {run.last_seq} steps, {walk.steps[run.pk].told} were told of"
        if run.status in ENDS.values() and (run.ended_at is None or run.lease_until):
            yield f"run {run.pk} has ended {'at no time' if run.ended_at is None else 'and has a lease'}"


def _tasks(walk: Walk) -> Iterator[str]:
    there = set()
    for task in Task.objects.filter(team=walk.team):
        there.add(task.number)
        if task.number not in walk.created and not walk.imported:
            yield f"{task.label} was made without an event"
        said = walk.tasks[task.number]
        if said not in (UNKNOWN, task.status):
            yield f"{task.label} is {task.status}, its events say {said}"
    if gone := sorted(set(range(1, walk.team.last_task_number + 1)) - there):
        yield f"tasks {', '.join(f'T-{number}' for number in gone)} were made and are not there"


def _decisions(walk: Walk) -> Iterator[str]:
    ended = {pk for pk, status in Run.objects.filter(team=walk.team).values_list("pk", "status") if status in ENDS.values()}
    for decision in Decision.objects.filter(team=walk.team):
        said = walk.decisions[decision.pk]
        if Kind.DECISION_OPENED.value not in said:
            yield f"decision {decision.pk} was opened without an event"
        if decision.status == DecisionStatus.OPEN.value and decision.run_id in ended and not decision.shared:
            yield f"decision {decision.pk} is open, and the run that asks has ended"
        if (state := next((STATE_AFTER[kind] for kind in reversed(said) if kind in STATE_AFTER), "")) != decision.status:
            yield f"decision {decision.pk} is {decision.status}, its events say {state or 'nothing'}"
        if (reached := walk.reached.get(decision.pk)) is not None and reached != decision.delivered_fence:
            yield f"decision {decision.pk} says it reached life {decision.delivered_fence}, its events say {reached}"


def _messages(walk: Walk) -> Iterator[str]:
    """Each says which run it was handed to last, as the log does; imported ones bring their log along."""
    for message in Message.objects.filter(team=walk.team):
        if message.pk not in walk.sent:
            yield f"message {message.pk} was sent without an event"
        if message.delivered_run != (told := walk.handed.get(message.pk, "")):
            said, told = (f"to run {run}" if run else "to nobody" for run in (message.delivered_run, told))
            yield f"message {message.pk} was handed {said}, its events say {told}"


def answers_spent(team: Team) -> Iterator[str]:
    """What was answered has had its effect on a run that has completed, and such a run left nothing open."""
    of_completed = Decision.objects.filter(team=team, run__status=RunStatus.COMPLETED.value).exclude(
        kind__in=(DecisionKind.BUDGET.value, DecisionKind.STALL.value)  # asked and spent by the desk, told to no life
    )
    for decision in of_completed.filter(status=DecisionStatus.ANSWERED.value):
        facts = f"{decision.kind} of {decision.run_id}, delivered to life {decision.delivered_fence}, parked {decision.parked}"
        if decision.consumed_at is None:
            yield f"decision {decision.pk} was answered and its effect never reached the transcript ({facts})"
        elif decision.delivered_fence is None:
            yield f"decision {decision.pk} counts as spent and was handed to no life ({facts})"
    for decision in of_completed.filter(status=DecisionStatus.WITHDRAWN.value, closed_why__in=NOBODY_ANSWERED):
        yield f"decision {decision.pk} of a completed run was withdrawn: {decision.closed_why}"


def all_waits_end(team: Team) -> Iterator[str]:
    """A run that waits for an answer without end waits for one that can be given."""
    for run in Run.objects.filter(team=team, status=RunStatus.PENDING.value, due_at__gte=NEVER):
        asked = Decision.objects.filter(Q(run=run) | Q(pk=run.waits_for_id), status=DecisionStatus.OPEN.value)
        if not asked.exists():
            yield f"run {run.pk} waits for an answer, and nothing that it asked is open"


def calls_once(team: Team) -> Iterator[str]:
    """A call of a crew tool is done once; one whose result no transcript held was taken over by the life that made it again."""
    mine = CrewCall.objects.filter(run__team=team)
    calls = Counter(mine.exclude(tool_use_id="").values_list("run_id", "tool_use_id"))
    yield from (f"run {run}: the call {call} was done {n} times" for (run, call), n in calls.items() if n > 1)
    forgotten: dict[tuple[str, str], CrewCall] = {}
    for call in mine.exclude(key="").order_by("pk"):
        earlier = forgotten.get((call.run_id, call.key))
        if earlier is not None and earlier.fence < call.fence:
            yield f"run {call.run_id}: life {call.fence} did again what life {earlier.fence} had done ({earlier.tool_use_id})"
        if earlier is None and not call.told:
            forgotten[(call.run_id, call.key)] = call


def usage(team: Team) -> Iterator[str]:
    """Sums of what was counted equal what runs, tasks, agents and the team say, in tokens and in USD."""
    runs = list(Run.objects.filter(team=team))
    for run in runs:
        counted = MessageUsage.objects.filter(run=run).aggregate(**{name: Sum(name) for name in TOKENS})
        for name in TOKENS:
            if (counted[name] or 0) != getattr(run, name):
                yield f"run {run.pk}: {name} is {getattr(run, name)}, counted {counted[name] or 0}"
        said = sum(CostReading.objects.filter(run=run).values_list("usd", flat=True), Decimal())
        if abs(said - (run.cost_usd or 0)) > SLACK_USD:
            yield f"run {run.pk}: cost is {run.cost_usd}, its processes say {said}"
    for what, model, key in (("task", Task, "task_id"), ("agent", Agent, "agent_id")):
        for owner in model.objects.filter(team=team):
            mine = [run for run in runs if getattr(run, key) == owner.pk]
            yield from _sums(f"{what} {owner}", owner, mine)
    yield from _sums("the team", team, runs)


def _sums(name: str, owner: Task | Agent | Team, runs: list[Run]) -> Iterator[str]:
    tokens = sum(getattr(run, figure) for run in runs for figure in TOKENS)
    if tokens != owner.used_tokens:
        yield f"tokens: {name} says {owner.used_tokens}, its runs {tokens}"
    usd = sum((run.cost_usd or Decimal() for run in runs), Decimal())
    if abs(usd - owner.used_usd) > SLACK_USD * max(1, len(runs)):
        yield f"cost: {name} says {owner.used_usd}, its runs {usd}"
