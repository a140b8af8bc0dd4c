"""Restores: a team, or one of its tasks, goes back to a checkpoint. All rows change in one transaction, then the files.

What is still owed to the files (`Team.workspace_due`) is stored with the rows, and nothing starts before they are put back: so a
restore that is cut off at any moment is finished by a worker.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db import transaction

from tasks_app.domain.checkpoint import Content
from tasks_app.domain.checkpoint_diff import Difference, SessionChange, Turn
from tasks_app.domain.errors import Conflict, Invalid, NotFound, Stale, Unavailable
from tasks_app.domain.events import EventKind
from tasks_app.domain.ids import task_label
from tasks_app.domain.statuses import TaskStatus, TeamStatus
from tasks_app.models import Checkpoint, Run, Task, Team
from tasks_app.selectors import checkpoints as reading
from tasks_app.selectors import runs as attempts
from tasks_app.services import (
    agents,
    checkpoints,
    clock,
    context,
    decisions,
    events,
    keys,
    scheduling,
    snapshot_store,
    snapshots,
    stored_values,
    task_states,
    teams,
    transcripts,
)
from tasks_app.services.context import Writer

logger = logging.getLogger(__name__)
NOTHING = "Nothing was changed."


@dataclass(frozen=True)
class Preview:
    """What restoring would do, as of event `seq`; `refused`: why it cannot be done now, or nothing."""

    checkpoint: Checkpoint
    seq: int
    change: Difference
    files: tuple[tuple[str, str], ...]  # (back | changed | removed, path)
    refused: str
    goes_on: bool  # the team is active: work starts at once
    only: int | None = None


@dataclass(frozen=True)
class Restored:
    """What came of it; `safety` is the checkpoint of how it was before."""

    name: str
    safety: str
    words: str


def preview(team_id: int, checkpoint_id: str, *, task: int | None = None) -> Preview:
    """Return what would change, and change nothing. Raises `NotFound`, `Invalid` where the checkpoint cannot be used at all."""
    saved = reading.get(team_id, checkpoint_id)
    refused = _held_back(saved.team)  # at once: git takes its time, and what ends meanwhile is newer than this event
    content = _content(saved, task)
    files = _changed_files(saved, content, task)
    now = reading.capture(saved.team, workspace="" if files else content.workspace)
    change = reading.compare(content, now, only=task, at=clock.now())
    goes_on = saved.team.status == TeamStatus.ACTIVE.value
    return Preview(saved, saved.team.last_seq, change, tuple(files), refused, goes_on, task)


def restore(team_id: int, checkpoint_id: str, *, seen: int, actor: str, task: int | None = None) -> Restored:
    """Go back to a checkpoint: the whole team, or one task with the agent that worked on it and the files that it wrote.

    `seen` is the preview's event: `Stale` where the team has moved on since. Raises `Conflict` while an attempt is open,
    `Invalid` for a damaged or foreign checkpoint; then nothing is changed. How it was before is saved as a checkpoint first.
    """
    saved = reading.get(team_id, checkpoint_id)
    content = _content(saved, task)
    values = stored_values.of(team_id, content)
    _must_be_as_seen(saved.team, seen)
    before = _freeze(saved.team, content)
    wanted = _wanted(saved, content, before, task)
    with transaction.atomic():
        team = events.lock(team_id)
        _must_be_as_seen(team, seen)
        name = f"before restoring “{saved.name}”"
        safety = checkpoints.keep(team_id, name=name, by=events.SYSTEM, workspace=before, automatic=True, spare=saved.pk)
        change = reading.compare(content, reading.capture(team, workspace=before), only=task, at=clock.now())
        stale = _write(team, change, values, actor=actor)
        Team.objects.filter(pk=team_id).update(workspace_due=wanted)
        _tell(saved, change, stale, safety=safety.pk, task=task, actor=actor)
    finish(team_id)
    return Restored(saved.name, safety.pk, change.words)


def _changed_files(saved: Checkpoint, content: Content, task: int | None) -> list[tuple[str, str]]:
    if not content.workspace:
        return []
    files = snapshots.changes(saved.team.slug, saved.team.workspace, content.workspace)
    own = None if task is None else set(_files_of(saved, task))
    return [one for one in files if own is None or one[1] in own]


def _content(saved: Checkpoint, task: int | None) -> Content:
    """What it holds; its tasks must all be there still. Raises `Invalid`, `NotFound`."""
    content = reading.content(saved)
    numbers = {one.number for one in content.tasks}
    gone = numbers - set(Task.objects.filter(team_id=saved.team_id).values_list("number", flat=True))
    if gone:
        words = f"This checkpoint holds {task_label(min(gone))}, which the team does not have. {NOTHING}"
        raise Invalid(words, field="checkpoint")
    if task is not None and task not in numbers:
        raise NotFound(f"{task_label(task)} is not in this checkpoint.", field="task")
    if content.workspace and not snapshots.holds(saved.team.slug, content.workspace):
        raise Invalid(f"The files of this checkpoint are not stored any more. {NOTHING}", field="checkpoint")
    return content


def _must_be_as_seen(team: Team, seen: int) -> None:
    if team.last_seq != seen:
        raise Stale(f"{team.name} has moved on since you looked (event {seen} then, {team.last_seq} now). {NOTHING} Look again.")
    if problem := _held_back(team):
        raise Conflict(f"{problem} {NOTHING}")


def _held_back(team: Team) -> str:
    """Why nothing can be restored now, or nothing."""
    if team.archived_at is not None:
        return "This team is archived. Bring it back first."
    if team.workspace_due:
        return f"The files of {team.name} are being put back already."
    run = Run.objects.select_related("agent", "task").filter(team=team, status__in=reading.OPEN).order_by("created_at").first()
    if run is None:
        return ""
    return f"{run.agent.name} has an open attempt at {run.task.label}. Stop the team, then restore, then resume it."


def _freeze(team: Team, content: Content) -> str:
    before = checkpoints.freeze(team.pk)
    if content.workspace and not before:
        raise Unavailable(f"The files as they are cannot be kept: git does not work in {team.workspace}. {NOTHING}")
    return before


def _wanted(saved: Checkpoint, content: Content, before: str, task: int | None) -> str:
    """The snapshot that the files go to: the checkpoint's, for one task today's with what that task wrote as it was then."""
    if not content.workspace or task is None:
        return content.workspace
    files = _files_of(saved, task)
    made = snapshots.mixed(saved.team.slug, before, content.workspace, saved.team.workspace, files)
    if not made:
        raise Unavailable(f"The files of {task_label(task)} cannot be put together. {NOTHING}")
    return made


def _files_of(saved: Checkpoint, task: int) -> list[str]:
    """The files, relative to the workspace, that attempts at the task have written since the checkpoint."""
    since = Run.objects.filter(team=saved.team, task__number=task).exclude(ended_at__lt=saved.at)
    names = [name for run in since for name in attempts.files_written(run.pk)]
    return list(dict.fromkeys(name.removeprefix(f"{saved.team.workspace}/") for name in names))


def _write(team: Team, change: Difference, values: Mapping[str, Any], *, actor: str) -> set[str]:
    """Write every row that changes; returns the live blocks that are stale."""
    crew = teams.agent_ids(team.pk)
    whom = {one.target.assignee: crew.get(one.target.assignee) for one in change.tasks}
    for number in {one.number for one in change.tasks}:
        for pk in Task.objects.filter(team=team, number=number).values_list("pk", flat=True):
            decisions.withdraw_all(why="the team was put back to a checkpoint", actor=actor, task_id=pk)
    tasks = {task_states.put_back(team.pk, one.target, assignee_id=whom[one.target.assignee]) for one in change.tasks}
    _share(team, change, values, actor)
    for session in change.sessions:
        _place(session, crew[session.agent])
    if any(one.target.status is TaskStatus.PENDING for one in change.tasks):
        teams.work_again(team.pk)
    return {keys.task(pk) for pk in tasks if pk} | {keys.agent(crew[one.agent]) for one in change.sessions}


def _share(team: Team, change: Difference, values: Mapping[str, Any], actor: str) -> None:
    for one in change.written:
        if one.turn is Turn.GOES:
            context.delete(team.pk, name=one.name, by=Writer(actor))
    now = clock.now()
    for one in change.written:
        then = one.then
        if then is None or one.turn is Turn.GOES:
            continue
        context.share(
            team.pk,
            name=then.name,
            value=values[then.name],
            by=Writer(actor, author=then.author),
            version=context.ANY,
            ttl_s=stored_values.left_s(then, now),
            scope=then.scope,
            task_number=then.task_number,
        )


def _place(change: SessionChange, agent_id: int) -> None:
    """The agent's next task goes on where it was; without its transcript in a fresh session, told what it had done."""
    then, place = change.then, change.then.position
    session = transcripts.branch(place.session_id, lines=place.lines, last=place.last) if change.turn is Turn.GOES_BACK else ""
    known = {"tokens": then.context_tokens, "window": then.context_window} if session else {"tokens": None, "window": None}
    agents.put_back(agent_id, session_id=session, handover=then.handover, **known)


