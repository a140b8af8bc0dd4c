"""Ids: a type prefix and 8 characters of [0-9a-z] from a CSPRNG (36^8 = 2.8e12 values)."""

import secrets
import string
from typing import Final

from tasks_app.domain.errors import Invalid

ALPHABET = string.digits + string.ascii_lowercase
LENGTH = 8
DECISION_PREFIX = "d"
MESSAGE_PREFIX = "m"
CHECKPOINT_PREFIX = "k"
MAX_PK: Final = 2**63 - 1
"""The highest number that a row can have."""


def new_id(prefix: str) -> str:
    """Return a new id such as `a7k20xq9f`; the prefix says what it names (a run's comes from its task type)."""
    return prefix + "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))


def task_label(number: int) -> str:
    """Return how people call task `number` of a team: `T-42`."""
    return f"T-{number}"


def parse_task_label(text: str) -> int | None:
    """Return the number in `T-42`, `t42`, `#42` or `42`; None for anything else."""
    digits = text.strip().lstrip("#").removeprefix("T").removeprefix("t").removeprefix("-")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 9 else None


def given_task_number(text: str) -> int | None:
    """Return the number that a person gave, None where nothing was given. Raises `Invalid` for anything that is no task."""
    number = parse_task_label(text) if text else None
    if text and number is None:
        raise Invalid("A task is written as T-3.", field="task")
    return number
