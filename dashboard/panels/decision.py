"""One decision: what is asked, what is known about it, and the answers; once closed, who decided what, when and why."""

from typing import Any

from django.utils import timezone

from dashboard.access import Viewer
from dashboard.forms import budgets
from dashboard.panels.base import Block
from tasks_app.domain.statuses import DecisionKind
from tasks_app.selectors import inbox
from tasks_app.services import keys


class Decision:
    """Bound to its id: nothing else ever takes its place on the page."""

    name = "decision"
    template = "panels/decision.html"

    def block(self, decision_id: str, team_pk: int) -> Block:
        """Return the block of one decision."""
        return Block(f"decision-{decision_id}", self.name, (decision_id,), frozenset({keys.decision(decision_id)}), team_pk)

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any] | None:
        """Return the decision with its history, or None when it is gone."""
        found = inbox.detail(str(block.args[0]))
        if found is None:
            return None
        item = found.item
        return {
            "detail": found,
            "item": item,
            "payload": found.payload,
            "snoozed": item.snoozed_until is not None and item.snoozed_until > timezone.now(),
            "warnings": found.warnings,
            "high_risk": found.high_risk,
            "offers": budgets.offers(found.payload) if item.kind is DecisionKind.BUDGET else (),
            "body": f"decisions/{item.kind.value}.html",
        }
