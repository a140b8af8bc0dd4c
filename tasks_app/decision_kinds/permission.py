"""Permission: an agent wants to make a call that its rules do not settle."""

import json
from collections.abc import Mapping
from typing import Any

from tasks_app.decision_kinds.base import Given, Unanswered
from tasks_app.domain.errors import Invalid
from tasks_app.domain.text import one_line

CHOICES = {"allow": "allowed once", "allow_rule": "allowed in this task", "deny": "denied"}
GRANTS = frozenset({"allow", "allow_rule"})
NOT_MADE = "It was not made yet: make it now, exactly so, once."
MADE_BEFORE = (
    "Your process ended after it was told so: whether the call took effect is not known. Look first. Only if it did not, make it "
    "now, exactly so, once."
)
STANDING = frozenset({"allow_rule"})
UNANSWERED = Unanswered("deny", "it is denied", "it counts as denied")


def title(payload: Mapping[str, Any], agent: str) -> str:
    """`builder-2 wants to run: rm -rf build/`; a file of the working folder is named from there."""
    tool, given = str(payload.get("tool", "a tool")), payload.get("input") or {}
    if tool == "Bash":
        return f"{agent} wants to run: {one_line(str(given.get('command', '')), 160)}"
    target = str(given.get("file_path") or given.get("path") or given.get("url") or "")
    if cwd := payload.get("cwd"):  # a narrow list shows only how a path begins
        target = target.removeprefix(f"{cwd}/")
    return f"{agent} wants to use {tool}{': ' + one_line(target, 160) if target else ''}"


def check(given: Given, payload: Mapping[str, Any]) -> Given:
    """`allow_rule` needs a rule on offer."""
    if given.choice == "allow_rule" and not payload.get("rule"):
        raise Invalid("No rule is offered for this call. Allow it once or deny it.", field="choice")
    return Given(given.choice, given.note)


def tell(given: Given, payload: Mapping[str, Any]) -> str:
    """Say what was allowed or denied; the exact call stands in the text so that it can be repeated."""
    call = (
        f"{payload.get('tool')} with exactly this input: {json.dumps(payload.get('input'), ensure_ascii=False, sort_keys=True)}"
    )
    note = f" {given.who} adds: {given.note}" if given.note else ""
    if given.choice in GRANTS:
        return f"{given.who} ALLOWED your call of {call}. {MADE_BEFORE if given.handed else NOT_MADE}{note}"
    return f"{given.who} DENIED your call of {call}. Do not make it; find another way or say why you cannot.{note}"
