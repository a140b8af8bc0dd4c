"""Crew tools of the lead agent alone: what waits for it, answering, handing on, arranging tasks. Guarded as the human's acts."""

import json
from typing import Any, Literal

from pydantic import Field

from tasks_app.domain.deciders import signed
from tasks_app.domain.errors import Invalid
from tasks_app.domain.plan_model import fold
from tasks_app.selectors import crew, leading
from tasks_app.services import actions, deciding, decisions, handing, splitting, tasks
from tasks_app.services.splitting import Part
from tasks_app.tools.base import Arguments, Caller, CrewTool, find_task


class Waiting(Arguments):
    """All that waits."""


class Answer(Arguments):
    """An answer to one request."""

    decision: str = Field(description="Its id, as Waiting shows it")
    version: int
    seen: str = Field(description="`seen` as Waiting shows it: you answer what you have read")
    choice: str = Field(default="answer", description="One of its `choices`")
    option: str = Field(default="", description="Escalation: the label of an option")
    text: str = Field(default="", description="Your words for the agent")
    answers: dict[str, str | list[str]] = Field(default_factory=dict, description="Question: {question: answer}")


class HandOn(Arguments):
    """Leave one to the human."""

    decision: str
    why: str = Field(description="What you would do, and why you leave it to the human")


class Assign(Arguments):
    """Who does a task."""

    taskId: str
    agent: str = Field(default="", description="Name of the agent; empty: any that fits")
    guidance: str = Field(default="", description="What it should do differently, or know")
    start: Literal["clean", "last"] = Field(default="last", description="From scratch, or from what the last attempt left")


class PartOf(Arguments):
    """One part of a task."""

    subject: str
    description: str
    criteria: list[str] = Field(min_length=1, description="Acceptance criteria, each one checkable")
    role: str = ""
    agent: str = ""
    after: list[int] = Field(default_factory=list, description="Numbers (from 1) of parts that must be done before it")


class Split(Arguments):
    """A task in parts."""

    taskId: str
    parts: list[PartOf]


def _waiting(caller: Caller, args: Waiting) -> str:
    found = leading.waiting(caller.team_id)
    return json.dumps(found, ensure_ascii=False, indent=1, default=str) if found else "Nothing waits for you."


def _answer(caller: Caller, args: Answer) -> str:
    _of_this_team(caller, args.decision)
    data: dict[str, Any] = {"option": args.option, "text": args.text} if args.choice == "answer" else {}
    if args.answers:
        data = {"answers": args.answers}
    note = "" if data.get("text") else args.text
    seen = leading.full_hash(args.decision.strip(), args.seen.strip())
    done = actions.answer(
        args.decision.strip(),
        choice=args.choice,
        note=note,
        data=data,
        version=args.version,
        payload_hash=seen,
        actor=caller.actor,
    )
    return f"Answered {done.pk} as {signed(caller.actor)}."


def _hand_on(caller: Caller, args: HandOn) -> str:
    if not args.why.strip():
        raise Invalid("Say what you would do and why you leave it.", field="why")
    done = handing.hand_on_by_agent(args.decision.strip(), team_id=caller.team_id, why=args.why, actor=caller.actor)
    return f"{done.pk} is the human's now."


def _of_this_team(caller: Caller, decision_id: str) -> None:
    if decisions.get(decision_id.strip()).team_id != caller.team_id:
        raise Invalid("That is not of your team. Read Waiting.", field="decision")


def _agent(caller: Caller, name: str) -> int | None:
    if not name.strip():
        return None
    known = crew.agents(caller.team_id)
    found = {fold(one): pk for one, pk in known.items()}.get(fold(name))
    if found is None:
        raise Invalid(f"There is no agent “{name[:60]}”. There are: {', '.join(known)}.", field="agent")
    return found


def _assign(caller: Caller, args: Assign) -> str:
    deciding.may_arrange(caller.team_id, caller.agent_id)
    task_id = find_task(caller, args.taskId)
    if task_id == caller.task_id:
        raise Invalid("That is your own turn.", field="taskId")
    agent_id = _agent(caller, args.agent)
    task = actions.reassign(task_id, agent_id=agent_id, guidance=args.guidance, start=args.start, actor=caller.actor)
    begins = "its last state" if args.start == "last" else "scratch"
    return f"{task.label} goes to {args.agent or 'any agent that fits'}, from {begins}."


def _split(caller: Caller, args: Split) -> str:
    deciding.may_arrange(caller.team_id, caller.agent_id)
    parts = [
        Part(
            tasks.Draft(
                title=one.subject,
                description=one.description,
                criteria=tuple(text for text in one.criteria if text.strip()),
                role=one.role,
                assignee_id=_agent(caller, one.agent),
            ),
            tuple(number - 1 for number in one.after),
        )
        for one in args.parts
    ]
    made = splitting.split_and_schedule(find_task(caller, args.taskId), parts, actor=caller.actor)
    return json.dumps([{"taskId": str(one.number), "subject": one.title} for one in made], ensure_ascii=False)


TOOLS = (
    CrewTool("Waiting", "Read every request that waits for your choice.", Waiting, _waiting, writes=False, lead=True),
    CrewTool(
        "Answer", "Answer a request that waits for you.", Answer, _answer, lead=True, once=lambda args: args.decision.strip()
    ),
    CrewTool(
        "HandOn", "Leave a request that waits for you to the human.", HandOn, _hand_on, lead=True, once=lambda args: args.decision
    ),
    CrewTool(
        "Assign",
        "Give a task to an agent, with guidance; a running attempt is stopped first.",
        Assign,
        _assign,
        lead=True,
        once=lambda args: [args.taskId, fold(args.agent), args.guidance, args.start],
    ),
    CrewTool(
        "Split",
        "Make several tasks of one that is too large. It waits for them and then puts them together.",
        Split,
        _split,
        lead=True,
        once=lambda args: [args.taskId, [fold(one.subject) for one in args.parts]],
    ),
)
