"""The fixed vocabulary: word, icon and colour of each state and kind, and the sentences built from counts."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from django import template
from django.utils import timezone

from dashboard.templatetags.crew_format import cost, tokens, usd, usd_short, usd_whole
from tasks_app.decision_kinds import registry
from tasks_app.decision_kinds.registry import choice_word
from tasks_app.domain.budget import PACE_MIN_S, spent
from tasks_app.domain.statuses import REASON_WORD, DecisionKind
from tasks_app.management import words
from tasks_app.selectors.states import AgentState, TaskState, TeamState
from tasks_app.selectors.tasks import Obstacle, TaskCard
from tasks_app.selectors.teams import Counts, TeamSummary

register = template.Library()
register.filter("choice_word", choice_word)


@register.filter
def unanswered(kind: str, when: str) -> str:
    """Return what becomes of a request of this kind that nobody answers in time: `then` before, `meant` afterwards."""
    return str(getattr(registry.get(kind).UNANSWERED, when))


class Look(NamedTuple):
    """How a state looks: always an icon and a word, never colour alone."""

    word: str
    icon: str
    css: str


WAIT = Look("Waiting for you", "hand", "s-wait")
WITH_LEAD = Look("With the lead agent", "bot", "s-run")
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
    AgentState.WITH_LEAD: WITH_LEAD,
    AgentState.IDLE: Look("Idle", "circle-dashed", "s-queue"),
    AgentState.STOPPED: Look("Stopped", "square", "s-queue"),
    AgentState.LOST: Look("Lost", "triangle-alert", "s-fail"),
}
TEAM: dict[str, Look] = {
    TeamState.WAITING: WAIT,
    TeamState.FAILED: FAIL,
    TeamState.LOST: Look("Lost", "triangle-alert", "s-fail"),
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
    DecisionKind.REVIEW: Look("Review", "file-text", "s-wait"),
}


@register.filter
def look(state: str, family: str) -> Look:
    """Return how a state of the family `task`, `agent`, `team`, `run` or `kind` looks."""
    return {"task": TASK, "agent": AGENT, "team": TEAM, "run": RUN, "kind": KIND}[family][state]


@register.filter
def reason_word(reason: str) -> str:
    """Why an attempt ended or waits, in words."""
    return REASON_WORD.get(reason, reason.replace("_", " ").capitalize())


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
    """`$41.20 of $60 · 69% · warn · 1.84 M tok` (`at least $41.20 …`); used up: `over by $2.10 · new tasks held`.

    A safe default that holds because no budget was set is named once it is used up.
    """
    stand = team.stand
    shown = stand.limit_usd if stand.over_usd else team.budget_usd
    amount = cost(team.used_usd, team.cost_partial) if team.used_usd is not None else ""
    parts = [spent(amount, usd_short(shown) if shown is not None else "")]
    percent = team.percent
    if stand.used_up:
        parts.append(overshoot(stand.over_usd, stand.over_tokens) or "used up")
        parts += ["new tasks held"] if team.unfinished else []
    elif percent is not None:
        parts.append(f"{percent}%" + (" · critical" if percent >= 90 else " · warn" if percent >= 80 else ""))
    parts.append(f"{tokens(team.used_tokens)} tok")
    return " · ".join(parts)


@register.filter
def overshoot(over_usd: float | None, over_tokens: float | None) -> str:
    """`over by $2.10`, `over by 12 k tok`, `over by $2.10 and 12 k tok`; nothing where neither is overshot."""
    parts = [usd(over_usd)] if over_usd else []
    parts += [f"{tokens(over_tokens)} tok"] if over_tokens else []
    return f"over by {' and '.join(parts)}" if parts else ""


@register.filter
def overshot(payload: Mapping[str, Any]) -> str:
    """The same for what a request for more budget says; requests of older versions do not say it."""
    usd_, tokens_ = (payload.get(f"over_{unit}") for unit in ("usd", "tokens"))
    return overshoot(*(value if isinstance(value, int | float) else None for value in (usd_, tokens_)))


@register.filter
def pace(team: TeamSummary) -> str:
    """`on pace for $58`, without a cost `on pace for 1.20 M tok`, too young `pace after 10 min`; nothing when it is over."""
    if not team.unfinished:
        return ""
    now = timezone.now()
    money, used = team.pace_usd(now), team.pace_tokens(now)
    if money is not None:
        return f"on pace for {'at least ' if team.cost_partial else ''}{usd_whole(money)}"
    if used is not None:
        return f"on pace for {tokens(used)} tok"
    young = (now - team.created_at).total_seconds() < PACE_MIN_S
    return "pace after 10 min" if young else "pace not known yet"


@register.filter
def obstacle(found: Obstacle) -> str:
    """Why a dependency is in the way: `T-41`, `T-41, which failed`, `T-44, which can never start: T-41 was cancelled`."""
    return words.never(found)


@register.filter
def attempts(card: TaskCard) -> str:
    """`2 of 3 allowed, 1 failed`; `none yet, 3 allowed`: as the terminal says it."""
    return words.attempts(card)