def _tell(saved: Checkpoint, change: Difference, stale: set[str], *, safety: str, task: int | None, actor: str) -> None:
    pk = saved.team_id
    names = stale | {keys.tasks(pk), keys.agents(pk), keys.context(pk), keys.inbox(pk), keys.checkpoints(pk), keys.TEAMS}
    data = {
        "name": saved.name,
        "checkpoint": saved.pk,
        "changes": change.words,
        "tasks": [one.label for one in change.tasks],
        "safety": safety,
    }
    events.append(pk, EventKind.CHECKPOINT_RESTORED, actor=actor, keys=names, task_number=task, data=data)


def finish(team_id: int) -> None:
    """Put the files of a team back where a restore owes them that, and let its work go on. Raises `Unavailable`."""
    team = Team.objects.get(pk=team_id)
    if not snapshots.put_back(team.slug, team.workspace, due=partial(_due, team_id), done=partial(_done, team_id)):
        raise Unavailable("The files could not be put back yet, the rest is done. It is tried again until it works; see the log.")
    scheduling.tick(team_id)


def _due(team_id: int) -> str:
    return str(Team.objects.filter(pk=team_id).values_list("workspace_due", flat=True).first() or "")


def _done(team_id: int, snapshot: str) -> None:
    Team.objects.filter(pk=team_id, workspace_due=snapshot).update(workspace_due="")


def any_due() -> bool:
    """Whether files are owed to any team."""
    return Team.objects.exclude(workspace_due="").exists()


def finish_due() -> int:
    """Finish what was cut off before the files were put back: restores, and rewinds, which are taken back. Returns how many."""
    owed = Team.objects.exclude(workspace_due="").values_list("pk", "slug")
    due = [pk for pk, slug in owed if not snapshot_store.in_use(slug)]  # who is at it finishes it
    for team_id in due:
        try:
            finish(team_id)
        except Exception:
            logger.exception("team %s: its files could not be put back to the checkpoint", team_id)
    return len(due)
