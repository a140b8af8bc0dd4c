"""Differences: what lies between two snapshots of a workspace, for people and for who puts files back."""

from collections.abc import Collection
from itertools import takewhile
from typing import Any

from tasks_app.domain.commit_ids import commit_id
from tasks_app.domain.text import clean, cut
from tasks_app.services.snapshot_store import store_of
from tasks_app.services.snapshots import names_of
from tasks_app.services.workspaces import has_git, run_git, start_of

PATCH_LIMIT = 64_000
READ = 16 * 2**20
"""Bytes of what git says: the patch of a whole workspace may be larger than the memory of this machine."""
COMPILED = ":(exclude,glob)**/__pycache__/**"
MOST_LEFT_OUT = 1_000
"""Names that fit a command line for certain."""
DIFF = ("diff", "--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--raw", "--shortstat", "--patch")


def diff(slug: str, old: str, new: str, *, without: Collection[str] = ()) -> dict[str, Any]:
    """Return {"files": [...], "summary": "3 files changed, …", "patch": text, "cut": bool} between two snapshots.

    And `length`, the characters of the patch before it was cut; not `all`: there are more, which were not read. `without`: files
    that are left out; so is what Python compiled for itself.
    Raises `Conflict` for what is no id of a commit; so does `differing`.
    """
    if not old or not new:
        return {
            "files": [],
            "summary": f"not available: {'git could not keep the files' if has_git() else 'git is not installed'}",
            "patch": "",
            "cut": False,
            "length": 0,
            "all": True,
        }
    with store_of(slug) as store:
        git = ["git", f"--git-dir={store}", "-c", "core.quotepath=off"]
        # one process: names, a line that sums up, and after an empty one the patch
        wanted = ["--", COMPILED, *(f":(exclude,literal){name}" for name in sorted(without)[:MOST_LEFT_OUT])]
        text, whole = start_of([*git, *DIFF, commit_id(old), commit_id(new), *wanted], READ) if old != new else ("", True)
    lines = text.split("\n") if text else []
    names = [clean(line.rpartition("\t")[2]) for line in takewhile(lambda line: line.startswith(":"), lines)]
    summary, patch = "".join(lines[len(names) :][:1]).strip(), clean("\n".join(lines[len(names) + 2 :]))
    if len(names) == len(lines) > 0:
        summary = f"more than {len(names) - 1:,} files changed"  # the last may be half a name
    return {
        "files": names[:200],
        "summary": summary or ("no file changed" if whole else "not available: git could not read it"),
        "patch": cut(patch, PATCH_LIMIT),
        "cut": len(patch) > PATCH_LIMIT,
        "length": len(patch),
        "all": whole,
    }


def differing(slug: str, old: str, new: str) -> set[str]:
    """Return the files that differ between two snapshots, all of them, by their path in the workspace."""
    if not old or not new or old == new:
        return set()
    with store_of(slug) as store:
        git = ["git", f"--git-dir={store}", "diff-tree", "-r", "-z", "--no-renames", "--ignore-submodules=all", "--name-only"]
        return names_of(run_git([*git, commit_id(old), commit_id(new)]).stdout)
