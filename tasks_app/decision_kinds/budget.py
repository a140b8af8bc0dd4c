"""Budget: a run has used up what it may; raise it, go on cheaper, or stop."""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from tasks_app.decision_kinds.base import Given, Unanswered
from tasks_app.domain.budget import MAX_TOKENS, MAX_USD, MIN_USD
from tasks_app.domain.errors import Invalid

CHOICES = {"raise": "budget raised", "smaller_model": "to finish with a smaller model", "stop": "stopped"}
GRANTS: frozenset[str] = frozenset()
STANDING: frozenset[str] = frozenset()
UNANSWERED = Unanswered("", "nothing is raised", "nothing was raised")
SHARED = ("team", "server")
"""What several runs use up together: it is asked once, and all of them wait for the answer."""


def title(payload: Mapping[str, Any], agent: str) -> str:
    """`builder-1 has used up the budget of the task`; of one that all share: `The budget of the team is used up`."""
    if payload.get("scope") in SHARED:
        return f"The budget of the {payload['scope']} is used up{' for today' if payload['scope'] == 'server' else ''}"
    scope = str(payload.get("scope", "run"))
    return f"{agent} has used up the budget of the {'attempt' if scope == 'run' else scope}"


def check(given: Given, payload: Mapping[str, Any]) -> Given:
    """A raise needs an amount above zero in USD or tokens, in the unit of the limit that was hit.

    A smaller model needs an attempt that it could finish.
    """
    if given.choice == "smaller_model" and not payload.get("run"):
        raise Invalid("No attempt waits for this. Raise the budget, or stop.", field="choice")
    if given.choice != "raise":
        return Given(given.choice, given.note)
    unit = "tokens" if payload.get("limit_tokens") else "usd"
    value = given.data.get(unit)
    if value in (None, ""):
        raise Invalid(f"Say by how {'many tokens' if unit == 'tokens' else 'many USD'} to raise it.", field=unit)
    if unit == "usd":
        return Given(given.choice, given.note, {"usd": str(_amount(value, least=MIN_USD, most=MAX_USD, field=unit))})
    return Given(
        given.choice, given.note, {"tokens": int(_amount(value, least=Decimal(1), most=Decimal(MAX_TOKENS), field=unit))}
    )


def _amount(value: object, *, least: Decimal, most: Decimal, field: str) -> Decimal:
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        raise Invalid("The amount is not a number.", field=field) from None
    if not amount.is_finite() or not least <= amount <= most:
        raise Invalid(f"The amount must be at least {least} and at most {most:,}.", field=field)
    return amount


def tell(given: Given, payload: Mapping[str, Any]) -> str:
    """What the agent may still use."""
    note = f" {given.who} adds: {given.note}" if given.note else ""
    if given.choice == "raise":
        return f"{given.who} raised the budget. Go on where you stopped; be sparing.{note}"
    if given.choice == "smaller_model":
        return f"{given.who} lets you finish with a smaller model. Go on where you stopped.{note}"
    return f"{given.who} ended this attempt for its budget.{note}"
