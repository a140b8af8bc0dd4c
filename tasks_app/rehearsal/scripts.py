"""Rehearsal scripts: read from a text or file, every error at once, and what is played when none is written."""

import difflib
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from tasks_app.domain import plan_lines
from tasks_app.domain.errors import Invalid, Problem
from tasks_app.domain.plan_lines import Document, Path, dotted
from tasks_app.rehearsal.script_model import Branch, Call, Fail, Misbehave, Part, Script, Strict, Turn, Usage, When

__all__ = ["GENERAL", "Part", "Script", "json_schema", "load"]

GENERAL: Final = Part(
    turns=[
        Turn(say="I read {task} first.", call=[Call(crew="TaskGet", input={"taskId": "{task}"})]),
        Turn(
            say="No script is written for {task}, so I only report it as completed.",
            call=[Call(complete="Rehearsed without a script of its own: nothing was changed.")],
        ),
    ]
)
"""What is played when no part of a script matches a run."""


def load(source: str | FilePath) -> Script:
    """Return the script in a text or file. Raises `Invalid` that names every problem with line, path and fix."""
    document = plan_lines.read(source if isinstance(source, str) else _file(source))
    if not isinstance(document.value, dict):
        raise Invalid(
            "A rehearsal script is a mapping with `parts`.", problems=(Problem("It must start with `parts:`.", line=1),)
        )
    try:
        script = Script.model_validate(document.value)
    except ValidationError as error:
        problems = tuple(_problem(detail, document) for detail in error.errors(include_url=False))
        raise _refusal(problems) from None
    unreachable = tuple(_never_played(script, document))
    if unreachable:
        raise _refusal(unreachable)
    return script


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a script file."""
    return Script.model_json_schema()


def _file(path: FilePath) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise Invalid(f"The script {path} cannot be read: {error.strerror or error}.") from error


def _refusal(problems: tuple[Problem, ...]) -> Invalid:
    problems = tuple(sorted(problems, key=lambda problem: problem.line or 0))
    count = len(problems)
    return Invalid(f"The script has {count} problem{'s' if count > 1 else ''}.", problems=problems)


def _never_played(script: Script, document: Document) -> Iterator[Problem]:
    seen: dict[tuple[str, ...], int] = {}
    for index, part in enumerate(script.parts):
        match = (part.agent.casefold(), part.role.casefold(), part.task.casefold(), part.attempt)
        first = seen.setdefault(match, index)
        if first != index:
            path: Path = ("parts", index)
            text = f"It is for the same runs as parts[{first}], which comes first, so it is never played."
            yield Problem(text, dotted(path), document.line(path), "Give it another agent, task or attempt, or remove it.")


def _problem(detail: ErrorDetails, document: Document) -> Problem:
    path = _path_in_file(detail["loc"], document)
    message, fix = _words(detail)
    return Problem(message, dotted(path), document.line(path), fix)


def _path_in_file(loc: Path, document: Document) -> Path:
    """Return where `loc` is in the file: an only item written without its list has no `[0]`, a union names its member."""
    path: Path = ()
    for step in loc:
        if (*path, step) in document.lines:
            path = (*path, step)
    return path if path or not loc else loc[:1]


def _words(detail: ErrorDetails) -> tuple[str, str]:
    name = str(detail["loc"][-1]) if detail["loc"] else ""
    if detail["type"] == "extra_forbidden":
        return f"`{name}` is not a known field.", _known(detail["loc"])
    if detail["type"] == "missing":
        return f"`{name}` is missing.", f"Add `{name}:`."
    text = detail["msg"].removeprefix("Input ")
    return text[:1].upper() + text[1:].rstrip(".") + ".", ""


def _known(loc: Path) -> str:
    fields = sorted(_fields_at(loc[:-1]))
    close = difflib.get_close_matches(str(loc[-1]), fields, n=1)
    return f"Did you mean `{close[0]}`?" if close else f"Known here: {', '.join(fields)}."


_MODEL_OF: Final[dict[str, type[Strict]]] = {
    "parts": Part,
    "turns": Turn,
    "then": Turn,
    "call": Call,
    "fail": Fail,
    "usage": Usage,
    "misbehave": Misbehave,
    "either": Branch,
    "when": When,
}


def _fields_at(loc: Path) -> set[str]:
    if len(loc) >= 3 and loc[-3] == "subagents":
        return set(Turn.model_fields)
    name = next((step for step in reversed(loc) if isinstance(step, str)), "")
    return set(_MODEL_OF.get(name, Script).model_fields)
