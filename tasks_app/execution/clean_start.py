"""A clean start: what earlier attempts at a task changed is put back, and what other tasks did meanwhile is left alone."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from tasks_app.domain.text import clean
from tasks_app.selectors import runs as reading
from tasks_app.services import differences, snapshots, workspaces

SHOWN = 30
AGED = (
    "This attempt was to start clean, but what the files were before {attempts} is not kept any more: what they changed is as it "
    "was left."
)
BLIND = "This attempt was to start clean, but the files cannot be looked at: {why}. Every file is as it was left."


@dataclass
class Changes:
    """The files that attempts changed, and of these the ones that others changed too, or may have."""

    all: set[str] = field(default_factory=set)
    not_ours: set[str] = field(default_factory=set)


def put_back(run: Any) -> str:
    """Put back what the earlier attempts at the task of `run` changed; returns what was done, in words, "" where nothing was.

    A file is left as it is where another task or a person changed it too, or may have: then the words name it.
    """
    attempts = reading.attempts_to_undo(run)
    aged = _aged(run, attempts)
    if not attempts:
        return aged
    slug, workspace = run.team.slug, run.team.workspace
    now = snapshots.take(slug, workspace)
    if not now:
        return BLIND.format(why=workspaces.why_not())
    found = Changes()
    for attempt, following in zip(attempts, [*attempts[1:], None], strict=True):
        _look(found, attempt, following, now, workspace)
    done = snapshots.restore(slug, workspace, attempts[0].workspace_commit, found.all - found.not_ours)
    return " ".join(words for words in (_words(done, sorted(found.all - set(done))), aged) if words)


def _aged(run: Any, attempts: Sequence[Any]) -> str:
    """What cannot be put back because retention let it go."""
    gone = reading.attempts_let_go(run)
    if not gone or (attempts and attempts[0].start_from == "clean"):
        return ""
    return AGED.format(attempts="attempt " + " and ".join(str(number) for number in gone))


def _look(found: Changes, attempt: Any, following: Any, now: str, workspace: str) -> None:
    """Add what one attempt changed. Without its last snapshot all until the next attempt may be its own, or not.

    Where it ran no command, what it did not name is somebody else's: of another task, or of a person.
    """
    slug, end = attempt.team.slug, str(attempt.dossier.get(snapshots.END) or "")
    after = following.workspace_commit if following else now
    files = differences.differing(slug, attempt.workspace_commit, end or after)
    others = reading.beside(attempt, until=attempt.ended_at if end else following and following.started_at)
    named = snapshots.within(workspace, reading.files_written(attempt.pk))
    found.all |= files
    found.not_ours |= differences.differing(slug, end, after)
    for other in others:
        found.not_ours |= snapshots.within(workspace, reading.files_written(other.pk))
    if any(reading.ran_commands(other) for other in others):
        found.not_ours |= files - named if end else files
    elif not (end and reading.ran_commands(attempt)):
        found.not_ours |= files - named


def _words(done: Collection[str], left: Collection[str]) -> str:
    parts = []
    if done:
        parts.append(
            "This attempt starts clean: what earlier attempts at this task changed is as it was before the first of them "
            f"({_listed(done)})."
        )
    if left:
        parts.append(
            "Not put back, because somebody else changed it too, or it cannot be told who did: "
            f"{_listed(left)}. Look at these before you build on them."
        )
    return " ".join(parts)


def _listed(names: Collection[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return clean(", ".join(sorted(names)[:SHOWN])) + more
