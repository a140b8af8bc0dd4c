"""`manage.py decide`: what is shown of a request, and the answer that the options of the command stand for."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tasks_app.decision_kinds import registry
from tasks_app.domain import asked
from tasks_app.domain.errors import Invalid, Problems
from tasks_app.domain.statuses import DecisionKind
from tasks_app.domain.text import one_line
from tasks_app.management import ways, words
from tasks_app.management.words import COMMAND
from tasks_app.selectors.inbox import Detail, Item

WIDTH = 100
"""Up to here the meanings of the commands stand under each other."""


@dataclass(frozen=True)
class Typed:
    """What was typed: the choice, the lead's words, options picked, free text, and data as JSON."""

    choice: str
    note: str = ""
    picks: Sequence[str] = ()
    text: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


def typed(given: Mapping[str, Any], kind: DecisionKind) -> Typed | None:
    """Return what the command's options say; None when there is no answer in them. Raises `Invalid`."""
    ways.must_fit(given, kind)
    said = {f"--{name}": one.choice for name, one in ways.OPTIONS.items() if given.get(name.replace("-", "_"))}
    said |= {f"--choice {given['choice']}": given["choice"]} if given.get("choice") else {}
    if len(set(said.values())) > 1:
        raise Invalid(f"Say one thing: {' and '.join(said)} do not go together.", field="choice")
    data = _data(given.get("data") or "")
    if not said:
        if given.get("note") or data:
            raise Invalid(f"Say what you decide as well: {ways.named(kind)}.", field="choice")
        return None
    if given.get("raise"):
        data["amount"] = given["raise"]
    if given.get("approve_with"):
        data["plan"] = _file(given["approve_with"])
    return Typed(next(iter(said.values())), given.get("note") or "", given.get("pick") or (), given.get("text") or "", data)


def stored(typed: Typed, detail: Detail) -> tuple[str, str, dict[str, Any]]:
    """Return choice, note and data in their stored form. Raises `Invalid` where an option is not on offer."""
    data = dict(typed.data)
    kind = detail.item.kind
    if kind is DecisionKind.ESCALATION:
        if typed.picks:
            if len(typed.picks) > 1:
                raise Invalid("Only one option can be chosen here: use --pick once.", field="pick")
            data["option"] = _one_of(typed.picks[0], _labels(detail.payload.get("options")), field="pick")
        data["text"] = typed.text or data.get("text", "")
    elif kind is DecisionKind.QUESTION and (typed.picks or typed.text):
        data["answers"] = _answers(typed, detail.payload.get("questions") or [])
    elif "amount" in data:
        data["tokens" if detail.payload.get("limit_tokens") else "usd"] = data.pop("amount")
    return typed.choice, typed.note, data


def listing(items: Sequence[Item], ages: Mapping[str, str]) -> list[str]:
    """Return one harmless line for each request that waits."""
    width = max((len(item.team_slug) for item in items), default=0)
    lines = [
        f"{item.id}  {item.kind.value:<10} {ages[item.id]:>12}  {item.team_slug:<{width}}  {item.task_label:<5} "
        f"{one_line(item.title, 120)}{words.signs(item)}"
        for item in items
    ]
    return [*lines, f"Look at one, with the commands that answer it: {COMMAND} decide ID"] if lines else []


def shown(detail: Detail) -> list[str]:
    """Return a request as lines: what is asked, what can be answered, and how."""
    item = detail.item
    about = ", ".join(word for word in (item.team_name, item.task_label) if word)
    head = f"{item.id}  {item.kind.value} of {item.agent or 'Crewdesk'}, {one_line(about, 160)}{words.signs(item)}"
    its_own_title = item.kind is DecisionKind.ESCALATION and detail.payload.get("problem")  # it is the problem, said below
    lines = [head, *([] if its_own_title else [one_line(item.title, 300)]), ""]
    lines += [*_content(item.kind, detail.payload), *_risks(detail)]
    if item.open:
        return [*lines, "", *_ways(detail)]
    how = f"{said(detail)}, by {detail.answered_by}" if detail.answered_by else detail.closed_why
    return [*lines, "", f"{item.status.value}: {how}"]


