"""Reads the form of a task: a new one, or one that still waits."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

from django.http import QueryDict

from dashboard.forms import fields as read
from tasks_app.domain import criteria_lines
from tasks_app.domain.errors import Invalid
from tasks_app.services import drafts
from tasks_app.services.tasks import TEXT_LIMIT, TITLE_LIMIT, Draft

FIELDS = ("title", "description", "criteria", "who", "role", "assignee", "priority", "minutes", "depends_on", "usd", "tokens")
"""The fields at which the form says what is wrong with them."""


@dataclass(frozen=True)
class Given:
    """What stands in the form, as it was typed."""

    title: str = ""
    description: str = ""
    criteria: str = ""
    who: str = ""  # `agent:7`, `role:builder`, or empty: any agent
    priority: str = "5"
    minutes: str = "5-30"
    depends_on: str = ""
    usd: str = ""
    tokens: str = ""

    @classmethod
    def of(cls, post: QueryDict) -> Self:
        """Return what was sent."""
        return cls(**{one.name: post.get(one.name, "").replace("\r\n", "\n")[:TEXT_LIMIT] for one in fields(cls)})

    @classmethod
    def shown(cls, draft: Draft) -> Self:
        """Return a task as the form shows it."""
        return cls(
            title=draft.title,
            description=draft.description,
            criteria=criteria_lines.write(draft.criteria),
            who=f"agent:{draft.assignee_id}" if draft.assignee_id else f"role:{draft.role}" if draft.role else "",
            priority=str(draft.priority),
            minutes=f"{draft.expected_min:g}-{draft.expected_max:g}",
        )


def labels(text: str) -> list[str]:
    """Return `T-1, T-3` as labels."""
    return [one for one in re.split(r"[\s,;]+", text) if one]


def words(post: QueryDict, *, before: Draft | None = None) -> dict[str, Any]:
    """Return the fields of a task. Raises `Invalid` or `TooLarge` at the field."""
    low, high = drafts.minutes(post.get("minutes", ""))
    priority = post.get("priority", "").strip()
    if not re.fullmatch("[0-9]", priority):
        raise Invalid("The priority is from 0 (first) to 9.", field="priority")
    return {
        "title": read.text(post, "title", TITLE_LIMIT, needed="Say in a few words what is to be done."),
        "description": read.text(post, "description", TEXT_LIMIT),
        "criteria": criteria_lines.read(read.text(post, "criteria", TEXT_LIMIT), before=before.criteria if before else ()),
        **_who(post.get("who", ""), before),
        "priority": int(priority),
        "expected_min": low,
        "expected_max": high,
    }


def draft(post: QueryDict, team_id: int) -> Draft:
    """Return a new task. Raises `Invalid` or `TooLarge` at the field."""
    return Draft(
        **words(post),
        depends_on=drafts.needs(team_id, labels(read.text(post, "depends_on", 2000))),
        budget_usd=read.money(post, "usd"),
        budget_tokens=read.count(post, "tokens"),
    )


def _who(said: str, before: Draft | None) -> dict[str, Any]:
    """An agent that is named keeps the role of the task: it goes back to that role when the agent cannot."""
    kind, _, name = said.partition(":")
    if kind == "agent" and name.isascii() and name.isdigit() and len(name) < 19:
        return {"role": before.role if before else "", "assignee_id": int(name)}
    if kind == "role" or not said:
        return {"role": name[:60], "assignee_id": None}
    raise Invalid("Choose one of the list.", field="who")


def roles(members: Sequence[Any]) -> list[str]:
    """Return the roles of these agents, each once, in order."""
    return sorted({one.role for one in members if one.role})
