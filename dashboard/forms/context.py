"""Reads the forms of shared entries: a value as text or JSON, whom it is for, and how long it stays."""

import json
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from dashboard.forms import fields
from tasks_app.domain.errors import Invalid
from tasks_app.domain.ids import parse_task_label
from tasks_app.domain.statuses import Scope

MAX_VALUE = 500_000
"""Characters of a value that a page edits."""


@dataclass(frozen=True)
class Given:
    """What a form says of an entry."""

    value: Any
    scope: Scope
    task_number: int | None
    ttl_s: float | None


def read(post: QueryDict) -> Given:
    """Return what the form says. Raises `Invalid` with the field."""
    whom = post.get("whom", "")
    number = parse_task_label(whom) if whom else None
    if whom and number is None:
        raise Invalid("Write one task, such as T-3, or leave it empty for the whole team.", field="whom")
    minutes = fields.count(post, "minutes", 366 * 24 * 60)
    return Given(
        value=_value(post),
        scope=Scope.TASK if number else Scope.TEAM,
        task_number=number,
        ttl_s=minutes * 60 if minutes else None,
    )


def _value(post: QueryDict) -> Any:
    text = fields.text(post, "value", MAX_VALUE)
    return from_json(text, field="value") if post.get("kind") == "json" else text


def schema(post: QueryDict) -> Any:
    """Return the schema, or None where the field is empty."""
    text = fields.text(post, "schema")
    return from_json(text, field="schema") if text else None


def from_json(text: str, *, field: str) -> Any:
    """Return what a JSON text says. Raises `Invalid` that says where it is damaged."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise Invalid(f"This is not JSON: {error.msg}, line {error.lineno}, column {error.colno}.", field=field) from None
    except (RecursionError, ValueError):
        raise Invalid("This JSON nests too deeply, or has a number that is too long.", field=field) from None
