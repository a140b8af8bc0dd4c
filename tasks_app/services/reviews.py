"""Reviews: a reported task that another agent judges, in a task of its own. Sole writer of `review_of`.

While a review is open the reviewed task stays in progress without a run; its verdict completes the task or sends it back.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from tasks_app.domain import criteria, task_marks
from tasks_app.domain.events import EventKind
from tasks_app.domain.statuses import OPEN_RUN, Reason, TaskStatus
from tasks_app.domain.task_marks import REVIEW
from tasks_app.domain.text import cut
from tasks_app.domain.transitions import FINISH_TASK
from tasks_app.models import Agent, Run, Task
from tasks_app.services import events, tasks

ACCEPT, SEND_BACK = "accept", "send_back"
MINUTES = (1.0, 15.0)
ASKED = """\
Judge the work on {label} {title}, which {author} reports as completed. Look at it in the workspace; change nothing.

What must be so, and what {author} says of it:
{criteria}

{author}'s summary: {summary}

What the task asked for: {description}

Report with mcp__crew__TaskUpdate: status "completed", `verdict` "accept" or "send_back", `evidence` (what you looked at) and
`summary` (your comments; with send_back: what to change). {author} gets your comments word for word."""


def begin(run: Run, reviewers: Mapping[str, str]) -> bool:
    """Give the task that a run has reported to its reviewers (number of the criterion → agent); returns whether to any.

    Called in the transaction in which the run ends.
    """
    found = Agent.objects.filter(team_id=run.team_id, name__in=set(reviewers.values())).order_by("position", "pk")
    for agent in found:
        numbers = sorted(int(number) for number, name in reviewers.items() if name == agent.name)
        review = _create(run, agent, numbers)
        data = {"reviewer": agent.name, "review": review.label}
        tasks.append_event(EventKind.TASK_IN_REVIEW, run.task, actor=f"agent:{run.agent.name}", data=data)
    return bool(reviewers)


def _create(run: Run, agent: Agent, numbers: Iterable[int]) -> Task:
    task, report = run.task, run.report or {}
    wanted = {one.number: one for one in criteria.read(task.criteria)}
    asked = [f"{wanted[n]} ({criteria.evidence_for(wanted[n], report.get('evidence') or {}) or 'nothing'})" for n in numbers]
    description = ASKED.format(
        label=task.label,
        title=task.title,
        author=run.agent.name,
        criteria="\n".join(asked),
        summary=report.get("summary") or "none",
        description=task.description or "see its title",
    )
    draft = tasks.Draft(
        title=cut(f"Review {task.label} (attempt {run.attempt}): {task.title}", tasks.TITLE_LIMIT),
        description=cut(description, tasks.TEXT_LIMIT),
        criteria=("The verdict says what was looked at",),
        assignee_id=agent.pk,
        priority=task.priority,
        expected_min=MINUTES[0],
        expected_max=MINUTES[1],
        plan_mode=False,
        attempts_allowed=task.attempts_allowed,
    )
    marks = {REVIEW: {"attempt": run.attempt, "numbers": list(numbers), "reviewer": agent.name}}
    review = tasks.create(task.team_id, draft, actor=events.SYSTEM, marks=marks)
    Task.objects.filter(pk=review.pk).update(review_of=task)
    return review


def settle(review: Task, *, verdict: str, note: str, by: str) -> None:
    """Carry out the verdict of a review that is completed: the last to accept completes the task, one that does not ends all.

    A task that was taken up, completed or given up meanwhile is left alone. One that is accepted goes back to a person where it
    is not known any more what the review was to judge. Called under the team's lock.
    """
    task = Task.objects.select_related("team").filter(reviews=review).first()
    run = Run.objects.select_related("agent").filter(task=task).order_by("-attempt").first() if task else None
    if task is None or run is None or task.status != TaskStatus.IN_PROGRESS.value or run.status in OPEN_RUN:
        return
    if verdict == ACCEPT and not _record(review):
        for other in open_of(task.pk):
            tasks.mark_cancelled(other, why=f"{review.label} has lost its record", actor=f"agent:{by}")
        _not_judged(task, run, why=f"Nobody knows any more what its review {review.label} was to judge.", actor=f"agent:{by}")
        return
    told = {"reviewer": by, "review": review.label, "verdict": verdict, "note": cut(note, 500)}
    tasks.append_event(EventKind.TASK_REVIEWED, task, actor=f"agent:{by}", data=told)
    _keep(review, verdict=verdict, note=note, by=by)
    if verdict == SEND_BACK:
        _send_back(task, run, by=by, note=note)
    elif not open_of(task.pk):
        _complete(task, run)


def given_up(review: Task, *, actor: str) -> None:
    """A review was cancelled: nobody judges its task now, which waits for a person to give it out again or to complete it."""
    task = Task.objects.select_related("team").filter(reviews=review).first()
    run = Run.objects.filter(task=task).order_by("-attempt").first() if task else None
    if task is None or run is None or task.status != TaskStatus.IN_PROGRESS.value or run.status in OPEN_RUN:
        return
    for other in open_of(task.pk):
        tasks.mark_cancelled(other, why=f"{review.label} was given up", actor=actor)
    _not_judged(task, run, why=f"Its review {review.label} was given up: nobody has judged it.", actor=actor)


def _not_judged(task: Task, run: Run, *, why: str, actor: str) -> None:
    why += " Complete it by hand, or give it out again."
    tasks.mark_released(
        task, failed=False, held=True, counts=False, reason=Reason.NOT_JUDGED.value, detail=why, attempt=run.attempt, actor=actor
    )


def _keep(review: Task, **verdict: str) -> None:
    if record := _record(review):
        Task.objects.filter(pk=review.pk).update(metadata={**review.metadata, REVIEW: {**record, **verdict}})


def _record(review: Task) -> dict[str, Any]:
    """What the review was to judge; empty where it was lost to what an agent could set before it was reserved."""
    return task_marks.believed(review.metadata, reviews=True).get(REVIEW) or {}


def open_of(task_id: int) -> list[Task]:
    """Return the reviews of a task that are not over."""
    return list(Task.objects.filter(review_of_id=task_id, status__in=tasks.UNFINISHED).order_by("number"))


def _send_back(task: Task, run: Run, *, by: str, note: str) -> None:
    used_up = task.attempts + 1 >= task.attempts_allowed
    why = f"Sent back by {by}: {note}"
    for other in open_of(task.pk):
        tasks.mark_cancelled(other, why=f"{by} sent it back", actor=f"agent:{by}")
    actor, reason = f"agent:{by}", Reason.SENT_BACK.value
    tasks.mark_released(
        task, failed=used_up, held=False, counts=True, reason=reason, detail=why, attempt=run.attempt, actor=actor
    )
    if not used_up:
        tasks.plan_next(task, agent_id=run.agent_id, guidance=why, start="last", actor=actor)


def _complete(task: Task, run: Run) -> None:
    report: dict[str, Any] = run.report or {}
    evidence = dict(report.get("evidence") or {})
    for row in Task.objects.filter(review_of=task, status=TaskStatus.COMPLETED.value).order_by("number"):
        given = _record(row)
        if given.get("attempt") == run.attempt and given.get("verdict") == ACCEPT:
            words = f"accepted by {given['by']} ({row.label}): {given['note']}".rstrip(": ")
            evidence |= {str(number): words for number in given["numbers"]}
    output = report.get("summary") or run.result
    tasks.mark_completed(
        task, by=run.agent.name, evidence=evidence, output=output, actor=f"agent:{run.agent.name}", move=FINISH_TASK
    )
