"""The one shape in which programs are told what went wrong: of every endpoint, and of what answers before one is reached."""

from collections.abc import Sequence
from typing import Any

from tasks_app.domain.errors import DomainError, Invalid


def body(code: str, message: str, *, field: str = "", problems: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """Return the answer: a stable code (docs/api.md), words for people, the field, and for plans every problem."""
    return {"error": {"code": code, "message": message, "field": field, "problems": list(problems)}}


def answer(error: DomainError) -> dict[str, Any]:
    """Return what an error of the domain says."""
    found = error.problems if isinstance(error, Invalid) else ()
    problems = [{"message": p.message, "path": p.path, "line": p.line, "fix": p.fix} for p in found]
    return body(error.code, error.message, field=error.field, problems=problems)
