"""Question: an agent asks one or several questions, each with options or free text."""

from collections.abc import Mapping
from typing import Any

from tasks_app.decision_kinds.base import Given, Unanswered
from tasks_app.domain.asked import visible
from tasks_app.domain.errors import Invalid, Problems
from tasks_app.domain.text import one_line

CHOICES = {"answer": "answered", "dismiss": "left to the agent"}
GRANTS: frozenset[str] = frozenset()
STANDING: frozenset[str] = frozenset()
UNANSWERED = Unanswered("dismiss", "the agent decides itself", "it was left to the agent")


def title(payload: Mapping[str, Any], agent: str) -> str:
    """The first question, and how many more."""
    questions = payload.get("questions") or [{}]
    more = f" (+{len(questions) - 1} more)" if len(questions) > 1 else ""
    return f"{agent} asks: {one_line(str(questions[0].get('question', '')), 200)}{more}"


def check(given: Given, payload: Mapping[str, Any]) -> Given:
    """Every question needs an answer: a label, several labels, or free text."""
    if given.choice == "dismiss":
        return Given(given.choice, given.note)
    problems, stored = Problems(), {}
    answers = given.data.get("answers") or {}
    if not isinstance(answers, Mapping):
        raise Invalid("The answers must be given by question: {question: answer}.", field="answers")
    for index, question in enumerate(payload.get("questions") or []):
        text = str(question.get("question", ""))
        value = answers.get(text, answers.get(visible(text, prose=True)))  # as it was asked, or as it is shown
        value = [str(v).strip() for v in value if str(v).strip()] if isinstance(value, list) else str(value or "").strip()
        if not value:
            problems.add(f"“{one_line(text, 80)}” has no answer.", path=f"answers[{index}]", fix="Choose an option or write one.")
        stored[text] = value
    problems.raise_if_any("Not every question is answered.")
    return Given(given.choice, given.note, {"answers": stored})


def tell(given: Given, payload: Mapping[str, Any]) -> str:
    """Each question with its answer."""
    note = f"\n{given.who} adds: {given.note}" if given.note else ""
    if given.choice == "dismiss":
        return f"{given.who} did not answer your questions: decide yourself and say what you assumed.{note}"
    lines = [f"- {q}\n  Answer: {', '.join(a) if isinstance(a, list) else a}" for q, a in given.data["answers"].items()]
    return f"{given.who} answered your questions:\n" + "\n".join(lines) + note
