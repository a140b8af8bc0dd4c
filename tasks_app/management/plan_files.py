"""Plan files from the disk: the plan, its rehearsal script and the folder that its relative paths mean."""

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.db import InterfaceError, OperationalError

from tasks_app.domain import plan as plans
from tasks_app.domain.errors import Invalid, Problem
from tasks_app.domain.plan_model import Plan
from tasks_app.execution import db
from tasks_app.management import plan_needs, small_files
from tasks_app.services import actions, idempotency, teams
from tasks_app.services.teams import Source
from tasks_app.task_types import registry


def read(path: Path, *, name: str = "") -> tuple[Plan, Source]:
    """Return the plan in a file and where it came from, under another team name where one is given.

    Raises `Invalid` that names every problem of the plan, and of what it needs of this machine, at once (`plan_needs`).
    """
    text = small_files.read(path, what="plan", field="plan")
    base = path.expanduser().resolve().parent
    missing = plan_needs.missing(text, base)
    try:
        plan = plans.parse(text, known_types=registry.PLANNED, source=path.name)
    except Invalid as bad:
        raise _all(path.name, [*bad.problems, *missing]) if missing else bad from None
    if missing:
        raise _all(path.name, missing)
    if name:
        plan = plan.model_copy(update={"team": name})
    return plan, Source(text.decode("utf-8-sig"), base, script_of(plan, base))


def _all(name: str, problems: Sequence[Problem]) -> Invalid:
    """One error for everything, in the order of lines."""
    if len(problems) == 1:
        return Invalid(f"{name}: {problems[0]}", field="plan", problems=tuple(problems))
    ordered = sorted(problems, key=lambda problem: problem.line or 0)
    return Invalid(f"{name} has {len(problems)} problems.", field="plan", problems=tuple(ordered))


def script_of(plan: Plan, base: Path) -> str:
    """Return the text of the rehearsal script beside the plan, checked; nothing where the plan names none. Raises `Invalid`."""
    return plan_needs.script(plan.rehearsal, base) if plan.rehearsal is not None else ""


def start(plan: Plan, *, source: Source, user_id: int, rehearsal: bool, actor: str) -> Any:
    """Start the team of a plan and return it. Where nobody hears whether it was done, the database is asked when it is back."""
    key = uuid.uuid4().hex
    try:
        return actions.start_team(plan, source=source, user_id=user_id, rehearsal=rehearsal, actor=actor, idempotency_key=key)
    except (OperationalError, InterfaceError):
        known = db.patiently(idempotency.made, key)
        if not known:
            raise
        return db.patiently(teams.get, int(known))
