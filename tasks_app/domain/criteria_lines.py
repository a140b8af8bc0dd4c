"""Acceptance criteria as lines that a person edits: a text, or `check: make test`, `artifact: docs/`, `judge bob: is safe`."""

import re
from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from tasks_app.domain import criteria
from tasks_app.domain.criteria import Stored
from tasks_app.domain.errors import Invalid, Problem
from tasks_app.domain.plan_criteria import Proof, stored

_PROVED = re.compile(r"(?i)^(check|artifact|judge\s+(?P<who>\S[^:]{0,59})):\s*(?P<rest>\S.*)$")
_BULLET = re.compile(r"^\s*[-*•]\s+")


def write(given: Sequence[Stored]) -> str:
    """Return stored criteria, one a line."""
    return "\n".join(_line(one) for one in given)


def read(text: str, *, before: Sequence[Stored] = ()) -> tuple[Stored, ...]:
    """Return the criteria of a text. A line that stands as it was is kept whole, with what a line cannot say (its time limit).

    Raises `Invalid` on the field `criteria`.
    """
    kept = {_line(one): one for one in before}
    lines = [" ".join(_BULLET.sub("", line).split()) for line in text.splitlines() if line.strip()]
    try:
        return criteria.parse([kept.get(line) or _read(line) for line in lines])
    except Invalid as error:
        raise Invalid(" ".join(_in_lines(one) for one in error.problems), field="criteria") from None


def _in_lines(problem: Problem) -> str:
    """`criteria[1] repeats criteria[0]` as a person counts lines."""
    whole = (
        f"{problem.path} {problem.message} {problem.fix}" if problem.path != "criteria" else f"{problem.message} {problem.fix}"
    )
    return re.sub(r"criteria\[(\d+)\]", lambda found: f"line {int(found[1]) + 1}", whole).strip()


def _line(one: Stored) -> str:
    if isinstance(one, str):
        return " ".join(one.split())
    text = str(one.get("text") or "").strip()
    if judge := one.get("judge"):
        return " ".join(f"judge {judge}: {text}".split())
    kind = "check" if one.get("check") else "artifact"
    return " ".join(f"{kind}: {one.get(kind, '')}{f'  ({text})' if text else ''}".split())


def _read(line: str) -> Stored:
    found = _PROVED.match(line)
    if found is None:
        return line
    given: Mapping[str, str] = {found[1].lower(): found["rest"]}
    if found["who"]:
        given = {"judge": found["who"].strip(), "text": found["rest"]}
    try:
        return stored(Proof.model_validate(given))
    except ValidationError as error:
        first = error.errors()[0]
        context = first.get("ctx", {})
        why = " ".join(str(context.get(name) or "") for name in ("why", "fix")).strip() or first["msg"]
        raise Invalid(f"“{line[:80]}”: {why}", field="criteria") from None
