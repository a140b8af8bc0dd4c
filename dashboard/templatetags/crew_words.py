"""The fixed vocabulary: word, icon and colour of each state and kind, and the sentences built from counts."""

from typing import NamedTuple

from django import template

from dashboard.templatetags.crew_format import tokens, usd, usd_short
from tasks_app.domain.events import EventKind
from tasks_app.domain.graph import Why
from tasks_app.domain.statuses import DecisionKind, Reason
from tasks_app.domain.text import one_line
from tasks_app.selectors.history import Line
from tasks_app.selectors.states import AgentState, TaskState, TeamState
from tasks_app.selectors.tasks import Obstacle, TaskCard
from tasks_app.selectors.teams import Counts, TeamSummary

register = template.Library()


class Look(NamedTuple):
    """How a state looks: always an icon and a word, never colour alone."""

    word: str
    icon: str
    css: str


WAIT = Look("Waiting for you", "hand", "s-wait")
FAIL = Look("Failed", "circle-x", "s-fail")
BLOCK = Look("Blocked", "circle-pause", "s-block")
FLIGHT = Look("In flight", "loader-circle", "s-run")
QUEUE = Look("Queued", "circle-dashed", "s-queue")
DONE = Look("Done", "circle-check", "s-done")

TASK: dict[str, Look] = {
    TaskState.WAITING: WAIT,
    TaskState.FAILED: FAIL,
    TaskState.BLOCKED: BLOCK,
    TaskState.IN_FLIGHT: FLIGHT,
    TaskState.QUEUED: QUEUE,
    TaskState.DONE: DONE,
    TaskState.CANCELLED: Look("Cancelled", "circle-slash", "s-queue"),
}
AGENT: dict[str, Look] = {
    AgentState.WORKING: Look("Working", "loader-circle", "s-run"),
    AgentState.WAITING: WAIT,
    AgentState.IDLE: Look("Idle", "circle-dashed", "s-queue"),
    AgentState.STOPPED: Look("Stopped", "square", "s-queue"),
    AgentState.LOST: Look("Lost", "triangle-alert", "s-fail"),
}
TEAM: dict[str, Look] = {
    TeamState.WAITING: WAIT,
    TeamState.FAILED: FAIL,
    TeamState.LOST: Look("Agent lost", "triangle-alert", "s-fail"),
    TeamState.OVER_TIME: Look("Over time", "clock", "s-wait"),
    TeamState.BLOCKED: BLOCK,
    TeamState.CONTEXT: Look("Context critical", "gauge", "s-fail"),
    TeamState.IN_FLIGHT: FLIGHT,
    TeamState.QUEUED: QUEUE,
    TeamState.DONE: DONE,
}
RUN: dict[str, Look] = {
    "pending": Look("Parked", "circle-pause", "s-queue"),
    "running": Look("Running", "loader-circle", "s-run"),
    "completed": Look("Completed", "circle-check", "s-done"),
    "failed": FAIL,
    "killed": Look("Stopped", "square", "s-queue"),
}
KIND: dict[str, Look] = {
    DecisionKind.PERMISSION: Look("Permission", "shield-question-mark", "s-wait"),
    DecisionKind.PLAN: Look("Plan approval", "clipboard-check", "s-wait"),
    DecisionKind.QUESTION: Look("Question", "message-circle-question-mark", "s-wait"),
    DecisionKind.ESCALATION: Look("Escalation", "triangle-alert", "s-wait"),
    DecisionKind.BUDGET: Look("Budget", "coins", "s-wait"),
    DecisionKind.STALL: Look("Quiet agent", "clock", "s-wait"),
}
CHOICE: dict[str, str] = {
    "allow": "allowed once",
    "allow_rule": "allowed in this task",
    "deny": "denied",
    "approve": "approved",
    "approve_changes": "approved with changes",
    "revise": "sent back",
    "answer": "answered",
    "dismiss": "dismissed",
    "raise": "budget raised",
    "smaller_model": "to finish with a smaller model",
    "stop": "stopped",
    "wait": "to wait",
    "retry": "retried",
}
REASON: dict[str, str] = {
    Reason.DONE: "Done",
    Reason.REPORTED: "The agent gave it back",
    Reason.UNREPORTED: "Ended twice without a report",
    Reason.NO_RESULT: "Ended without an answer",
    Reason.EMPTY: "The model answered nothing",
    Reason.BUDGET: "Budget used up",
    Reason.TURN_LIMIT: "Turn limit reached",
    Reason.TIME_LIMIT: "Time limit reached",
    Reason.RATE_LIMITED: "Rate limited",
    Reason.OVERLOADED: "The API is overloaded",
    Reason.AUTH: "The API refused the key",
    Reason.REFUSED: "The model declined",
    Reason.OUTPUT_TOO_LARGE: "A tool printed too much",
    Reason.STOPPED: "Stopped by a person",
    Reason.SUPERSEDED: "Another attempt took over",
    Reason.CRASHED: "The process kept dying",
    Reason.START_FAILED: "Claude Code did not start",
    Reason.PARKED: "Parked",
    Reason.INTERRUPTED: "Interrupted",
    Reason.WORKER_LOST: "Its worker was lost",
    Reason.ERROR: "Error",
}
WHY: dict[Why, str] = {
    Why.FAILED: "failed",
    Why.CANCELLED: "was cancelled",
    Why.CYCLE: "waits for itself in a circle",
    Why.MISSING: "does not exist",
}


