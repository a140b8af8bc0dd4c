"""Acceptance criteria: reading them, and finding those for which no evidence was given."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tasks_app.domain.errors import Problems
from tasks_app.domain.text import clean

MAX_CRITERIA: Final = 50
MAX_LENGTH: Final = 1000
_BULLET = re.compile(r"^\s*(?:[-*•]\s*(?:\[[ xX]\]\s*)?|\d{1,3}[.)]\s+)")


@dataclass(frozen=True)
class Criterion:
    """One acceptance criterion with its number, counted from 1."""

    number: int
    text: str

    def __str__(self) -> str:
        return f"{self.number}. {self.text}"


def parse(given: str | Sequence[str]) -> tuple[str, ...]:
    """Return the criteria from a list, or from a text with one a line (bullets and numbers go, empty lines are skipped).

    Raises `Invalid` for an empty or repeated criterion in a list, one that is too long, or too many.
    """
    lines = [_BULLET.sub("", line) for line in given.splitlines() if line.strip()] if isinstance(given, str) else list(given)
    problems, seen = Problems(), dict[str, int]()
    for number, line in enumerate(lines):
        _check(line, number, seen, problems)
    if len(lines) > MAX_CRITERIA:
        problems.add(f"{len(lines)} criteria; at most {MAX_CRITERIA}.", path="criteria", fix="Split the task.")
    problems.raise_if_any("The acceptance criteria cannot be taken.")
    return tuple(" ".join(clean(line).split()) for line in lines)


def _check(line: str, number: int, seen: dict[str, int], problems: Problems) -> None:
    path, folded = f"criteria[{number}]", fold(line)
    if not folded:
        problems.add("is empty.", path=path, fix="Say what must hold when the task is done.")
    elif folded in seen:
        problems.add(f"repeats criteria[{seen[folded]}].", path=path, fix="Remove one of them.")
    elif len(line) > MAX_LENGTH:
        problems.add(f"is {len(line)} characters long; at most {MAX_LENGTH}.", path=path, fix="Move details to the description.")
    seen.setdefault(folded, number)


def fold(text: str) -> str:
    """Return `text` as criteria are compared: case, white space, bullets and a last full stop do not count."""
    return " ".join(_BULLET.sub("", clean(text)).casefold().split()).rstrip(".")


def missing_evidence(criteria: Sequence[str], evidence: Mapping[str, object]) -> list[Criterion]:
    """Return the criteria without evidence, in their order.

    Evidence is found under the number (`"1"`, `"1."`, `"#1"`) or the text of a criterion; blank evidence is none.
    """
    given = {fold(str(key)) for key, value in evidence.items() if _says_something(value)}
    numbers = {int(found[1]) for key in given if (found := re.fullmatch(r"(?:#|criterion )?(\d{1,4})[.):]?", key))}
    missing = []
    for number, text in enumerate(criteria, 1):
        if number not in numbers and fold(text) not in given:
            missing.append(Criterion(number, text))
    return missing


def _says_something(value: object) -> bool:
    if isinstance(value, str):
        return bool(clean(value).strip())
    return value is not None and value is not False and value != [] and value != {}