def said(detail: Detail) -> str:
    """Return what was answered, in words: the option, the text, the amount, and the note beside it."""
    given, word = detail.answer, registry.choice_word(detail.choice)
    if detail.item.kind is DecisionKind.ESCALATION:
        chosen = [str(given.get(name) or "") for name in ("option", "text")]
    elif detail.item.kind is DecisionKind.QUESTION:
        answers = (given.get("answers") or {}).items()
        chosen = [f"{one_line(q, 80)} {', '.join(a) if isinstance(a, list) else a}" for q, a in answers]
    else:
        amounts = [f"${given['usd']}"] if given.get("usd") else [f"{given['tokens']} tokens"] if given.get("tokens") else []
        chosen = [" by ".join([word, *amounts])]
    return "; ".join(one_line(text, 300) for text in (*(chosen if any(chosen) else [word]), detail.note) if text)


def as_json(detail: Detail) -> dict[str, Any]:
    """Return a request as plain JSON values."""
    return {
        **item_json(detail.item),
        "payload": detail.visible,
        "warnings": list(detail.warnings),
        "version": detail.version,
        "choices": list(registry.get(detail.item.kind.value).CHOICES),
        "commands": [way.command for way in ways.of(detail)] if detail.item.open else [],
        "choice": detail.choice or None,
        "note": detail.note,
        "answer": detail.answer,
        "answered_by": detail.answered_by or None,
        "closed_why": detail.closed_why or None,
    }


def item_json(item: Item) -> dict[str, Any]:
    """Return a row of the inbox as plain JSON values."""
    return {
        "id": item.id,
        "kind": item.kind.value,
        "status": item.status.value,
        "title": item.title,
        "team": item.team_slug,
        "task": item.task_label or None,
        "agent": item.agent or None,
        "opened_at": item.opened_at.isoformat(),
        "snoozed_until": item.snoozed_until.isoformat() if item.snoozed and item.snoozed_until else None,
        "parked": item.parked,
        "tasks_behind": item.behind,
    }


def _ways(detail: Detail) -> list[str]:
    found = ways.of(detail)
    width = min(WIDTH, max(len(way.command) for way in found))
    lines = [f"  {way.command:<{width}}  # {way.meaning}" if way.meaning else f"  {way.command}" for way in found]
    note = " --note 'words' tells the agent more."
    if detail.item.kind is DecisionKind.ESCALATION:
        note = " --text 'your guidance' beside --pick tells the agent more."
    seen = f"With --seen {detail.version} your answer is refused if the request has changed since you read it."
    return ["Answer it with one of:", *lines, f"{seen}{note}"]


def _content(kind: DecisionKind, payload: Mapping[str, Any]) -> list[str]:
    if kind is DecisionKind.PLAN:
        return _text(payload.get("plan"))
    if kind is DecisionKind.QUESTION:
        return [line for question in payload.get("questions") or [] for line in _question(question)]
    if kind is DecisionKind.ESCALATION:
        tried = [f"  tried: {asked.whole_line(str(each), 400)}" for each in payload.get("tried") or []]
        plan = ["The plan:", *_text(payload["plan"])] if payload.get("plan") else []
        best = (
            [f"  recommended: {asked.whole_line(str(payload['recommendation']), 2000)}"] if payload.get("recommendation") else []
        )
        return [*_text(payload.get("problem")), *tried, *plan, *best, *_options(payload.get("options"))]
    if kind is DecisionKind.PERMISSION:
        rule = [f"  rule on offer: {asked.whole_line(str(payload['rule']), 300)}"] if payload.get("rule") else []
        return [f"{asked.line(str(payload.get('tool')), 200)}:", *_text(asked.pretty(payload.get("input"))), *rule]
    if kind is DecisionKind.BUDGET:
        return [f"  {_budget(payload)}"]
    return _text(asked.pretty(payload))


def _risks(detail: Detail) -> list[str]:
    word = "High risk" if detail.high_risk else "Risk"
    return [f"  {word}: {asked.whole_line(one, 400)}" for one in detail.risks]


