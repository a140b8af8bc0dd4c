"""`team status`: the tree of tasks and the agents, as plain facts and as text."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils import timezone
from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from tasks_app.domain.budget import spent
from tasks_app.domain.statuses import TaskStatus
from tasks_app.domain.text import one_line
from tasks_app.management import words
from tasks_app.management.crew_table import CrewTable
from tasks_app.selectors import agents, inbox, journal, tasks, teams, telling, workers
from tasks_app.selectors.agents import AgentCard
from tasks_app.selectors.look import through
from tasks_app.selectors.open_work import OpenAsk
from tasks_app.selectors.states import TaskState
from tasks_app.selectors.tasks import Obstacle, TaskCard
from tasks_app.selectors.teams import TeamSummary
from tasks_app.services.moments import one_moment

COLOURS = {
    TaskState.WAITING: "yellow",
    TaskState.FAILED: "red",
    TaskState.BLOCKED: "magenta",
    TaskState.IN_FLIGHT: "blue",
    TaskState.DONE: "green",
}


@dataclass(frozen=True)
class Status:
    """Everything that is shown about one team."""

    team: TeamSummary
    tasks: Sequence[TaskCard]
    agents: Sequence[AgentCard]
    waiting: Sequence[inbox.Item]
    needs: Mapping[int, Sequence[int]]
    now: dt.datetime
    silence: workers.Silence | None = None  # it has work, and no worker answers


def read(team_id: int, now: dt.datetime) -> Status:
    """Return the status of a team as of `now`: all of it as of one moment. Raises `NotFound` where there is no such team."""
    with one_moment(), through({}):
        return Status(
            team=teams.summary(team_id),
            tasks=tasks.of_teams([team_id])[team_id],
            agents=agents.of_teams([team_id]),
            waiting=inbox.open_items([team_id]),
            needs=journal.needs(team_id),
            now=now,
            silence=workers.silence([team_id]),
        )


def as_json(status: Status) -> dict[str, Any]:
    """Return the status as plain JSON values."""
    team = status.team
    return {
        "team": {
            "slug": team.slug,
            "name": team.name,
            "status": team.status.value,
            "state": team.state.value,
            "archived": team.archived_at is not None,
            "rehearsal": team.rehearsal,
            "workspace": team.workspace,
            "tasks_done": team.counts.done,
            "tasks_total": team.counts.total,
            "waiting": team.waiting,
            "used_tokens": team.used_tokens,
            "used_usd": team.used_usd,
            "cost_partial": team.cost_partial,
            "budget_usd": team.budget_usd,
            "budget_tokens": team.budget_tokens,
            **_stand_json(team),
            "on_pace_for_usd": team.pace_usd(status.now),
            "on_pace_for_tokens": team.pace_tokens(status.now),
        },
        "no_worker_since": _since(status.silence),
        "tasks": [task_json(card) for card in status.tasks],
        "agents": [_agent_json(card) for card in status.agents],
        "decisions": [_waiting_json(item) for item in status.waiting],
    }


def _waiting_json(item: inbox.Item) -> dict[str, Any]:
    return {
        "id": item.id,
        "kind": item.kind.value,
        "title": item.title,
        "agent": item.agent,
        "task": item.task_label,
        "task_pk": item.task_pk,
        "with_lead_agent": item.with_lead_agent,
        "handed_on": item.handed_why,
        "snoozed": item.snoozed,
    }


def _stand_json(team: TeamSummary) -> dict[str, Any]:
    stand = team.stand
    over = {"over_budget_usd": stand.over_usd, "over_budget_tokens": stand.over_tokens}
    return {**over, "new_tasks_held": stand.used_up and team.unfinished}


def as_text(status: Status) -> RenderableType:
    """Return the status for a terminal."""
    return Group(
        _header(status), *_silence(status.silence), Text(), _tree(status), Text(), CrewTable(status.agents), *_questions(status)
    )


def _silence(silence: workers.Silence | None) -> list[RenderableType]:
    """Say that nobody works, and how to change it."""
    if silence is None:
        return []
    since = f" since {timezone.localtime(silence.since):%H:%M:%S}" if silence.since else ""
    text = f"No worker answers{since}. Nothing goes on until one is back. Start one: {words.COMMAND} up"
    return [Text(text, style="bold red")]


def _since(silence: workers.Silence | None) -> str | None:
    """Null: all is well; the last sign of a worker, or `unknown` where there was none."""
    if silence is None:
        return None
    return silence.since.isoformat(timespec="seconds") if silence.since else "unknown"


def task_words(card: TaskCard) -> str:
    """Return the state of a task in words: COMPLETED by…, IN PROGRESS by…, PENDING – blocked by…"""
    if card.status is TaskStatus.COMPLETED:
        return f"COMPLETED by {telling.who(card.completed_by) or 'hand'}"
    if card.status is TaskStatus.CANCELLED:
        return "CANCELLED"
    if card.status is TaskStatus.IN_PROGRESS:
        if card.ask and card.ask.is_review:
            return f"IN REVIEW – {card.agent or 'nobody'} {_asked(card.ask)}"
        if card.reviewed_in:
            return f"IN REVIEW – {card.reason}"
        waits = f" – {_asked(card.ask)}" if card.ask else ""
        reason = f" – {card.reason}" if card.reason and not waits else ""
        return f"IN PROGRESS by {card.agent or 'nobody'}{waits}{reason}"
    return f"PENDING{_why_pending(card)}"


def _asked(ask: OpenAsk) -> str:
    return f"{'with the lead agent' if ask.with_lead_agent else 'waits for you'}: {ask.title}"


def _why_pending(card: TaskCard) -> str:
    if card.ask:
        return f" – {_asked(card.ask)}"
    if card.state is TaskState.BLOCKED:
        return " – blocked by " + ", ".join(_obstacle(each) for each in card.obstacles)
    return f" – {card.reason}" if card.reason else ""


def _obstacle(found: Obstacle) -> str:
    never = words.never(found)
    asks = " and waits for you" if never and found.asks else ""
    return f"{found.task.label} {found.task.title}{', ' if never else ''}{never}{asks}"


def _header(status: Status) -> Text:
    team, counts = status.team, status.team.counts
    least = "at least " if team.cost_partial else ""
    money = f"{least}${team.used_usd:.2f}" if team.used_usd is not None else ""
    limit = team.stand.limit_usd if team.stand.over_usd else team.budget_usd
    cost = spent(money, f"${limit:.2f}" if limit is not None else "")
    done = f"{counts.done} of {words.counted(counts.total, 'task')} completed"
    facts = [done, f"{words.tokens(team.used_tokens)} tokens", cost]
    facts += _used_up(team) or _on_pace_for(team, status.now)
    if team.waiting:
        facts.insert(1, f"{team.waiting} waiting for you")
    rehearsal = "   Rehearsal: replies are scripted" if team.rehearsal else ""
    head = Text.assemble((one_line(team.name, 120), "bold"), f"  {team.slug}  {words.team(team)}", (rehearsal, "dim"))
    return Text("\n").join([head, Text(" · ".join(facts), style="dim")])


def _used_up(team: TeamSummary) -> list[str]:
    """How far a budget of the team was overshot, and what follows from it; nothing while it is not used up."""
    stand = team.stand
    if not stand.used_up:
        return []
    held = ["new tasks held"] if team.unfinished else []
    return [words.overshoot(stand.over_usd, stand.over_tokens) or "budget used up", *held]


def _on_pace_for(team: TeamSummary, now: dt.datetime) -> list[str]:
    """Where spending leads, while anything is left to do and it can be known."""
    money, used = team.pace_usd(now), team.pace_tokens(now)
    if not team.unfinished or (money is None and used is None):
        return []
    least = "at least " if team.cost_partial else ""
    return [f"on pace for {least}${money:.2f}" if money is not None else f"on pace for {words.tokens(used)} tokens"]


def _tree(status: Status) -> Tree:
    """Each task hangs under the last of what it depends on, so that the order of work can be read downwards."""
    root = Tree(Text("Tasks", style="bold"))
    branches: dict[int, Tree] = {}
    for card in status.tasks:
        parent = next((need for need in reversed(status.needs.get(card.pk, ())) if need in branches), None)
        text = Text.assemble(
            f"{card.label} {one_line(card.title, 80)}  ", (one_line(task_words(card), 160), COLOURS.get(card.state, "dim"))
        )
        branches[card.pk] = (branches[parent] if parent else root).add(text)
    return root


def _questions(status: Status) -> list[RenderableType]:
    if not status.waiting:
        return []
    lines = [Text(), Text("Waiting for you", style="bold yellow")]
    lines += [Text(f"{item.id}  {item.kind.value:<10} {one_line(item.title, 110)}{words.signs(item)}") for item in status.waiting]
    return [*lines, Text(f"Look at one, with the commands that answer it: {words.COMMAND} decide ID", style="dim")]


def task_json(card: TaskCard) -> dict[str, Any]:
    """Return one task as plain JSON values."""
    return {
        "id": card.label,
        "pk": card.pk,
        "title": card.title,
        "status": card.status.value,
        "state": card.state.value,
        "reason": task_words(card),
        "agent": card.agent or None,
        "assignee": card.assignee or None,
        "blocked_by": [each.task.label for each in card.obstacles],
        "attempts": card.attempts,
        "attempts_failed": card.failures,
        "attempts_allowed": card.attempts_allowed,
        "completed_by": card.completed_by or None,
        "used_tokens": card.used_tokens,
        "used_usd": card.used_usd or None,
        "cost_partial": card.cost_partial,
    }


def _agent_json(card: AgentCard) -> dict[str, Any]:
    return {
        "name": card.name,
        "role": card.role,
        "state": card.state.value,
        "pace": words.pace(card),
        "task": card.run.label if card.run else None,
        "run": card.run.id if card.run else None,
        "context_percent": card.context.percent,
        "worked_s": round(card.run.time.worked_s) if card.run else None,
        "waited_s": round(card.run.time.waited_s) if card.run else None,
        "used_tokens": card.used_tokens,
        "used_usd": card.used_usd,
        "cost_partial": card.cost_partial,
    }
