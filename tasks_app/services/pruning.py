"""Pruning: the snapshots of a team that no row names any more go, and git gives the disk back.

`retention` lets old attempts name theirs no more, where a rule says so; what only was looked at (a preview, a review) is named by
nobody from the start. What a rewind, a fork, a restore or a clean start offers is named by a row, so it stays.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from django.db.models import Q

from tasks_app.domain.statuses import OPEN_RUN, StepKind
from tasks_app.models import Checkpoint, Run, Step, Team
from tasks_app.services import last_snapshot, rewinds, snapshot_store, snapshots
from tasks_app.services.workspaces import root, run_git

DAY_S: Final = 86_400.0
GRACE_S: Final = DAY_S
"""A snapshot is taken first and named by a row after, so a younger one stays whoever names it."""
EVERY_S: Final = DAY_S
"""A team is looked at so often, while no attempt of it is open: then no prompt waits for git."""
LATEST_S: Final = 7 * DAY_S
"""Where an attempt is always open it is done all the same."""
GIT_S: Final = 1_800


@dataclass(frozen=True)
class Pruned:
    """What came of it: how many snapshots went, and by how many bytes the disk has more room (whole blocks)."""

    snapshots: int = 0
    freed: int = 0

    def __add__(self, other: "Pruned") -> "Pruned":
        return Pruned(self.snapshots + other.snapshots, self.freed + other.freed)


def sweep() -> Pruned | None:
    """Prune the next team that is due on this host; None: none is."""
    busy = set(Run.objects.filter(status__in=[status.value for status in OPEN_RUN]).values_list("team_id", flat=True))
    for team in Team.objects.order_by("pk").only("pk", "slug").iterator():
        wait_s = LATEST_S if team.pk in busy else EVERY_S
        if is_here(team.slug) and _looked_at(team.slug) < time.time() - wait_s:
            return prune(team)
    return None


def everything() -> Pruned:
    """Prune every team on this host, due or not."""
    return sum((prune(team) for team in Team.objects.order_by("pk") if is_here(team.slug)), Pruned())


def unneeded(team: Team) -> int:
    """Return how many snapshots of a team would go now."""
    with snapshot_store.store_of(team.slug) as store:
        return len(_unneeded(team, store))


def all_unneeded() -> int:
    """Return how many would go in all teams on this host."""
    return sum(unneeded(team) for team in Team.objects.order_by("pk") if is_here(team.slug))


def prune(team: Team, *, grace_s: float = GRACE_S) -> Pruned:
    """Remove what nobody needs, and let git pack the rest.

    Nobody takes a snapshot or puts one back meanwhile, so git drops no object that somebody is about to name.
    """
    before = disk(team.slug)
    with snapshot_store.store_of(team.slug) as store:
        gone = _unneeded(team, store, grace_s=grace_s)
        last_snapshot.forget(store)
        words = "".join(f"delete {snapshots.REFS}{name}\n" for name in gone)
        run_git(["git", f"--git-dir={store}", "update-ref", "--stdin"], stdin=words)
        run_git(["git", f"--git-dir={store}", "gc", "--quiet", "--prune=now"], timeout_s=GIT_S)
        _mark(team.slug).touch()
    return Pruned(len(gone), before - disk(team.slug))


def disk(slug: str) -> int:
    """Return what the team's snapshots take of the disk, in bytes of whole blocks."""
    return sum(path.lstat().st_blocks * 512 for path in (root(slug) / snapshot_store.STORE).rglob("*") if not path.is_dir())


def is_here(slug: str) -> bool:
    """Whether this host has snapshots of the team."""
    return snapshot_store.is_whole(slug)


def _mark(slug: str) -> Path:
    return root(slug) / "snapshots.pruned"


def _looked_at(slug: str) -> float:
    """When it was done last, by the clock of the files; for a team that was never looked at, when its store was made."""
    mark = _mark(slug)
    return (mark if mark.exists() else root(slug) / snapshot_store.STORE / "HEAD").stat().st_mtime


def _unneeded(team: Team, store: Path, *, grace_s: float = GRACE_S) -> list[str]:
    done = run_git(
        ["git", f"--git-dir={store}", "for-each-ref", "--format=%(objectname) %(committerdate:unix)", snapshots.REFS.rstrip("/")]
    )
    young = time.time() - grace_s
    kept = [line.split() for line in done.stdout.splitlines()]
    named = set(_named(team.pk))
    return [name for name, at in kept if name not in named and float(at) < young]


def _named(team_id: int) -> Iterator[Any]:
    """Yield what rows name. Sources come before what is copied from them: what moves meanwhile is seen here or there."""
    prompts = Step.objects.filter(run__team=team_id, kind=StepKind.PROMPT.value).exclude(data__files=None)
    yield from prompts.values_list("data__files", flat=True).iterator()
    ended_with = f"dossier__{snapshots.END}"
    attempts = Run.objects.filter(team=team_id).filter(~Q(workspace_commit="") | ~Q(**{ended_with: None}))
    for pair in attempts.values_list("workspace_commit", ended_with).iterator():
        yield from pair
    for held in Checkpoint.objects.filter(team=team_id).values_list("data__workspace", "data__runs").iterator():
        yield held[0]
        yield from (one.get("workspace_commit") for one in held[1] or ())
    yield Team.objects.values_list("workspace_due", flat=True).get(pk=team_id)
    last = rewinds.last(team_id)
    yield from (last.data.get("before"), last.data.get("to")) if last else ()
