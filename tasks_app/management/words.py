"""How the terminal says things: durations, amounts, and one line for each event of a team's log."""

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any

from tasks_app.domain.events import EventKind
from tasks_app.domain.text import one_line
from tasks_app.selectors.journal import Entry

WIDTH = 160
_QUIET = frozenset(
    {
        EventKind.RUN_STEPS,
        EventKind.RUN_RESUMABLE,
        EventKind.DECISION_DELIVERED,
        EventKind.MESSAGE_DELIVERED,
        EventKind.TASK_CREATED,
        EventKind.AGENT_ADDED,
    }
)


def clock(seconds: float) -> str:
    """Return `4:07` or `1:02:33`."""
    whole = max(0, int(seconds))
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


def since(moment: dt.datetime | None, now: dt.datetime) -> str:
    """Return how long ago, as a clock; nothing for no moment."""
    return clock((now - moment).total_seconds()) if moment else ""


def tokens(count: int | None) -> str:
    """Return `812`, `41 k` or `1.2 M`; an unknown figure is `–`."""
    if count is None:
        return "–"
    if count < 1000:
        return str(count)
    return f"{count / 1000:.0f} k" if count < 999_500 else f"{count / 1_000_000:.1f} M"


def who(actor: str) -> str:
    """Return `you`-less plain names: `user:lead` is `lead`, `agent:ada` is `ada`, `system` is `Crewdesk`."""
    kind, _, name = actor.partition(":")
    return name or ("Crewdesk" if kind == "system" else kind)


def line(entry: Entry) -> str:
    """Return an event as one harmless line: time, task, what happened."""
    head = f"{entry.at:%H:%M:%S} {one_line(entry.task, 8):<5} "
    return head + one_line(_say(entry), WIDTH - len(head))


def is_progress(entry: Entry) -> bool:
    """Whether the event is worth a line while a team is watched: the many steps of runs are not."""
    return entry.kind not in _QUIET


def _say(entry: Entry) -> str:
    say = _SENTENCES.get(entry.kind)
    if say is None:
        facts = ", ".join(f"{name} {value}" for name, value in entry.data.items() if value not in (None, "", [], {}))
        return f"{entry.kind.replace('.', ' ').replace('_', ' ')}{f' ({facts})' if facts else ''}"
    return say(entry, entry.data)


def _answered(entry: Entry, data: Mapping[str, Any]) -> str:
    choice = str(data.get("choice", "")).replace("_", " ")
    whose = f"{entry.agent}’s" if entry.agent else "the"
    return f"{who(entry.actor)} answered {whose} {data.get('kind')}: {choice}"


def _claimed(entry: Entry, data: Mapping[str, Any]) -> str:
    attempt = data.get("attempt")
    return f"{entry.agent or data.get('agent')} takes it up{f', attempt {attempt}' if attempt else ''}"


def _ended(word: str) -> "Callable[[Entry, Mapping[str, Any]], str]":
    def say(entry: Entry, data: Mapping[str, Any]) -> str:
        why = data.get("detail") or str(data.get("reason", "")).replace("_", " ")
        return f"{entry.agent}’s attempt {word}{f': {why}' if why else ''}"

    return say


_SENTENCES: Mapping[str, "Callable[[Entry, Mapping[str, Any]], str]"] = {
    EventKind.TEAM_STARTED: lambda e, d: f"{d.get('name')} starts{', rehearsed' if d.get('rehearsal') else ''}",
    EventKind.TASK_CLAIMED: _claimed,
    EventKind.TASK_COMPLETED: lambda e, d: f"completed by {d.get('by') or who(e.actor)}",
    EventKind.TASK_RELEASED: lambda e, d: f"back to pending: {d.get('detail') or str(d.get('reason', '')).replace('_', ' ')}",
    EventKind.TASK_REASSIGNED: lambda e, d: f"given to {d.get('to') or 'any agent'} by {who(e.actor)}",
    EventKind.RUN_STARTED: lambda e, d: f"{e.agent} {'goes on' if d.get('resumed') else 'works'}",
    EventKind.RUN_PARKED: lambda e, d: f"{e.agent} is parked: {str(d.get('reason', '')).replace('_', ' ')}",
    EventKind.RUN_RESUMABLE: lambda e, d: f"{e.agent} may go on: {d.get('reason', '')}",
    EventKind.RUN_COMPLETED: _ended("ended"),
    EventKind.RUN_FAILED: _ended("failed"),
    EventKind.RUN_KILLED: _ended("was stopped"),
    EventKind.DECISION_OPENED: lambda e, d: f"waits for the lead [{e.decision}]: {d.get('title')}",
    EventKind.DECISION_ANSWERED: _answered,
    EventKind.DECISION_NOTIFIED: lambda e, d: f"on-call was told of the {d.get('kind')} [{e.decision}]",
    EventKind.DECISION_NOTIFY_FAILED: lambda e, d: f"on-call could not be told of the {d.get('kind')}: {d.get('why')}",
    EventKind.MESSAGE_SENT: lambda e, d: f"{d.get('sender') or who(e.actor)} writes to {d.get('recipient')}",
    EventKind.BUDGET_LEVEL: lambda e, d: f"budget of the {d.get('scope')}: {d.get('level')}",
    EventKind.NOTE: lambda e, d: str(d.get("text", "")),
}