def _budget(payload: Mapping[str, Any]) -> str:
    """`$21.00 of $20.00 used, over by $1.00`."""
    used, limit = ([float(payload.get(f"{name}_{unit}") or 0) for unit in ("usd", "tokens")] for name in ("used", "limit"))
    in_usd = bool(limit[0])
    text = f"${used[0]:,.2f} of ${limit[0]:,.2f} used" if in_usd else f"{used[1]:,.0f} of {limit[1]:,.0f} tokens used"
    over = words.overshoot(float(payload.get("over_usd") or 0), float(payload.get("over_tokens") or 0))
    return ", ".join([text, *([over] if over else [])])


def _question(question: Mapping[str, Any]) -> list[str]:
    several = "  (several may be chosen)" if question.get("multiSelect") else ""
    return [f"{asked.whole_line(str(question.get('question', '')), 2000)}{several}", *_options(question.get("options"))]


def _options(options: Any) -> list[str]:
    lines = []
    for option in options or []:
        label = one_line(str(option.get("label", "")), ways.LABEL)
        effect = asked.whole_line(str(option.get("effect") or option.get("description") or ""), 400)
        best = "  (recommended)" if option.get("recommended") else ""
        lines.append(f"  - {': '.join(word for word in (label, effect) if word)}{best}")
        lines += [f"    Cost: {asked.whole_line(str(option['cost']), 300)}"] if option.get("cost") else []
    return lines


def _text(value: Any) -> list[str]:
    text = asked.visible(str(value or ""), prose=True).rstrip("\n")
    return [f"  {line}" for line in text.split("\n")] if text else []


def _labels(options: Any) -> list[str]:
    return [str(option.get("label", "")) for option in options or []]


def _one_of(pick: str, labels: Sequence[str], *, field: str) -> str:
    """Return the label that `pick` names: exactly (as it is, or as it is shown), or as the only one that contains it."""
    found = [label for label in labels if pick in (label, one_line(label, ways.LABEL))]
    found = found or [label for label in labels if pick.casefold() in label.casefold()]
    if len(found) != 1:
        what = "is not on offer" if not found else f"could be {' or '.join(found)}"
        raise Invalid(f"“{one_line(pick, 60)}” {what}. There are: {', '.join(labels) or 'none'}.", field=field)
    return found[0]


def _names(pick: str, labels: Sequence[str]) -> bool:
    return any(pick == one_line(label, ways.LABEL) or pick.casefold() in label.casefold() for label in labels)


def _answers(typed: Typed, questions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Give every question its picks: those on offer there; free text goes to the questions without a pick."""
    left, answers, problems = list(typed.picks), {}, Problems()
    for index, question in enumerate(questions):
        labels = _labels(question.get("options"))
        mine = [pick for pick in left if _names(pick, labels)]
        mine = mine if question.get("multiSelect") else mine[:1]
        chosen = [_one_of(pick, labels, field="pick") for pick in mine]
        left = [pick for pick in left if pick not in mine]
        value = (chosen if question.get("multiSelect") else chosen[0]) if chosen else typed.text
        if not value:
            asked = one_line(str(question.get("question", "")), 80)
            problems.add(f"“{asked}” has no answer.", path=f"questions[{index}]", fix="Use --pick or --text.")
        answers[str(question.get("question", ""))] = value
    for pick in left:
        problems.add(f"“{one_line(pick, 60)}” is not an option of these questions.", path="pick")
    problems.raise_if_any("Not every question is answered.")
    return answers


def _file(path: str) -> str:
    try:
        return Path(path).read_text("utf-8")
    except (OSError, ValueError) as error:
        raise Invalid(
            f"The file {path} cannot be read: {getattr(error, 'strerror', None) or error}.", field="approve-with"
        ) from None


def _data(text: str) -> dict[str, Any]:
    if not text:
        return {}
    try:
        value = json.loads(text)
    except ValueError as error:
        raise Invalid(f"--data is not JSON: {error}.", field="data") from None
    if not isinstance(value, dict):
        raise Invalid('--data must be a JSON object such as {"usd": "5"}.', field="data")
    return value
