"""How the terminal says things: durations, amounts, and one line for each event of a team's log."""

import datetime as dt

from django.utils import timezone

from tasks_app.domain.events import EventKind
from tasks_app.domain.graph import Why
from tasks_app.domain.spans import span
from tasks_app.domain.statuses import TeamStatus
from tasks_app.domain.text import one_line
from tasks_app.selectors import sentences
from tasks_app.selectors.agents import AgentCard
from tasks_app.selectors.inbox import Item
from tasks_app.selectors.journal import Entry
from tasks_app.selectors.states import TEAM_WORD, AgentState, TeamState
from tasks_app.selectors.tasks import Obstacle, TaskCard
from tasks_app.selectors.teams import TeamSummary

WHY: dict[Why, str] = {
    Why.FAILED: "failed",
    Why.CANCELLED: "was cancelled",
    Why.CYCLE: "waits for itself in a circle",
    Why.MISSING: "does not exist",
}
COMMAND = "uv run manage.py"
"""How a command begins that people can copy."""
WIDTH = 300
WHOLE = 5000
"""The most of a line that shows all of what it is about."""
_QUIET = frozenset(
    {
        EventKind.RUN_STEPS,
        EventKind.RUN_RESUMABLE,
        EventKind.DECISION_DELIVERED,
        EventKind.MESSAGE_DELIVERED,
        EventKind.TASK_CREATED,
    }
)


def since(moment: dt.datetime | None, now: dt.datetime) -> str:
    """Return how long ago, in words; nothing for no moment."""
    return span((now - moment).total_seconds()) if moment else ""


def counted(count: int, word: str) -> str:
    """`1 team`, `2 teams`."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def never(found: Obstacle) -> str:
    """Why what is in the way will never be done: `which failed`, `which can never start: T-41 was cancelled`; "" where it may."""
    if not found.never:
        return ""
    word = WHY.get(found.why, "is not done")
    return f"which {word}" if found.root.pk == found.task.pk else f"which can never start: {found.root.label} {word}"


def tokens(count: int | None) -> str:
    """Return `812`, `41 k` or `1.2 M`; an unknown figure is `–`."""
    if count is None:
        return "–"
    if count < 1000:
        return str(count)
    return f"{count / 1000:.0f} k" if count < 999_500 else f"{count / 1_000_000:.1f} M"


def overshoot(over_usd: float, over_tokens: float) -> str:
    """Return `over by $2.10`, `over by 12 k tokens` or both; nothing where neither budget is overshot."""
    parts = [f"${over_usd:.2f}"] if over_usd else []
    parts += [f"{tokens(int(over_tokens))} tokens"] if over_tokens else []
    return f"over by {' and '.join(parts)}" if parts else ""


def team(found: TeamSummary) -> str:
    """Return how a team stands, as its page says it: `Done`, `Waiting for you, paused`, `Stopped`.

    What is queued in a team that is not active is not said: nothing there will start by itself.
    """
    held = [] if found.status is TeamStatus.ACTIVE else [found.status.value]
    state = [] if held and found.state is TeamState.QUEUED else [TEAM_WORD[found.state]]
    said = ", ".join([*state, *held, *(["archived"] if found.archived_at else [])])
    return said[:1].upper() + said[1:]


def signs(item: Item) -> str:
    """Return what is to be known of a request besides its title: ` (snoozed until 14:05, the lead agent is looking at it)`."""
    found = [f"snoozed until {timezone.localtime(item.snoozed_until):%H:%M}"] if item.snoozed and item.snoozed_until else []
    found += [f"{one_line(item.looked_by.rpartition(':')[2], 60)} is looking at it"] if item.looking else []
    if item.with_lead_agent:
        found.append("the lead agent is looking at it")
    elif item.handed_why:
        found.append(f"handed on: {one_line(item.handed_why, 80)}")
    return f" ({', '.join(found)})" if found else ""


def attempts(card: TaskCard) -> str:
    """Return `2 of 3 allowed, 1 failed`; a task that nobody has begun has `none yet, 3 allowed`."""
    if not card.attempts:
        return f"none yet, {card.attempts_allowed} allowed"
    failed = f", {card.failures} failed" if card.failures else ""
    return f"{card.attempts} of {card.attempts_allowed} allowed{failed}"


def pace(card: AgentCard) -> str:
    """Return `on track`, `over` or what else the agent is: idle, waiting, stopped, lost."""
    if card.run is None or card.state not in (AgentState.WORKING, AgentState.WAITING, AgentState.WITH_LEAD):
        return card.state.value
    return "over" if card.over else "on track"


def line(entry: Entry, *, whole: bool = False) -> str:
    """Return an event as one harmless line: the time, what happened, and for a request that is still open how to answer it.

    With `whole` long texts in it are not cut.
    """
    asks = entry.kind == EventKind.DECISION_OPENED and entry.request is not None and entry.request.open
    answer = f"  → {COMMAND} decide {one_line(entry.decision, 16)}" if asks else ""
    said = one_line(sentences.text(entry, whole=whole), WHOLE if whole else WIDTH)
    return f"{timezone.localtime(entry.at):%H:%M:%S} {said}{answer}"


def is_progress(entry: Entry) -> bool:
    """Whether the event is worth a line while a team is watched: the many steps of runs are not."""
    return entry.kind not in _QUIET
