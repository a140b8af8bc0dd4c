"""JSON Schemas that people and agents register for shared values: which are taken, and what a value breaks.

A schema comes from outside, so checking must end soon whatever it says: patterns run in linear time (the regular expressions of
Rust, through pydantic-core), references stay inside the schema, and what needs too many steps is refused.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Annotated, Any, Final

from jsonschema import Draft202012Validator, SchemaError, ValidationError, validators
from jsonschema_specifications import REGISTRY
from pydantic import StringConstraints, TypeAdapter
from pydantic import ValidationError as Mismatch
from pydantic_core import SchemaError as BadPattern

from tasks_app.domain.errors import Problem
from tasks_app.domain.plan_lines import dotted
from tasks_app.domain.text import clean_json, mask_secrets, one_line

MAX_CHARS: Final = 20_000
MAX_PROBLEMS: Final = 10
MAX_STEPS: Final = 20_000
"""References followed in one check: some schemas double their work with each of a few dozen definitions."""
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
REFUSED: Final = frozenset(
    {"$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$vocabulary", "patternProperties"}
)
_REFERENCE = re.compile(r"#(?:/(?:\$defs|definitions)/[^/~%]+)?")
_NAMED = frozenset({"properties", "$defs", "definitions", "dependentSchemas"})
_DATA = frozenset({"const", "enum", "default", "examples"})
_steps: ContextVar[list[int]] = ContextVar("steps")


class _TooManySteps(Exception):
    pass


@dataclass(frozen=True)
class Flaw:
    """One thing wrong with a schema or a value, and where in it."""

    place: tuple[str | int, ...]
    message: str
    fix: str = ""


def problems(flaws: Iterable[Flaw], *, root: str) -> tuple[Problem, ...]:
    """Return the flaws as problems whose paths begin with `root`: `value.port`."""
    return tuple(Problem(one.message, path=dotted((root, *one.place)), fix=one.fix) for one in flaws)


def flaws_of(schema: Any) -> tuple[Flaw, ...]:
    """Return why `schema` cannot be registered; empty: it can."""
    if not isinstance(schema, dict):
        return (Flaw((), "must be a mapping, such as {type: string}."),)
    try:
        if len(str(schema)) > MAX_CHARS:
            return (Flaw((), f"is longer than {MAX_CHARS:,} characters.", "Check less, or split the value."),)
        if str(schema.get("$schema", DIALECT)).rstrip("#") != DIALECT:
            return (Flaw(("$schema",), f"must be {DIALECT}.", "Leave $schema out."),)
        _Checker.check_schema(schema)
    except SchemaError as error:
        return (Flaw(tuple(error.absolute_path), _words(error)),)
    except RecursionError:
        return (Flaw((), "nests too deeply."),)
    return tuple(islice(_unfit(schema, ()), MAX_PROBLEMS))


def flaws_in(value: Any, schema: Mapping[str, Any]) -> tuple[Flaw, ...]:
    """Return what in `value` breaks a registered schema, at most `MAX_PROBLEMS` flaws."""
    token = _steps.set([MAX_STEPS])
    try:
        errors = islice(_Checker(schema, registry=REGISTRY).iter_errors(value), MAX_PROBLEMS)
        return tuple(Flaw(tuple(error.absolute_path), _words(error)) for error in errors)
    except _TooManySteps:
        return (Flaw((), "cannot be checked: its schema takes too many steps.", "Make the schema simpler."),)
    except RecursionError:
        return (Flaw((), "cannot be checked: its schema refers to itself without end.", "Make the schema simpler."),)
    finally:
        _steps.reset(token)


def _words(error: ValidationError | SchemaError) -> str:
    return one_line(mask_secrets(error.message), 240).rstrip(".") + "."


def _unfit(schema: Any, path: tuple[str | int, ...]) -> Iterator[Flaw]:
    """What the specification allows and we do not."""
    if not isinstance(schema, dict):
        return
    for name, part in schema.items():
        here = (*path, name)
        if name in REFUSED:
            yield Flaw(here, "cannot be used here.", "Write what it says with other keywords.")
        elif name == "$ref" and not _REFERENCE.fullmatch(str(part)):
            yield Flaw(here, "must point into the schema itself.", "Write, for example, #/$defs/address.")
        elif name == "pattern" and not _is_pattern(part):
            yield Flaw(here, "is no regular expression of linear time.", "Leave out look-around and back-references.")
        elif name in _NAMED and isinstance(part, dict):
            for key, inner in part.items():
                yield from _unfit(inner, (*here, key))
        elif name not in _DATA:
            for at, inner in enumerate(part) if isinstance(part, list) else ((None, part),):
                yield from _unfit(inner, here if at is None else (*here, at))


def _is_pattern(text: Any) -> bool:
    try:
        _matcher(text)
    except (BadPattern, TypeError, ValueError):
        return False
    return True


@lru_cache(maxsize=256)
def _matcher(pattern: str) -> TypeAdapter[str]:
    return TypeAdapter(Annotated[str, StringConstraints(pattern=pattern, strict=True)])


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if not isinstance(instance, str):
        return
    try:
        _matcher(pattern).validate_python(instance)
    except Mismatch:
        yield ValidationError(f"{instance[:80]!r} does not match {pattern!r}")


def _unique(validator: Any, wanted: bool, instance: Any, schema: Any) -> Iterator[ValidationError]:
    """By a hash of each item: comparing each with each takes minutes for a long list."""
    if wanted and isinstance(instance, list) and len({_frozen(item) for item in instance}) != len(instance):
        yield ValidationError("has the same item twice")


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return frozenset((key, _frozen(item)) for key, item in value.items())
    if isinstance(value, list):
        return tuple(_frozen(item) for item in value)
    return (isinstance(value, bool), value)


def _reference(validator: Any, ref: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    left = _steps.get()
    left[0] -= 1
    if left[0] < 0:
        raise _TooManySteps
    yield from Draft202012Validator.VALIDATORS["$ref"](validator, ref, instance, schema)


_Checker = validators.extend(Draft202012Validator, {"pattern": _pattern, "uniqueItems": _unique, "$ref": _reference})


def plain(schema: Any) -> Any:
    """Return the schema as it is stored: plain JSON, clean text. Its words are not masked: a mask would change what it asks."""
    return clean_json(schema)
