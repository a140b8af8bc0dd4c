"""Crew tools on tasks, with Claude Code's own field names."""

import json
from typing import Any, Literal

from pydantic import Field

from tasks_app.domain import criteria as rules
from tasks_app.domain.errors import Forbidden, Invalid
from tasks_app.domain.plan_model import fold
from tasks_app.domain.statuses import UNFINISHED
from tasks_app.domain.task_review import Finding
from tasks_app.selectors import crew
from tasks_app.services import drafts, runs, task_edits, tasks
from tasks_app.tools import context
from tasks_app.tools.base import Arguments, Caller, CrewTool, find_task

# an agent that waited in here would keep its place under the team's cap, perhaps from the very task that it waits for
NOT_YET = (
    "This task is not finished, and this tool does not wait for it, whatever `block` and `timeout` say. Do what does not need it "
    "and look again afterwards, not in a loop. If nothing is left to do without it: TaskUpdate your own task with addBlockedBy, "
    'then with status "pending" and metadata.failure (an attempt); it is started again when the other one is completed.'
)


class Create(Arguments):
    """A new task."""

    subject: str = Field(description="What is to be done, in a few words")
    description: str = Field(description="Everything a colleague needs to do it without asking")
    activeForm: str = ""
    criteria: list[str] = Field(default_factory=list, description="Acceptance criteria, each one checkable")
    addBlockedBy: list[str] = Field(default_factory=list, description="Ids of tasks that must be completed first")
    role: str = Field(default="", description="Role that should do it; empty: anyone")
    metadata: dict[str, Any] = Field(default_factory=dict)


class Get(Arguments):
    """One task."""

    taskId: str


class List(Arguments):
    """All tasks."""


class Output(Arguments):
    """What a task has yielded."""

    task_id: str
    block: bool = Field(default=False, description="This tool never waits: the answer says when to look again")
    timeout: float | None = Field(default=None, description="See block")


class Stop(Arguments):
    """Give the own task back."""

    task_id: str


class Update(Arguments):
    """A report on the own task, or an edit."""

    taskId: str
    status: Literal["pending", "in_progress", "completed", "deleted"] | None = None
    subject: str | None = None
    description: str | None = None
    activeForm: str | None = None
    owner: str | None = None
    addBlocks: list[str] = Field(default_factory=list)
    addBlockedBy: list[str] = Field(default_factory=list)
    metadata: dict[str, Any] = Field(default_factory=dict)
    evidence: dict[str, str] | list[str] = Field(
        default_factory=dict,
        description="With status completed: for each acceptance criterion (its number or text) how you know it is met; with "
        "status pending: for those that are met",
    )
    verdict: Literal["accept", "send_back"] | None = Field(
        default=None, description="Only where your task is a review: whether the work is as it should be"
    )
    summary: str = Field(default="", description="With status completed: what the tasks that depend on this one need to know")
    export_to_context: dict[str, Any] = Field(
        default_factory=dict, description="With status completed: named values for the tasks that depend on this one"
    )


def _create(caller: Caller, args: Create) -> str:
    draft = tasks.Draft(
        title=args.subject,
        description=args.description,
        criteria=tuple(c for c in args.criteria if c.strip()),
        depends_on=tuple(find_task(caller, label) for label in args.addBlockedBy),
        role=args.role,
        active_form=args.activeForm,
        metadata=args.metadata,
    )
    task = tasks.create(caller.team_id, draft, actor=caller.actor)
    said = {"taskId": str(task.number), "subject": task.title, "status": task.status}
    if hints := drafts.findings(drafts.of(task), label=task.label, task_id=task.pk):
        return json.dumps({**said, "hints": [_hint(one) for one in hints]}, ensure_ascii=False)
    return json.dumps(said)


def _hint(one: Finding) -> str:
    """A finding in the words of this tool's own fields."""
    text = f"{one.path}: {one.says} {one.write}".replace("depends_on", "addBlockedBy")
    return f"{text} Poor: {one.example.poor}. Good: {one.example.good}."


def _get(caller: Caller, args: Get) -> str:
    return json.dumps(crew.task_detail(find_task(caller, args.taskId)), ensure_ascii=False, indent=1)


def _list(caller: Caller, args: List) -> str:
    return json.dumps(crew.task_list(caller.team_id), ensure_ascii=False, indent=1)


def _output(caller: Caller, args: Output) -> str:
    found = crew.task_output(find_task(caller, args.task_id))
    if found["status"] in UNFINISHED:
        found["notice"] = NOT_YET
    return json.dumps(found, ensure_ascii=False, indent=1)


def _stop(caller: Caller, args: Stop) -> str:
    if find_task(caller, args.task_id) != caller.task_id:
        raise Forbidden("Only the lead stops the tasks of others. You may give your own back with TaskUpdate.", field="task_id")
    return _give_back(caller, Update(taskId=args.task_id, metadata={"failure": "stopped by the agent itself"}))


def _update(caller: Caller, args: Update) -> str:
    task_id = find_task(caller, args.taskId)
    if args.owner:
        raise Forbidden("Only the lead assigns tasks. Use SendMessage or Escalate to ask for it.", field="owner")
    if args.status == "deleted":
        raise Forbidden("Only the lead removes tasks.", field="status")
    if args.status and task_id != caller.task_id:
        raise Forbidden(f"T-{caller.task_number} is your task; the status of others is theirs to report.", field="status")
    said = _edit(caller, task_id, args)
    if args.export_to_context and args.status != "completed":
        raise Invalid("export_to_context goes with status completed. Use ShareContext before.", field="export_to_context")
    if args.status == "completed":
        said += [context.export(caller, args.export_to_context)] if args.export_to_context else []
        return " ".join([*said, _complete(caller, args)])
    if args.status == "pending":
        return " ".join([*said, _give_back(caller, args)])
    if args.status == "in_progress":
        runs.report(caller.run_id, caller.fence, None)
        said.append("You are working on it.")
    return " ".join(said) or "Nothing to change."


