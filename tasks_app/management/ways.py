"""`manage.py decide`: the options of the command that answer each kind of request, and the commands that answer one of them."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks_app.domain.errors import Invalid
from tasks_app.domain.statuses import DecisionKind
from tasks_app.domain.text import one_line
from tasks_app.management.words import COMMAND
from tasks_app.selectors.inbox import Detail

LABEL = 120
"""Characters of an option's label that are shown, and by which it can be picked."""


@dataclass(frozen=True)
class Option:
    """An option of the command: which kinds it answers, with which choice, and its line in the help text."""

    kinds: tuple[DecisionKind, ...]
    choice: str
    help: str
    value: str = ""  # what follows it, for the help text


OPTIONS: Mapping[str, Option] = {
    "allow": Option((DecisionKind.PERMISSION,), "allow", "this once"),
    "allow-rule": Option((DecisionKind.PERMISSION,), "allow_rule", "the rule on offer, for this task"),
    "deny": Option((DecisionKind.PERMISSION,), "deny", "no"),
    "approve": Option((DecisionKind.PLAN, DecisionKind.REVIEW), "approve", "as it is"),
    "approve-with": Option((DecisionKind.PLAN,), "approve_changes", "with the text of this file instead", "FILE"),
    "revise": Option((DecisionKind.PLAN, DecisionKind.REVIEW), "revise", "send it back; say what to change with --note"),
    "pick": Option((DecisionKind.QUESTION, DecisionKind.ESCALATION), "answer", "an option, by a part of its label", "LABEL"),
    "text": Option((DecisionKind.QUESTION, DecisionKind.ESCALATION), "answer", "an answer in your words", "WORDS"),
    "dismiss": Option((DecisionKind.QUESTION,), "dismiss", "let the agent decide"),
    "raise": Option((DecisionKind.BUDGET,), "raise", "by so much, in USD or tokens as the limit is", "AMOUNT"),
    "smaller-model": Option((DecisionKind.BUDGET,), "smaller_model", "finish with a smaller model"),
    "wait": Option((DecisionKind.STALL,), "wait", "give it more time"),
    "retry": Option((DecisionKind.STALL,), "retry", "end this attempt and make it again"),
    "stop": Option((DecisionKind.BUDGET, DecisionKind.STALL), "stop", "end this attempt"),
}


@dataclass(frozen=True)
class Way:
    """A whole command that answers a request, and what it means."""

    command: str
    meaning: str


def named(kind: DecisionKind) -> str:
    """Return the options that answer this kind, for a sentence: `--allow, --allow-rule or --deny`."""
    found = [f"--{name}" for name, option in OPTIONS.items() if kind in option.kinds]
    return " or ".join(filter(None, (", ".join(found[:-1]), found[-1])))


def must_fit(given: Mapping[str, Any], kind: DecisionKind) -> None:
    """Return when every option that was given answers this kind. Raises `Invalid` that names the ones that do."""
    for name, option in OPTIONS.items():
        if given.get(name.replace("-", "_")) and kind not in option.kinds:
            raise Invalid(f"--{name} does not answer {ARTICLE[kind]}. Use {named(kind)}.", field=name)


ARTICLE: Mapping[DecisionKind, str] = {
    DecisionKind.PERMISSION: "a permission",
    DecisionKind.PLAN: "a plan",
    DecisionKind.QUESTION: "a question",
    DecisionKind.ESCALATION: "an escalation",
    DecisionKind.BUDGET: "a budget request",
    DecisionKind.STALL: "the question about a quiet agent",
    DecisionKind.REVIEW: "a review",
}


def of(detail: Detail) -> list[Way]:
    """Return every way to answer an open request, as commands that can be copied."""
    found = MADE[detail.item.kind](detail.payload)
    return [Way(f"{COMMAND} decide {detail.item.id} {words}", meaning) for words, meaning in found]


Made = Sequence[tuple[str, str]]


def _permission(payload: Mapping[str, Any]) -> Made:
    rule = one_line(str(payload.get("rule") or ""), 80)
    return [
        ("--allow", "this call, once"),
        *([("--allow-rule", f"{rule}, for the whole task")] if rule else []),
        ("--deny --note 'why'", "no"),
    ]


def _plan(payload: Mapping[str, Any]) -> Made:
    return [
        ("--approve", "as it is"),
        ("--revise --note 'what to change'", "send it back"),
        ("--approve-with FILE", "with your own text"),
    ]


def _question(payload: Mapping[str, Any]) -> Made:
    questions = payload.get("questions") or []
    if len(questions) == 1:
        picks = [(_pick(label), "") for label in labels(questions[0].get("options"))]
        return [*picks, ("--text 'your answer'", "in your words"), ("--dismiss", "let the agent decide")]
    firsts = [next(iter(labels(question.get("options"))), "") for question in questions]
    words = [_pick(label) for label in firsts if label] + (["--text 'your answer'"] if "" in firsts else [])
    return [(" ".join(words), "one option for each question, such as these"), ("--dismiss", "let the agent decide")]


def _escalation(payload: Mapping[str, Any]) -> Made:
    options = payload.get("options") or []
    picks = [
        (_pick(label), "recommended" if option.get("recommended") else "")
        for label, option in zip(labels(options), options, strict=True)
    ]
    own = [] if payload.get("auto") else [("--text 'what to do'", "in your words; also together with --pick")]
    return [*picks, *own]


def _budget(payload: Mapping[str, Any]) -> Made:
    amount, unit = ("100000", "tokens") if payload.get("limit_tokens") else ("5", "USD")
    return [
        (f"--raise {amount}", f"raise it by {amount} {unit}"),
        ("--smaller-model", "finish with a smaller model"),
        ("--stop", "end this attempt"),
    ]


def _stall(payload: Mapping[str, Any]) -> Made:
    return [("--wait", "give it more time"), ("--retry", "end this attempt, make it again"), ("--stop", "end this attempt")]


def _review(payload: Mapping[str, Any]) -> Made:
    return [("--approve", "the work is as it should be"), ("--revise --note 'what to change'", "send it back")]


MADE = {
    DecisionKind.PERMISSION: _permission,
    DecisionKind.PLAN: _plan,
    DecisionKind.QUESTION: _question,
    DecisionKind.ESCALATION: _escalation,
    DecisionKind.BUDGET: _budget,
    DecisionKind.STALL: _stall,
    DecisionKind.REVIEW: _review,
}


def labels(options: Any) -> list[str]:
    """Return the labels of what is on offer, each as the one harmless line that is shown."""
    return [one_line(str(option.get("label", "")), LABEL) for option in options or []]


def _pick(label: str) -> str:
    return f"--pick {shlex.quote(label)}"
