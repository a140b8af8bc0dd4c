"""Snapshots: what keeping the files costs before a prompt, and what pruning gives back, with 1,000 files and with 20,000."""

import argparse
import time
from pathlib import Path

from django.utils import timezone

from bench.place import Place
from bench.report import Report
from tasks_app.management import prepare
from tasks_app.models import Team
from tasks_app.services import pruning, snapshots
from tasks_app.services.workspaces import root

PER_FOLDER = 100
LINES = 60
CHANGED = 10


def run(place: Place, options: argparse.Namespace) -> Report:
    """Take the first snapshot, then some of files that did not change and of a few that did."""
    prepare.everything()
    report = Report("snapshots")
    for files in (200,) if options.quick else (1_000, 20_000):
        _measure(report, files, times=3 if options.quick else 10)
    report.notes.append(
        f"files of {LINES} lines, {PER_FOLDER} in a folder; the commands of git, and what Crewdesk does around them"
    )
    return report


def _measure(report: Report, files: int, *, times: int) -> None:
    slug = f"snap{files}"
    workspace = root(slug) / "files"
    _make(workspace, files)
    report.add(f"{files:,} files: the first snapshot", "ms", [_take(slug, workspace)])
    first = pruning.disk(slug)
    report.add("  what it takes of the disk", "KiB", [first / 1024])
    report.add("  nothing has changed", "ms", [_take(slug, workspace) for _ in range(times)])
    unchanged = pruning.disk(slug)
    report.add("  what each of these takes", "KiB", [(unchanged - first) / times / 1024])
    took = []
    for turn in range(times):
        for number in range(CHANGED):
            _path(workspace, number).write_text(f"turn {turn}\n" * LINES)
        took.append(_take(slug, workspace))
    report.add(f"  {CHANGED} have changed", "ms", took)
    report.add("  what each of these takes", "KiB", [(pruning.disk(slug) - unchanged) / times / 1024])
    _prune(report, slug, workspace)


def _prune(report: Report, slug: str, workspace: Path) -> None:
    """All but the last one are needed by nobody any more, a day later."""
    last = snapshots.take(slug, str(workspace))
    team = Team.objects.create(slug=slug, name=slug, workspace=str(workspace), created_at=timezone.now(), workspace_due=last)
    report.add("  on the disk before pruning", "KiB", [pruning.disk(slug) / 1024])
    for words in ("  pruning, all but one", "  pruning, nothing to do"):
        begun = time.perf_counter()
        pruning.prune(team, grace_s=-5)
        report.add(words, "ms", [(time.perf_counter() - begun) * 1000])
    report.add("  on the disk after it", "KiB", [pruning.disk(slug) / 1024])


def _path(workspace: Path, number: int) -> Path:
    return workspace / f"folder{number // PER_FOLDER}" / f"file{number}.txt"


def _make(workspace: Path, files: int) -> None:
    for number in range(files):
        path = _path(workspace, number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"line {line} of file {number}\n" for line in range(LINES)))


def _take(slug: str, workspace: Path) -> float:
    begun = time.perf_counter()
    assert snapshots.take(slug, str(workspace))
    return (time.perf_counter() - begun) * 1000
