"""Judges that are one particular person: they must exist when a team starts, and nobody else answers for them."""

from collections.abc import Mapping, Sequence
from typing import Any

from tasks_app.domain import criteria, names
from tasks_app.domain.errors import Forbidden, Problems
from tasks_app.domain.plan_model import Plan
from tasks_app.selectors import access

SCRIPTED = "(scripted)"
"""How the name of a rehearsal's scripted lead ends, which plays every person; no account may have such a name."""


def must_exist(plan: Plan) -> None:
    """Raise `Invalid` that names every judge of the plan without an account that can sign in."""
    asked = [
        (f"tasks[{place}].criteria[{one.number - 1}].judge", one.person)
        for place, task in enumerate(plan.tasks)
        for one in criteria.read(task.stored_criteria)
        if one.person
    ]
    _must_be_known(asked)


def must_be_known(person: str) -> None:
    """Raise `Invalid` where nobody who can sign in has that account."""
    _must_be_known([("", person)])


def _must_be_known(asked: Sequence[tuple[str, str]]) -> None:
    missing = access.unknown({person for _, person in asked}) if asked else frozenset()
    problems = Problems()
    for path, person in asked:
        if person in missing:
            problems.add(f'Nobody has the account "{person}".', path=path, fix=names.did_you_mean(person, access.usernames()))
    problems.raise_if_any("The plan names a judge who cannot sign in.")


def must_be_theirs(payload: Mapping[str, Any], actor: str) -> None:
    """Raise `Forbidden` where the request is for one person, and neither that person nor an administrator answers.

    An agent never does, whatever its name.
    """
    person, (kind, _, by) = str(payload.get("judge") or ""), actor.partition(":")
    is_theirs = kind == "user" and (by == person or by.endswith(SCRIPTED) or access.administers(by))
    if person and not is_theirs:
        raise Forbidden(f"This is for {person} to judge: only {person} or an administrator answers it.", field="choice")
