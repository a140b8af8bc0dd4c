"""Ids of commits: the only form in which one goes to git, whoever wrote the row or the file that it comes from."""

import re
from typing import Final

from tasks_app.domain.errors import Conflict

COMMIT_ID: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
GONE: Final = "The snapshot of the files is damaged or gone; nothing was changed."


def is_commit_id(value: object) -> bool:
    """Whether this is the full id of a commit, SHA-1 or SHA-256: never an option of git, a range or a name."""
    return isinstance(value, str) and COMMIT_ID.fullmatch(value) is not None


def commit_id(value: str) -> str:
    """Return the id as it is. Raises `Conflict` for anything else."""
    if not is_commit_id(value):
        raise Conflict(GONE)
    return value
