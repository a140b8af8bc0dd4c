"""Plan files from the disk: the plan, its rehearsal script and the folder that its relative paths mean."""

import uuid
from pathlib import Path
from typing import Any

from django.db import InterfaceError, OperationalError

from tasks_app.domain import plan as plans
from tasks_app.domain.errors import Invalid
from tasks_app.domain.plan_model import Plan
from tasks_app.execution import db
from tasks_app.management import small_files
from tasks_app.rehearsal import scripts
from tasks_app.services import actions, idempotency, teams
from tasks_app.services.teams import Source
from tasks_app.task_types import registry


def read(path: Path, *, name: str = "") -> tuple[Plan, Source]:
    """Return the plan in a file and where it came from, under another team name where one is given.

    Raises `Invalid` that names every problem of the plan, or of the rehearsal script that it names.
    """
    text = small_files.read(path, what="plan", field="plan")
    plan = plans.parse(text, known_types=registry.PLANNED, source=path.name)
    if name:
        plan = plan.model_copy(update={"team": name})
    base = path.expanduser().resolve().parent
    return plan, Source(text.decode("utf-8-sig"), base, script_of(plan, base))


def script_of(plan: Plan, base: Path) -> str:
    """Return the text of the rehearsal script beside the plan, checked; nothing where the plan names none."""
    if plan.rehearsal is None:
        return ""
    path = (base / plan.rehearsal).resolve()
    if not path.is_relative_to(base):
        raise Invalid(f"The script {plan.rehearsal} does not lie beside the plan.", field="rehearsal")
    text = small_files.read(path, what="script", field="rehearsal").decode("utf-8-sig", "replace").replace("\r\n", "\n")
    scripts.load(text)
    return text


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
