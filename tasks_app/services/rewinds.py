"""Rewinds: the files of a workspace put back to how they were at a prompt of a run, from the team's own snapshots."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from tasks_app.domain.errors import Conflict, Invalid, NotFound, Stale
from tasks_app.domain.events import EventKind
from tasks_app.domain.statuses import StepKind
from tasks_app.domain.text import clean
from tasks_app.models import Event, Run, Step, Team
from tasks_app.selectors import runs as reading
from tasks_app.services import differences, events, idempotency, keys, runs, snapshot_store, snapshots, workspaces

NONE_KEPT = (
    "The files were not kept at that moment, or not for so long: git was not installed or could not do it, the attempt is older "
    "than this feature, or its snapshots have aged out (CREWDESK_KEEP_SNAPSHOTS_DAYS)."
)
NOT_NOW = "The files as they are cannot be kept, so they are left as they are: {why}."
CHANGED = "The files have changed since this was shown. Look again before you put them back."


@dataclass(frozen=True)
class Moment:
    """The newest moment at or before a step at which the files were kept: a prompt of the same attempt.

    `calls`: how many calls the agent made between it and the step; 0: the files are those of the step itself.
    """

    step: int
    snapshot: str
    calls: int


@dataclass(frozen=True)
class Preview:
    """What a rewind would change. `seen` names what is shown: a rewind of other files is refused."""

    attempt: int
    step: int
    files: tuple[str, ...]
    summary: str
    patch: str
    seen: str


def moment(run: Run, at: int) -> Moment | None:
    """Return the moment for a step of the run; None where none was kept."""
    prompts = Step.objects.filter(run=run, kind=StepKind.PROMPT.value, parent_tool_use_id="", seq__lte=at).order_by("-seq")
    for step in prompts:
        first = not Step.objects.filter(run=run, kind=StepKind.PROMPT.value, seq__lt=step.seq).exists()
        snapshot = str(step.data.get("files") or (run.workspace_commit if first else ""))
        if snapshot:
            calls = Step.objects.filter(run=run, kind=StepKind.TOOL_CALL.value, seq__gt=step.seq, seq__lt=at).count()
            return Moment(step.seq, snapshot, calls)
    return None


def _prompt(run_id: str, at: int) -> tuple[Run, Moment]:
    run = runs.get(run_id)
    step = Step.objects.filter(run=run, seq=at).first()
    if step is None:
        raise NotFound(f"Attempt {run.attempt} has no step {at}, or it is not kept any more.", field="at")
    found = moment(run, at)
    if step.kind != StepKind.PROMPT.value or step.parent_tool_use_id:
        raise Invalid(f"Step {at} is no prompt. Files are kept at prompts: choose one of them.", field="at")
    if found is None or found.step != at:
        raise Conflict(NONE_KEPT, field="at")
    return run, found


def preview(run_id: str, *, at: int) -> Preview:
    """Return what would change; nothing is changed. Raises `NotFound`, `Invalid` or `Conflict`, each in words."""
    return _look(*_prompt(run_id, at))


def _look(run: Run, found: Moment) -> Preview:
    now = snapshots.take(run.team.slug, run.team.workspace)
    if not now:
        raise Conflict(NOT_NOW.format(why=workspaces.why_not()), field="at")
    diff: dict[str, Any] = differences.diff(run.team.slug, now, found.snapshot)
    names = tuple(clean(name) for _, name in snapshots.changed(run.team.slug, now, found.snapshot))
    return Preview(run.attempt, found.step, names, diff["summary"], diff["patch"], snapshots.tree(run.team.slug, now))


def rewind(run_id: str, *, at: int, seen: str = "", actor: str) -> Preview:
    """Put the files back; returns what was changed. `seen`: of the preview; empty: whatever there is.

    Refused while an attempt is open in that workspace. What was there before is kept: `undo`. Where nothing changes, nothing is
    noted: what a rewind before it has put back can still be undone.
    """
    run, found = _prompt(run_id, at)
    shown = _look(run, found)
    if seen and seen != shown.seen:
        raise Stale(CHANGED, field="at")
    with gone_back(run.team, found.snapshot, seen=shown.seen) as moved, transaction.atomic():
        moved.over()
        data = {"attempt": run.attempt, "step": at, "count": moved.count, "before": moved.before, "to": found.snapshot}
        if moved.count:
            runs.append_event(run, EventKind.FILES_REWOUND, actor=actor, data=data)
    return shown


@dataclass(frozen=True)
class Moved:
    """Files that stand as in a snapshot: how many changed, and the snapshot of how they were. `over` must be called once."""

    team_id: int
    count: int
    before: str

    def over(self) -> None:
        """Lock the team, and let its work go on when this transaction is committed. Raises `Conflict` where it does already."""
        events.lock(self.team_id)
        if not Team.objects.filter(pk=self.team_id, workspace_due=self.before).update(workspace_due=""):
            raise Conflict("Somebody else put the files of this team back at the same moment. Look again.")


@contextmanager
def gone_back(team: Team, target: str, *, seen: str = "") -> Iterator[Moved]:
    """Put the files back to a snapshot, then let the caller commit what belongs to it. Raises `Conflict`, `Stale`.

    Git works outside any transaction. Meanwhile nothing of the team starts, for the files are owed the state that they had
    (`Team.workspace_due`): where this is cut off, a worker puts them back to it, and where the caller raises, this does.
    """
    with snapshot_store.store_of(team.slug):
        before = _reserve(team)
        try:
            if seen and snapshots.tree(team.slug, before) != seen:
                raise Stale(CHANGED, field="at")
            yield Moved(team.pk, snapshots.rewind(team.slug, team.workspace, before, target), before)
        except BaseException:
            _as_before(team, before)
            raise


def _reserve(team: Team) -> str:
    """Keep the files as they are, and let nothing start until they are back; returns their snapshot."""
    before = snapshots.take(team.slug, team.workspace)
    if not before:
        raise Conflict(NOT_NOW.format(why=workspaces.why_not()), field="at")
    with transaction.atomic():
        must_be_free(team.pk)
        Team.objects.filter(pk=team.pk).update(workspace_due=before)
    again = snapshots.take(team.slug, team.workspace)  # an attempt may have begun and ended since the first
    if again and Team.objects.filter(pk=team.pk, workspace_due=before).update(workspace_due=again):
        return again
    return before


def _as_before(team: Team, before: str) -> None:
    """Nothing has happened: the files as they were, the team free. What fails here is left to a worker.

    Where the team owes nothing any more, the caller's commit is done and only its answer was lost: the files stay. Asked under
    the lock, for which a commit that is still under way is waited for.
    """
    with transaction.atomic():
        if events.lock(team.pk).workspace_due != before:
            return
    now = snapshots.take(team.slug, team.workspace)
    snapshots.rewind(team.slug, team.workspace, now, before)
    Team.objects.filter(pk=team.pk, workspace_due=before).update(workspace_due="")


def must_be_free(team_id: int) -> None:
    """Lock the team and return where nobody works in its workspace. Raises `Conflict` naming who does."""
    team = events.lock(team_id)
    if team.workspace_due:
        raise Conflict("The files of this team are being put back at this moment. Try again when that is done.")
    at_work = (
        Run.objects.filter(reading.in_workspace(team.workspace), status__in=runs.OPEN).select_related("task", "agent").first()
    )
    if at_work is not None:
        who = f"{at_work.agent.name} is on {at_work.task.label} (attempt {at_work.attempt})"
        raise Conflict(f"{who} in this workspace. Stop that attempt, or wait until it has ended, then put the files back.")


def last(team_id: int) -> Event | None:
    """Return the last rewind of a team's files, which can be undone."""
    kinds = (EventKind.FILES_REWOUND.value, EventKind.FILES_REWIND_UNDONE.value)
    return Event.objects.filter(team_id=team_id, kind__in=kinds).order_by("-seq").first()


def undo(team_id: int, *, actor: str, idempotency_key: str = "") -> int:
    """Put the files back to how they were before the last rewind; returns how many changed. Undone twice is done again."""
    if known := idempotency.made(idempotency_key):
        return int(known)
    with transaction.atomic():
        must_be_free(team_id)
    team = Team.objects.get(pk=team_id)
    with snapshot_store.store_of(team.slug):  # of two at once each undoes what is then the last
        if known := idempotency.made(idempotency_key):
            return int(known)
        found = last(team_id)
        if found is None or not found.data.get("before"):
            raise Conflict("No files of this team have been put back, so there is nothing to undo.")
        target = str(found.data["before"])
        with gone_back(team, target) as moved, transaction.atomic():
            moved.over()
            idempotency.is_first(idempotency_key, makes=moved.count)
            data = {"count": moved.count, "before": moved.before, "to": target}
            events.append(team_id, EventKind.FILES_REWIND_UNDONE, actor=actor, keys=(keys.team(team_id),), data=data)
    return moved.count
