"""What rows and files say of lives that followed a kill: when each was back at work, and what was done twice."""

import re
from collections import Counter
from pathlib import Path

from tasks_app.domain.events import EventKind
from tasks_app.domain.statuses import StepKind
from tasks_app.models import Event, Run, Step, Team
from tasks_app.selectors.runs import DID

COMMAND = "echo {n} >> {task}.log"
"""What each turn runs: a line that is there twice is an effect that came twice."""
_RAN = re.compile(r"echo (\d+) >> (\S+)\.log")


def own_steps(team: Team, at: float) -> list[float]:
    """Seconds from the kill until the first thing that each run's agent itself said or did in the life that it has now."""
    found = []
    for run in Run.objects.filter(team=team):
        steps = Step.objects.filter(run=run, fence=run.fence, kind__in=DID).order_by("seq")
        first = steps.values_list("at", flat=True).first()
        found += [first.timestamp() - at] if first is not None and first.timestamp() > at else []
    return found


def went_on(before: dict[str, int]) -> bool:
    """Whether the agent of every run (id → fence before the kill) has said or done something in a later life."""
    return all(Step.objects.filter(run_id=run_id, fence__gt=fence, kind__in=DID).exists() for run_id, fence in before.items())


def events(team: Team, at: float, kind: EventKind) -> list[float]:
    """Seconds from the kill to the first such event of each run."""
    first: dict[str, float] = {}
    for event in Event.objects.filter(team=team, kind=kind.value).order_by("seq"):
        if event.at.timestamp() > at:
            first.setdefault(event.run_id, event.at.timestamp() - at)
    return list(first.values())


def lives(team: Team) -> set[str]:
    """Return the lives that the runs have now, as markers name them."""
    return {f"{pk}:{fence}" for pk, fence in Run.objects.filter(team=team).values_list("pk", "fence")}


def twice(team: Team) -> dict[str, int]:
    """Return how many effects came twice, by what was known when the command was given again.

    `result stored`: a step held what the command had given: must never be. `untold`: the agent was not told of the call by the
    life that repeated it, which must not be either. `told`: it was begun, the worker died before anybody saw what it gave, and
    the next prompt says so.
    """
    found: Counter[str] = Counter({"told": 0, "untold": 0, "result stored": 0})
    for log in Path(team.workspace).glob("T-*.log"):
        number = int(log.stem.partition("-")[2])
        for run in Run.objects.filter(team=team, task__number=number):
            for line, count in Counter(log.read_text().splitlines()).items():
                if count > 1:
                    found[_known(run, line, log.stem)] += count - 1
    return dict(found)


def _known(run: Run, line: str, task: str) -> str:
    calls = [
        call for call in Step.objects.filter(run=run, kind=StepKind.TOOL_CALL.value).order_by("seq") if _is(call, line, task)
    ]
    if len(calls) < 2:
        return "untold"  # nobody gave it twice: the effect of one call is there twice
    first, again = calls[0], calls[-1]
    results = Step.objects.filter(run=run, kind=StepKind.TOOL_RESULT.value, tool_use_id=first.tool_use_id, seq__lt=again.seq)
    if results.exists():
        return "result stored"
    prompts = Step.objects.filter(run=run, kind=StepKind.PROMPT.value, seq__gt=first.seq, seq__lt=again.seq)
    command = COMMAND.format(n=line, task=task)
    return "told" if any(command in words for words in prompts.values_list("text", flat=True)) else "untold"


def _is(call: Step, line: str, task: str) -> bool:
    return _RAN.findall(str((call.data.get("input") or {}).get("command"))) == [(line, task)]
