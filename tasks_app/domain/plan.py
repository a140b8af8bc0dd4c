"""The plan file: reading it, refusing a bad one with every error at once, and describing its form.

`parse` is the only way in. The form itself is in `plan_model`, what must hold between its parts in `plan_check`.
"""

from collections.abc import Collection
from typing import Any, Final

from pydantic import ValidationError

from tasks_app.domain import criteria, plan_check, plan_words, task_review
from tasks_app.domain.errors import Invalid, Problem, Problems
from tasks_app.domain.plan_lines import Document, Path, dotted, read
from tasks_app.domain.plan_model import Agent, Budget, Limits, Permissions, Plan, Task, Workspace
from tasks_app.domain.text import one_line

__all__ = ["Agent", "Budget", "Limits", "Permissions", "Plan", "Task", "Workspace", "json_schema", "parse", "review"]

SCHEMA_ID: Final = "https://crewdesk.invalid/plan.schema.json"
MAX_PROBLEMS: Final = 200
"""A file that is no plan at all would otherwise be answered by pages of them."""


def parse(text: str | bytes, *, known_types: Collection[str], source: str = "plan.yaml") -> Plan:
    """Return the plan in a YAML text. `known_types` are the task types there are; `source` is the name used in the message.

    Raises `Invalid` whose `problems` name every error at once, in the order of lines, each with line, path and fix.
    """
    document = read(text, name=source)
    if not isinstance(document.value, dict):
        raise _not_a_plan(document, source)
    found = Problems()
    plan = _validated(document, found)
    _check(document, known_types, found)
    problems = _in_order(found.items)
    if problems or plan is None:
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        raise Invalid(f"{source} has {count}.", field="plan", problems=tuple(problems[:MAX_PROBLEMS]))
    return plan


def review(plan: Plan) -> tuple[task_review.Finding, ...]:
    """Return what could be written better in the tasks of a plan that is right as it is; docs/good-tasks.md."""
    written = [
        task_review.Written(
            task.label,
            task.title,
            task.description,
            criteria.texts(task.stored_criteria),
            task.expected_minutes,
            needs=needs,
        )
        for task, needs in zip(plan.tasks, plan.needs(), strict=True)
    ]
    return task_review.review(written, agents=min(len(plan.agents), plan.limits.parallel))


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a plan file, for editors and for docs."""
    schema = Plan.model_json_schema(mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA_ID, **schema, "title": "Crewdesk plan"}


def _not_a_plan(document: Document, source: str) -> Invalid:
    if document.value is None:
        problem = Problem("The plan is empty.", fix="Start with team, agents and tasks.")
    else:
        problem = Problem("A plan is a mapping of fields.", line=document.line(()), fix="Start with team, agents and tasks.")
    return Invalid(f"{source}: {problem}", field="plan", problems=(problem,))


def _validated(document: Document, found: Problems) -> Plan | None:
    try:
        return Plan.model_validate(document.value)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            if detail["type"] == "too_short" and detail["input"]:
                continue  # only because its items are refused, each of which is named itself
            _add(found, document, *plan_words.words(detail))
        return None


def _check(document: Document, known_types: Collection[str], found: Problems) -> None:
    def report(path: Path, message: str, fix: str) -> None:
        _add(found, document, path, message, fix)

    plan_check.check(document.value, known_types=known_types, report=report)


def _add(found: Problems, document: Document, path: Path, message: str, fix: str) -> None:
    found.add(one_line(message, 500), path=dotted(path), line=document.line(path), fix=one_line(fix, 300))


def _in_order(problems: list[Problem]) -> list[Problem]:
    return sorted(dict.fromkeys(problems), key=lambda problem: problem.line or 0)
