"""What Pydantic finds wrong with a plan, in words for the person who wrote it: what, where and how to mend it."""

from collections.abc import Callable, Mapping
from typing import Any, Final, get_args

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from tasks_app.domain.names import did_you_mean
from tasks_app.domain.plan_criteria import TAGS
from tasks_app.domain.plan_lines import Path
from tasks_app.domain.plan_model import Plan

_NEEDED: Final[Mapping[str, str]] = {
    "team": "Give the team a name: team: Billing.",
    "agents": "List at least one agent with a name and a role.",
    "tasks": "List at least one task with a title and criteria.",
    "name": "Give the agent a name.",
    "role": "Say what the agent is for, such as role: builder.",
    "title": "Give the task a title.",
    "criteria": "List what must hold when the task is done.",
}
_PATTERNS: Final[Mapping[str, str]] = {
    "key": "Use letters, digits, dots, dashes and underscores: billing-api.",
    "name": "Leave out @ : / < > and quotes.",
}


def words(error: ErrorDetails) -> tuple[Path, str, str]:
    """Return path, message and fix of one error."""
    path, kind, context = tuple(step for step in error["loc"] if step not in TAGS), error["type"], error.get("ctx", {})
    if path and path[-1] == "[key]":
        return path[:-1], f'"{path[-2]}" cannot be a name.', _PATTERNS["key"]
    field = next((step for step in reversed(path) if isinstance(step, str)), "")
    if kind == "missing":
        return path[:-1], f"{field} is missing.", _NEEDED.get(field, "Add it.")
    if kind == "extra_forbidden":
        return path, f'There is no field "{field}" here.', did_you_mean(field, _fields_at(path[:-1]))
    saying = _SAYINGS.get(kind)
    if saying:
        return (path, *saying(context, field, error.get("input")))
    return path, f"{error['msg']}.", "See docs/plan-files.md for what goes here."


def _fields_at(path: Path) -> list[str]:
    """The fields of the model at `path`."""
    model: Any = Plan
    for step in path:
        if isinstance(step, str) and isinstance(model, type) and issubclass(model, BaseModel):
            model = _model_in(model.model_fields[step].annotation) if step in model.model_fields else None
    return list(model.model_fields) if isinstance(model, type) and issubclass(model, BaseModel) else []


def _model_in(annotation: Any) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for inner in get_args(annotation) if (found := _model_in(inner))), None)


Saying = Callable[[Mapping[str, Any], str, Any], tuple[str, str]]


def _fixed(message: str, fix: str) -> Saying:
    return lambda _context, _field, _value: (message, fix)


def _not_text(_context: Mapping[str, Any], _field: str, value: Any) -> tuple[str, str]:
    if isinstance(value, bool | int | float):
        return f"must be a text, not {'true or false' if isinstance(value, bool) else 'a number'}.", "Put it in quotes."
    return f"must be a text, not a {'list' if isinstance(value, list) else 'mapping'}.", "Write one text here."


def _not_list(_context: Mapping[str, Any], field: str, value: Any) -> tuple[str, str]:
    shown = value if isinstance(value, str) and len(value) <= 40 and "\n" not in value else "…"
    return "must be a list.", f"Write {field}: [{shown}], or one item a line after a dash."


def _too_short(context: Mapping[str, Any], field: str, value: Any) -> tuple[str, str]:
    return ("is empty.", _NEEDED.get(field, "Write something, or leave the field out."))


def _choices(context: Mapping[str, Any], _field: str, value: Any) -> tuple[str, str]:
    expected = str(context.get("expected", "")).replace("'", "")
    known = [one for part in expected.split(" or ") for one in part.split(", ")]
    return f"must be one of {expected}.", did_you_mean(str(value), known) if isinstance(value, str) else f"Write {known[0]}."


def _bound(phrase: str, name: str) -> Saying:
    def say(context: Mapping[str, Any], _field: str, value: Any) -> tuple[str, str]:
        limit = context.get(name)
        shown = int(limit) if isinstance(limit, float) and limit.is_integer() else limit
        return f"must be {phrase} {shown}, not {value}.", "Change the number, or leave the field out."

    return say


def _too_many(context: Mapping[str, Any], _field: str, _value: Any) -> tuple[str, str]:
    return f"has {context.get('actual_length')} items; at most {context.get('max_length')}.", "Split the plan."


def _too_long(context: Mapping[str, Any], _field: str, value: Any) -> tuple[str, str]:
    return f"is {len(str(value))} characters long; at most {context.get('max_length')}.", "Shorten it."


def _pattern(_context: Mapping[str, Any], field: str, value: Any) -> tuple[str, str]:
    return f'"{str(value)[:60]}" is not a possible {field}.', _PATTERNS.get(field, "Write another one.")


def _refused(context: Mapping[str, Any], _field: str, _value: Any) -> tuple[str, str]:
    """The plan's own checks bring their words along."""
    return str(context.get("why", "")), str(context.get("fix", ""))


_SAYINGS: Final[Mapping[str, Saying]] = {
    "string_type": _not_text,
    "tuple_type": _not_list,
    "list_type": _not_list,
    "model_type": _fixed("must be a mapping of fields.", "Write name: value, one a line."),
    "model_attributes_type": _fixed("must be a mapping of fields.", "Write name: value, one a line."),
    "dict_type": _fixed("must be a mapping of names and values.", "Write name: value, one a line."),
    "int_type": _fixed("must be a whole number.", "Write digits without quotes, such as 3."),
    "int_from_float": _fixed("must be a whole number.", "Write digits without quotes, such as 3."),
    "float_type": _fixed("must be a number.", "Write digits without quotes, such as 2.5."),
    "finite_number": _fixed("must be a finite number.", "Write digits without quotes, such as 2.5."),
    "bool_type": _fixed("must be true or false.", "Write true or false, without quotes."),
    "bool_parsing": _fixed("must be true or false.", "Write true or false, without quotes."),
    "literal_error": _choices,
    "greater_than": _bound("more than", "gt"),
    "greater_than_equal": _bound("at least", "ge"),
    "less_than": _bound("less than", "lt"),
    "less_than_equal": _bound("at most", "le"),
    "string_too_short": _too_short,
    "too_short": _too_short,
    "string_too_long": _too_long,
    "too_long": _too_many,
    "string_pattern_mismatch": _pattern,
    "refused": _refused,
}
