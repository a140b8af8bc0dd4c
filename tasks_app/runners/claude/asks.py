"""The four things an agent can ask the lead: what is shown, and what each answer means for the call that asked.

Unknown answers and malformed questions are refusals. Only an explicit word of the lead lets a call happen.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from claude_agent_sdk import PermissionResultAllow, PermissionResultDeny

from tasks_app.domain import asked
from tasks_app.domain.deciders import speaker
from tasks_app.domain.planning import APPROVE_LAST
from tasks_app.domain.text import clean, one_line
from tasks_app.runners.port import Answer

Result = PermissionResultAllow | PermissionResultDeny

NOT_ANSWERED = "The lead has not answered your questions. Decide yourself what is sensible and say what you assumed."
PLAN_HELD = "Plan mode stays on: change nothing yet. Present a revised plan with ExitPlanMode."
IN_PLAN_MODE = (
    "Refused: you are in plan mode, so nothing may be changed or run yet (commands that only read are fine). "
    "Finish the plan and present it with ExitPlanMode."
)
UNSETTLED = "Refused: no rule of this team allows this call, and nobody is asked for it here. Find another way."
NO_PLAN = "ExitPlanMode came without a plan. Write the plan first and pass it as `plan`."


def permission(answer: Answer, given: Mapping[str, Any]) -> Result:
    """Allow exactly what was shown, or deny with the lead's words."""
    if answer.choice in ("allow", "allow_rule"):
        return PermissionResultAllow(updated_input=dict(given))
    return PermissionResultDeny(
        message=f"{speaker(answer.by)} denied this call.{_note(answer)} Do not repeat it; find another way."
    )


def question_payload(given: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return `{"questions": […]}` as it is shown, None where the call has no question in it."""
    questions = given.get("questions")
    kept = (
        [dict(one) for one in questions if isinstance(one, dict) and one.get("question")] if isinstance(questions, list) else []
    )
    return {"questions": kept} if kept else None


def question(answer: Answer, given: Mapping[str, Any]) -> Result | None:
    """Put the answers into the call; None where the answer leaves a question open, so that it is asked again."""
    if answer.choice == "dismiss":
        return PermissionResultDeny(message=NOT_ANSWERED + _note(answer))
    found = answer.data.get("answers")
    said = {str(name): _answer_text(value) for name, value in found.items()} if isinstance(found, Mapping) else {}
    texts = [str(one.get("question")) for one in given.get("questions", ()) if isinstance(one, dict)]
    answers = {text: said.get(asked.as_asked(text, prose=True), "") for text in texts}  # the lead has read them as they are shown
    if answer.choice != "answer" or not all(answers.values()):
        return None
    return PermissionResultAllow(updated_input={**given, "answers": answers})


def plan(answer: Answer, given: Mapping[str, Any]) -> Result:
    """Leave plan mode with the plan as approved, or stay in it with the lead's comments."""
    if answer.choice == "approve":
        return PermissionResultAllow(updated_input=dict(given))
    edited = answer.data.get("plan")
    if answer.choice == "approve_changes" and isinstance(edited, str) and edited.strip():
        return PermissionResultAllow(updated_input={**given, "plan": clean(edited)})
    return PermissionResultDeny(message=f"{speaker(answer.by)} sent the plan back.{_note(answer)} {PLAN_HELD}")


def stuck_plan_payload(text: str, comments: Sequence[str]) -> dict[str, Any]:
    """Return the escalation that stands where a plan would be sent back once too often."""
    return {
        "problem": f"The plan was sent back {len(comments)} times and is presented again. The agent does not find what you want.",
        "tried": [one_line(f"Version {number}: {comment}", 500) for number, comment in enumerate(comments, start=1)],
        "options": [
            {"label": APPROVE_LAST, "effect": "The agent carries out the last version."},
            {"label": "Give new guidance", "effect": "Write it below; the agent plans again."},
            {"label": "Stop planning", "effect": "The agent gives the task back."},
        ],
        "recommendation": "",
        "plan": text,
    }


def stuck_plan(answer: Answer, given: Mapping[str, Any]) -> Result:
    """What the lead's choice about a stuck plan means for the call that presented it."""
    option = str(answer.data.get("option") or "")
    if answer.choice == "answer" and option == APPROVE_LAST:
        return PermissionResultAllow(updated_input=dict(given))
    return PermissionResultDeny(message=f"{escalation_text(answer)} {PLAN_HELD}")


def escalation_payload(given: Mapping[str, Any]) -> dict[str, Any] | str:
    """Return what is shown of an escalation, or what is wrong with the call, naming the field."""
    problem = given.get("problem")
    if not isinstance(problem, str) or not problem.strip():
        return "problem: say in one or two sentences what you need decided."
    options = given.get("options")
    if not isinstance(options, list) or not options:
        return 'options: give at least one, each {"label": …, "effect": …, "cost": …}.'
    kept: list[dict[str, Any]] = []
    for index, option in enumerate(options):
        one = {"label": option} if isinstance(option, str) else option
        if not isinstance(one, dict) or not str(one.get("label") or "").strip():
            return f"options[{index}].label: name the option."
        kept.append({name: one[name] for name in ("label", "effect", "cost", "recommended") if name in one})
    tried = given.get("tried")
    return {
        "problem": problem,
        "tried": [str(one) for one in tried] if isinstance(tried, list) else [str(tried)] if tried else [],
        "options": kept,
        "recommendation": str(given.get("recommendation") or ""),
    }


def escalation_text(answer: Answer) -> str:
    """Return the lead's choice in words, as the result of the call."""
    option, text = str(answer.data.get("option") or ""), str(answer.data.get("text") or "")
    who = speaker(answer.by)
    parts = [f"{who} chose: {option}." if option else "", f"{who} says: {text}" if text else "", _note(answer).strip()]
    return clean(" ".join(part for part in parts if part)) or "The lead answered without choosing: decide yourself."


def note_text(answer: Answer) -> str:
    """Return what the lead adds to an answer, for the agent's context; empty where nothing."""
    return _note(answer).strip()


def _note(answer: Answer) -> str:
    return f" {speaker(answer.by)} adds: {clean(answer.note)}" if answer.note.strip() else ""


def _answer_text(value: Any) -> str:
    """Several labels are one answer, as Claude Code itself joins them."""
    if isinstance(value, list | tuple):
        return ", ".join(str(one).strip() for one in value if str(one).strip())
    return str(value).strip() if value is not None else ""
