"""The limits on New team: what the lead sets over what the plan says, before anything runs. Empty: as the plan says."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from tasks_app.domain.errors import Invalid
from tasks_app.domain.plan_model import Agent, Budget, Limits, Permissions, Plan
from tasks_app.domain.text import clean

ASK_ALL = "ask_all"


@dataclass(frozen=True)
class Limit:
    """One field of the form, and where in the plan it belongs."""

    name: str
    label: str
    unit: str
    path: tuple[str, ...]
    whole: bool = False


LIMITS = (
    Limit("budget_usd", "Budget of the team", "US dollars", ("budget", "usd")),
    Limit("parallel", "Agents at once", "1 to 64", ("limits", "parallel"), whole=True),
    Limit("attempts", "Attempts per task", "1 to 20", ("limits", "attempts"), whole=True),
    Limit("run_minutes", "Time per attempt", "minutes of work", ("limits", "minutes")),
    Limit("run_usd", "Budget per attempt", "US dollars", ("limits", "run_budget", "usd")),
)
FIELDS = tuple(one.name for one in LIMITS)


def read(posted: Mapping[str, str]) -> dict[str, str]:
    """Return what was given, by field; what was left empty is missing."""
    given = {name: clean(posted.get(name, "")).strip()[:40] for name in FIELDS}
    given[ASK_ALL] = "1" if posted.get(ASK_ALL) else ""
    return {name: text for name, text in given.items() if text}


def applied(plan: Plan, given: Mapping[str, str]) -> Plan:
    """Return the plan under these limits. Raises `Invalid` at the field that makes no sense."""
    for limit in LIMITS:
        if limit.name in given:
            plan = _with(plan, limit, _number(limit, given[limit.name]))
    if ASK_ALL not in given:
        return plan
    agents = tuple(_asking(agent) for agent in plan.agents)
    return plan.model_copy(update={"permissions": _without_allow(plan.permissions), "agents": agents})


def shown(plan: Plan | None, given: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the fields: name, label, unit, what was given, and what holds where nothing is."""
    return [
        {"name": one.name, "label": one.label, "unit": one.unit, "value": given.get(one.name, ""), "holds": _says(plan, one)}
        for one in LIMITS
    ]


def _says(plan: Plan | None, limit: Limit) -> str:
    found: object = plan
    for name in limit.path:
        found = getattr(found, name, None)
    return f"{found:g}" if isinstance(found, int | float) else ""


def _number(limit: Limit, text: str) -> float:
    plain = text.lstrip("$").strip().replace(",", ".")
    try:
        return int(plain) if limit.whole else float(plain)
    except ValueError:
        kind = "a whole number" if limit.whole else "a number"
        raise Invalid(f"{limit.label}: give {kind} ({limit.unit}), not “{text}”.", field=limit.name) from None


def _with(plan: Plan, limit: Limit, value: float) -> Plan:
    part, *names = limit.path
    words = (plan.budget if part == "budget" else plan.limits).model_dump()
    inner = words[names[0]] if len(names) > 1 else words
    inner[names[-1]] = value
    try:
        made = Budget(**words) if part == "budget" else Limits(**words)
    except ValidationError as error:
        why = error.errors()[0]["msg"].removeprefix("Input ")
        raise Invalid(f"{limit.label} {why} ({limit.unit}).", field=limit.name) from None
    return plan.model_copy(update={part: made})


def _without_allow(rules: Permissions) -> Permissions:
    return Permissions(deny=rules.deny, ask=rules.ask)


def _asking(agent: Agent) -> Agent:
    return agent.model_copy(update={"permissions": _without_allow(agent.permissions)})