@register.filter
def look(state: str, family: str) -> Look:
    """Return how a state of the family `task`, `agent`, `team`, `run` or `kind` looks."""
    return {"task": TASK, "agent": AGENT, "team": TEAM, "run": RUN, "kind": KIND}[family][state]


@register.filter
def choice_word(choice: str) -> str:
    """What the lead decided, as a participle: `allowed once`."""
    return CHOICE.get(choice, choice or "closed")


@register.filter
def reason_word(reason: str) -> str:
    """Why an attempt ended or waits, in words."""
    return REASON.get(reason, reason.replace("_", " ").capitalize())


@register.filter
def progress(counts: Counts) -> str:
    """`41 of 59 done · 5 in flight · 2 waiting · 1 blocked · 1 failed · 9 queued`: parts of zero are left out, except done."""
    parts = [f"{counts.done} of {counts.total} done"]
    for number, word in (
        (counts.in_flight, "in flight"),
        (counts.waiting, "waiting"),
        (counts.blocked, "blocked"),
        (counts.failed, "failed"),
        (counts.queued, "queued"),
        (counts.cancelled, "cancelled"),
    ):
        if number:
            parts.append(f"{number} {word}")
    return " · ".join(parts)


@register.filter
def segments(counts: Counts) -> list[tuple[str, float, float]]:
    """The bar of a team as (CSS class, x, width) of 100, most finished first."""
    found, x = [], 0.0
    for css, number in (
        ("d", counts.done),
        ("r", counts.in_flight),
        ("w", counts.waiting),
        ("b", counts.blocked),
        ("f", counts.failed),
        ("q", counts.queued),
    ):
        width = number * 100 / counts.total if counts.total else 0.0
        if width:
            found.append((css, round(x, 2), round(width, 2)))
        x += width
    return found


@register.filter
def spending(team: TeamSummary) -> str:
    """`$41.20 of $60 · 69% · warn · 1.84 M tok`; above the budget `over by $2.10 · new tasks held`."""
    parts = [usd(team.used_usd) + (f" of {usd_short(team.budget_usd)}" if team.budget_usd is not None else "")]
    percent = team.percent
    if percent is not None and percent < 100:
        parts.append(f"{percent}%" + (" · critical" if percent >= 90 else " · warn" if percent >= 80 else ""))
    elif team.budget_usd is not None and team.used_usd is not None and percent is not None:
        parts.append(f"over by {usd(team.used_usd - team.budget_usd)} · new tasks held")
    parts.append(f"{tokens(team.used_tokens)} tok")
    return " · ".join(parts)


