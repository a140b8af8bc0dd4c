"""What the flood has left behind: all that was taken from the processes is stored, whole or cut in words, and each agent's own.

The plays of bench/flood_cli.py write how often they spoke; this reads what is stored of it.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import httpx

from bench import flood_cli, marks
from tasks_app.domain.statuses import StepKind
from tasks_app.execution.prompts import AFTER_OVERFLOW
from tasks_app.models import Run, Step, Team, TranscriptEntry
from tasks_app.runners.claude.content import PREVIEW

LINE = re.compile(r"line (\d+) of many")


def wrong(team: Team, home: Path) -> Iterator[str]:
    """Yield in words what is not as it was said."""
    for run in Run.objects.filter(team=team).select_related("task", "agent"):
        play = run.task.title.lower().partition(" ")[0]
        if play == "result":
            yield from _overflow(run)
            continue
        count = flood_cli.spoken(home, play, run.agent.name)
        if play == "line":
            yield from _results(run, count)
        else:
            texts = Step.objects.filter(run=run, kind=StepKind.SAID.value).order_by("seq").values_list("text", flat=True)
            yield from gaps(f"{play} of {run.agent.name}", (number(text) for text in texts), count)


def number(text: str) -> int:
    """Return the number of what an agent said; 0 where it has none."""
    found = LINE.search(text) or marks.MARK.search(text)
    return int(found[1]) if found else 0


def gaps(what: str, stored: Iterable[int], count: int) -> Iterator[str]:
    """Yield what does not fit: of `count` things that were said each is to be stored once, in its order."""
    numbers = [each for each in stored if each]
    if not count:
        yield f"{what}: nothing was said"
    elif numbers != list(range(1, count + 1)):
        missing, twice = count - len(set(numbers)), len(numbers) - len(set(numbers))
        yield f"{what}: of {count} that were said {missing} are not stored, {twice} more than once, or their order is another"


def _results(run: Run, count: int) -> Iterator[str]:
    """Results of 1.3 MB: the beginning is in the record, with the size of the whole; the whole is in the transcript."""
    stored = Step.objects.filter(run=run, kind=StepKind.TOOL_RESULT.value, tool_use_id__startswith="toolu_").order_by("seq")
    steps = [step for step in stored if step.tool_use_id.removeprefix("toolu_").isdigit()]
    yield from gaps("large results", (int(step.tool_use_id.removeprefix("toolu_")) for step in steps), count)
    if whole := [step for step in steps if len(step.text) > PREVIEW]:
        yield f"large results: {len(whole)} are longer in the record than {PREVIEW} characters"
    if silent := [step for step in steps if step.data.get("cut") is not True or step.data.get("size") != flood_cli.LINE_CHARS]:
        yield f"large results: {len(silent)} were cut without a word of their size"
    rows = TranscriptEntry.objects.filter(session_id=run.session_id, uuid__startswith="toolu_").values_list("entry", flat=True)
    kept = sum(len(entry) > flood_cli.LINE_CHARS for entry in rows.iterator(chunk_size=4))
    if kept != count:
        yield f"large results: {kept} of {count} are whole in the transcript"


def _overflow(run: Run) -> Iterator[str]:
    """The result of 100 MB: its process was ended, and the next life is told why."""
    if not run.overflowed:
        yield "the result of 100 MB: nothing says that it was too large"
    prompts = Step.objects.filter(run=run, kind=StepKind.PROMPT.value, fence__gt=1).values_list("text", flat=True)
    if not any(AFTER_OVERFLOW in text for text in prompts):
        yield "the result of 100 MB: the life that went on was not told"


def unsaid(client: httpx.Client, team: Team) -> Iterator[str]:
    """Yield where the page of an agent whose results were cut does not say so."""
    run = Run.objects.get(team=team, task__title="Line")
    words = f"Cut: {flood_cli.LINE_CHARS} characters in all."
    if words not in client.get(f"/agents/{run.agent_id}/?run={run.pk}").text:
        yield f"the page of {run.agent.name} does not say “{words}”"
