"""Reads the answer to a decision out of a posted form; what it means is for its kind to check."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from dashboard.forms import fields
from dashboard.forms.fields import MAX_TEXT
from tasks_app.decision_kinds import plan
from tasks_app.domain import asked
from tasks_app.domain.errors import Invalid
from tasks_app.domain.statuses import DecisionKind
from tasks_app.domain.text import clean

NEEDS_CONFIRMATION = frozenset({"allow", "allow_rule"})

UNCHANGED = (
    "Press “Approve with changes”, or take your changes back.",
    "Press “Approve with changes”, or take your changes back and say in the comments what to change.",
)
"""What to do about a plan whose text was edited, when it is approved as it was or sent back."""


@dataclass(frozen=True)
class Answer:
    """What was posted."""

    choice: str
    note: str
    data: dict[str, Any]
    version: int
    payload_hash: str


def read(kind: DecisionKind, payload: Mapping[str, Any], post: QueryDict) -> Answer:
    """Return the answer; raises `Invalid` for a form that no page of ours makes, or a risky choice without its second step."""
    choice = _choice(post)
    note = fields.text(post, "note")
    data = READERS.get(kind, _nothing)(payload, post)[0]
    answer = Answer(choice, note, data, _version(post), post.get("payload_hash", "")[:64])
    if kind is DecisionKind.PLAN and choice != "approve_changes" and data["plan"] and plan.changed(data["plan"], payload):
        raise Invalid(
            "You changed the plan, and this button would not send your text. " + UNCHANGED[choice == "revise"], field="plan"
        )
    if kind is DecisionKind.PERMISSION and choice in NEEDS_CONFIRMATION and asked.high_risk(payload) and not post.get("confirm"):
        raise Invalid("This call is risky: confirm it with the second button.", field="choice")
    return answer


def posted(kind: DecisionKind, payload: Mapping[str, Any], post: QueryDict) -> dict[str, Any]:
    """Return what the form should show again, without checking anything."""
    return {**READERS.get(kind, _nothing)(payload, post)[1], "note": post.get("note", "")[:MAX_TEXT]}


def _choice(post: QueryDict) -> str:
    choice = post.get("confirm") or post.get("choice") or ""
    if not choice:
        raise Invalid("Choose an answer.", field="choice")
    return choice[:20]


def _version(post: QueryDict) -> int:
    value = post.get("version", "")
    if not (value.isascii() and value.isdigit() and len(value) < 10):
        raise Invalid("The form is incomplete. Reload the page and answer again.", field="version")
    return int(value)


Read = tuple[dict[str, Any], dict[str, Any]]


def _nothing(payload: Mapping[str, Any], post: QueryDict) -> Read:
    return {}, {}


def _plan(payload: Mapping[str, Any], post: QueryDict) -> Read:
    plan = clean(post.get("plan", "")).replace("\r\n", "\n")
    return {"plan": plan}, {"plan": plan}


def _question(payload: Mapping[str, Any], post: QueryDict) -> Read:
    answers: dict[str, Any] = {}
    picked: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    for index, question in enumerate(payload.get("questions") or []):
        name = f"q{index}"
        picked[str(index)] = [_label(question, value) for value in post.getlist(name)]
        texts[str(index)] = clean(post.get(f"{name}_text", "")).strip()[:MAX_TEXT]
        answers[str(question.get("question", ""))] = _answer(question, picked[str(index)], texts[str(index)])
    return {"answers": answers}, {"picked": picked, "texts": texts}


def _answer(question: Mapping[str, Any], picked: list[str], free: str) -> str | list[str]:
    """Several labels where the question takes several; free text goes with them, or stands for them."""
    if question.get("multiSelect"):
        return [*picked, *([free] if free else [])]
    if free and picked:
        return f"{picked[0]} ({free})"
    return free or (picked[0] if picked else "")


def _label(asked: Mapping[str, Any], value: str) -> str:
    """Return the label of the option with that place: labels may hold what forms change on their way (line ends)."""
    options = asked.get("options") or []
    known = value.isascii() and value.isdigit() and len(value) < 4 and int(value) < len(options)
    return str(options[int(value)].get("label", "")) if known else clean(value)


def _escalation(payload: Mapping[str, Any], post: QueryDict) -> Read:
    data = {"option": _label(payload, post.get("option", "")), "text": clean(post.get("text", "")).strip()[:MAX_TEXT]}
    return data, dict(data)


def _budget(payload: Mapping[str, Any], post: QueryDict) -> Read:
    usd = post.get("usd", "").strip().lstrip("$").replace(",", ".")[:20]
    tokens = post.get("tokens", "").strip().replace(" ", "")[:20]
    by = post.get("by", "")[:20]
    data = {name: value for name, value in (("usd", usd), ("tokens", tokens)) if value}
    if by and not data:  # an amount that was typed goes before one on offer
        data["tokens" if payload.get("limit_tokens") and not payload.get("limit_usd") else "usd"] = by
    return dict(data), {"usd": usd, "tokens": tokens, "by": by}


FIELDS = {
    DecisionKind.PLAN: ("plan", "note"),
    DecisionKind.QUESTION: ("answers",),
    DecisionKind.ESCALATION: ("option",),
    DecisionKind.BUDGET: ("usd", "tokens", "note"),
    DecisionKind.PERMISSION: ("note",),
    DecisionKind.STALL: ("note",),
    DecisionKind.REVIEW: ("note",),
}


def fields_of(kind: DecisionKind) -> tuple[str, ...]:
    """Return the fields of a kind's form at which the page says what is wrong with them."""
    return FIELDS.get(kind, ())


READERS = {
    DecisionKind.PLAN: _plan,
    DecisionKind.QUESTION: _question,
    DecisionKind.ESCALATION: _escalation,
    DecisionKind.BUDGET: _budget,
}