def _edit(caller: Caller, task_id: int, args: Update) -> list[str]:
    said: list[str] = []
    words = {"title": args.subject, "description": args.description, "active_form": args.activeForm}
    given: dict[str, Any] = {name: value for name, value in words.items() if value is not None}
    if args.metadata and args.status != "pending":  # with pending it says why the task is given back
        given["metadata"] = args.metadata
    if given and task_id != caller.task_id and crew.created_by(task_id) != caller.actor:
        raise Forbidden("You may change only your own task and tasks that you created.", field="taskId")
    if given:
        task_edits.edit(task_id, actor=caller.actor, **given)
        said.append("Changed.")
    if args.addBlockedBy:
        task_edits.add_dependencies(task_id, needs=[find_task(caller, t) for t in args.addBlockedBy], actor=caller.actor)
        said.append("It waits for these now.")
    for label in args.addBlocks:
        task_edits.add_dependencies(find_task(caller, label), needs=[task_id], actor=caller.actor)
        said.append(f"{label} waits for it now.")
    return said


def given_evidence(args: Update) -> dict[str, str]:
    """Return the evidence by criterion; a list goes by the order of the criteria."""
    return {str(n): text for n, text in enumerate(args.evidence, 1)} if isinstance(args.evidence, list) else args.evidence


def _complete(caller: Caller, args: Update) -> str:
    evidence = given_evidence(args)
    results = {one.number: one for one in caller.proofs}
    wanted = crew.criteria(caller.task_id)
    left = rules.unmet(wanted, evidence, results)
    reviewers = {str(one.criterion.number): name for one in left if (name := one.criterion.reviewed_by(caller.agent))}
    if left := [one for one in left if str(one.criterion.number) not in reviewers]:
        listed = "\n".join(str(one) for one in left)
        are = "is" if len(left) == 1 else "are"
        raise Invalid(
            f"It cannot be completed: {len(left)} of its {len(wanted)} criteria {are} not met.\n{listed}\nMend what is missing "
            "and report again with `evidence` for each, or give the task back and say why it cannot be met.",
            field="evidence",
        )
    proved = {str(one.number): one.says for one in caller.proofs}
    value = {"status": "completed", "evidence": evidence | proved, "summary": args.summary, **_verdict(caller, args)}
    runs.report(caller.run_id, caller.fence, value | ({"reviewers": reviewers} if reviewers else {}))
    if reviewers:
        names = " and ".join(dict.fromkeys(reviewers.values()))
        return f"Reported: T-{caller.task_number} is reviewed by {names} now. End your turn now."
    return f"Reported: T-{caller.task_number} is completed. End your turn now."


def _verdict(caller: Caller, args: Update) -> dict[str, str]:
    """A review has a verdict, and nothing else has one."""
    if not crew.is_review(caller.task_id):
        if args.verdict:
            raise Invalid("Only a review has a verdict, and your task is none.", field="verdict")
        return {}
    if args.verdict is None:
        raise Invalid('Your task is a review: say `verdict` "accept" or "send_back".', field="verdict")
    if args.verdict == "send_back" and not args.summary.strip():
        raise Invalid("Say in `summary` what is to be changed.", field="summary")
    return {"verdict": args.verdict}


def _give_back(caller: Caller, args: Update) -> str:
    failure = str(args.metadata.get("failure") or args.summary or "").strip()
    if not failure:
        raise Invalid(
            "Say why in metadata.failure, and what you tried in metadata.approaches (a list).", field="metadata.failure"
        )
    approaches = args.metadata.get("approaches") or []
    if not isinstance(approaches, list):
        raise Invalid("metadata.approaches must be a list of texts.", field="metadata.approaches")
    value: dict[str, Any] = {
        "status": "pending",
        "failure": failure,
        "approaches": [str(a) for a in approaches],
        "summary": args.summary,
    }
    if args.evidence:
        value["evidence"] = given_evidence(args)  # what is met is met: the next agent need not find out again
    runs.report(caller.run_id, caller.fence, value)
    return f"Reported: T-{caller.task_number} goes back. End your turn now."


TOOLS = (
    CrewTool(
        "TaskCreate",
        "Create a task for the team (not for yourself to track steps).",
        Create,
        _create,
        once=lambda args: fold(args.subject),  # the same task, however it is described the second time
    ),
    CrewTool("TaskGet", "Read one task: description, acceptance criteria, dependencies.", Get, _get, writes=False),
    CrewTool(
        "TaskUpdate",
        "Report on your own task: status completed with evidence for every acceptance criterion, or status pending with "
        "metadata.failure and metadata.approaches to give it back; or edit tasks and dependencies.",
        Update,
        _update,
    ),
    CrewTool("TaskList", "List all tasks of the team with status, owner and open dependencies.", List, _list, writes=False),
    CrewTool("TaskOutput", "Read what a task has yielded.", Output, _output, writes=False),
    CrewTool("TaskStop", "Give your own task back unfinished.", Stop, _stop),
)
