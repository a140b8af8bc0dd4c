"""Which files a call of a file tool touches, and whether they are where this run may read and write. Looks at the disk."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks_app.domain.paths import outside
from tasks_app.runners import spelling

READERS = {
    "Read": ("file_path",),
    "Glob": ("path", "pattern"),
    "Grep": ("path",),
    "NotebookRead": ("notebook_path",),
    "LS": ("path",),
}
WRITERS = {
    "Write": ("file_path",),
    "Edit": ("file_path",),
    "MultiEdit": ("file_path",),
    "NotebookEdit": ("notebook_path", "file_path"),
}
MUTATING = frozenset({*WRITERS, "Bash"})
"""Tools that plan mode does not run; Bash only where Claude Code itself takes the command for harmless."""
_GLOB = "*?[{"


@dataclass(frozen=True)
class Reach:
    """The folders of one run: its workspace, its temporary folder, and Claude Code's own folder (plans, long outputs)."""

    workspace: str
    temporary: str
    config: str = ""

    def refusal(self, tool: str, given: Mapping[str, Any]) -> str | None:
        """Return why a call must not be made, in words for the agent, or None where its paths are fine."""
        for path in touched(tool, given):
            if not self.may(path, write=tool in WRITERS):
                return (
                    f"Refused: {path} lies outside the workspace {self.workspace}. "
                    "This team's agents read and write files only inside it; use a path in the workspace."
                )
        return None

    def may(self, path: str, *, write: bool) -> bool:
        """Whether `path` really (symbolic links followed) lies where this run may read or write it."""
        if path.startswith("~") or "\0" in path:
            return False
        real = os.path.realpath(os.path.join(self.workspace, path))
        roots = [self.workspace, self.temporary, *self._own(write=write)]
        return any(not outside(real, os.path.realpath(root)) for root in roots if root)

    @property
    def real_workspace(self) -> str:
        """The workspace with symbolic links followed: what rules are matched against."""
        return os.path.realpath(self.workspace)

    def real_input(self, tool: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the input of a file tool with its paths resolved, spelled as on the disk; any other input unchanged."""
        fields = READERS.get(tool) or WRITERS.get(tool) or ()
        paths = {name: given[name] for name in fields if name != "pattern" and isinstance(given.get(name), str)}
        usable = {name: path for name, path in paths.items() if not path.startswith("~") and "\0" not in path}
        return {
            **given,
            **{name: self._spelled(os.path.realpath(os.path.join(self.workspace, path))) for name, path in usable.items()},
        }

    def _spelled(self, real: str) -> str:
        """On a Mac .ENV is .env: a rule must know it by the name that the disk has."""
        workspace = Path(self.real_workspace)
        if not spelling.ignored_in(workspace) or outside(real, str(workspace)):
            return real
        return str(workspace / spelling.on_disk(workspace, os.path.relpath(real, workspace)))

    def plan_files(self) -> list[Path]:
        """Return Claude Code's plan files of this run, newest first."""
        found = Path(self.config, "plans").glob("*.md") if self.config else ()
        return sorted(found, key=lambda file: file.stat().st_mtime, reverse=True)

    def is_plan(self, path: str) -> bool:
        """Whether `path` is the file that Claude Code keeps the plan in: the only one that plan mode may write."""
        plans = os.path.join(self.config, "plans")
        return bool(self.config) and not outside(os.path.realpath(os.path.join(self.workspace, path)), os.path.realpath(plans))

    def _own(self, *, write: bool) -> list[str]:
        if not self.config:
            return []
        plans = os.path.join(self.config, "plans")
        return [plans] if write else [plans, os.path.join(self.config, "projects")]  # never the whole: it may hold credentials


def touched(tool: str, given: Mapping[str, Any]) -> list[str]:
    """Return the paths that a call of a file tool names; a glob counts by its fixed beginning."""
    fields = READERS.get(tool) or WRITERS.get(tool) or ()
    found = [given[name] for name in fields if isinstance(given.get(name), str) and given[name]]
    return [_fixed(path) if tool == "Glob" else path for path in found]


def config_dir(transcript_path: str) -> str:
    """Return Claude Code's folder from a hook's `transcript_path`: `<folder>/projects/<project>/<session>.jsonl`."""
    parents = Path(transcript_path).parents
    return str(parents[2]) if len(parents) > 2 and parents[1].name == "projects" else ""


def _fixed(pattern: str) -> str:
    """`../x/*.py` reaches `../x`; `src/**` reaches `src`; a `..` or root behind the first wildcard counts as `/`."""
    first = min((at for at in map(pattern.find, _GLOB) if at >= 0), default=len(pattern))
    rest = pattern[first:]
    if ".." in rest or "{/" in rest or ",/" in rest:
        return "/"
    head = pattern[:first]
    return head if first == len(pattern) else (head.rpartition("/")[0] + "/" if "/" in head else ".")
