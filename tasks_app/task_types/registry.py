"""Where each type of task lives."""

from functools import cache
from importlib import import_module
from typing import Protocol, cast

from tasks_app.domain.deciders import TURN

TYPES: dict[str, str] = {
    "agent": "tasks_app.task_types.agent",
    "lead": "tasks_app.task_types.lead",
}
PLANNED = tuple(name for name in TYPES if name != TURN)
"""Those that a plan may ask for."""


class TaskType(Protocol):
    """A module in this package: what one type of task needs."""

    PREFIX: str
    """First character of the ids of its runs."""
    RUNNER: str
    """Name in `runners.registry` of what drives its runs."""
    LABEL: str
    """What people call it."""


@cache
def get(name: str) -> TaskType:
    """Return the module of a type; raises KeyError for an unknown one."""
    return cast(TaskType, import_module(TYPES[name]))