@register.filter
def obstacle(found: Obstacle) -> str:
    """Why a dependency is in the way: `T-41`, `T-41, which failed`, `T-44, which can never start: T-41 was cancelled`."""
    if not found.never:
        return ""
    word = WHY.get(found.why, "is not done")
    return f"which {word}" if found.root.pk == found.task.pk else f"which can never start: {found.root.label} {word}"


@register.filter
def attempt(card: TaskCard) -> str:
    """`attempt 2 of 3`."""
    return f"attempt {max(card.tries, 1)} of {card.attempts_allowed}"


EVENT: dict[str, str] = {
    EventKind.TEAM_STARTED: "started the team",
    EventKind.TEAM_PAUSED: "paused the team",
    EventKind.TEAM_RESUMED: "resumed the team",
    EventKind.TEAM_STOPPED: "stopped the team",
    EventKind.TEAM_ARCHIVED: "archived the team",
    EventKind.TEAM_RESTORED: "brought the team back",
    EventKind.TASK_CREATED: "created the task",
    EventKind.TASK_EDITED: "edited the task",
    EventKind.TASK_CLAIMED: "took the task",
    EventKind.TASK_COMPLETED: "completed the task",
    EventKind.TASK_RELEASED: "gave the task back",
    EventKind.TASK_REASSIGNED: "reassigned the task",
    EventKind.TASK_REOPENED: "opened the task again",
    EventKind.TASK_CANCELLED: "cancelled the task",
    EventKind.RUN_STARTED: "started an attempt",
    EventKind.RUN_STEPS: "wrote steps",
    EventKind.RUN_PARKED: "parked the attempt",
    EventKind.RUN_RESUMABLE: "let the attempt go on",
    EventKind.RUN_COMPLETED: "completed the attempt",
    EventKind.RUN_FAILED: "failed the attempt",
    EventKind.RUN_KILLED: "ended the attempt",
    EventKind.RUN_STOPPING: "is stopping the attempt",
    EventKind.DECISION_OPENED: "asked",
    EventKind.DECISION_ANSWERED: "answered",
    EventKind.DECISION_DELIVERED: "got the answer",
    EventKind.DECISION_WITHDRAWN: "withdrew the request",
    EventKind.DECISION_EXPIRED: "let the request time out",
    EventKind.DECISION_NOTIFIED: "told on-call",
    EventKind.DECISION_NOTIFY_FAILED: "could not tell on-call",
    EventKind.MESSAGE_SENT: "sent a message",
    EventKind.MESSAGE_DELIVERED: "got a message",
    EventKind.CONTEXT_SHARED: "shared",
    EventKind.CHECKPOINT_SAVED: "saved a checkpoint",
    EventKind.BUDGET_LEVEL: "reached a budget level",
    EventKind.BUDGET_CHANGED: "changed the budget",
    EventKind.AGENT_ADDED: "added an agent",
    EventKind.AGENT_STOPPED: "stopped the agent",
    EventKind.AGENT_RESUMED: "let the agent work again",
    EventKind.NOTE: "noted",
}


def _fact(name: str, value: object) -> str:
    text = one_line(str(value), 160)
    if name == "reason":
        return reason_word(text).lower()
    return choice_word(text) if name == "choice" else text


EVENT_FACTS = ("title", "choice", "reason", "detail", "why", "guidance", "name", "scope", "level", "text", "recipient")


@register.filter
def event_words(line: Line) -> str:
    """What happened, with the facts that people want: `asked: builder-2 wants to run: make`."""
    facts = [_fact(name, line.data[name]) for name in EVENT_FACTS if line.data.get(name)]
    words = EVENT.get(line.kind, line.kind)
    return f"{words}: {' · '.join(facts)}" if facts else words
