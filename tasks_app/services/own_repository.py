"""The team's own repository as a bundle, made without git ever running on what an agent can write.

Its `.git` may hold settings that name commands, links that lead elsewhere, and the places of other repositories (`alternates`)
whose objects are not the team's. So its branches, tags and objects are copied, regular files only, into one that has none of it.
"""

import logging
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tasks_app.domain.errors import Invalid
from tasks_app.domain.team_file import MOST_BYTES, REPOSITORY
from tasks_app.services import unpacked
from tasks_app.services.inside import ANY_FOLDER, FOLDER, opened, regular
from tasks_app.services.workspaces import run_git

logger = logging.getLogger(__name__)
_REST: Final = "[0-9a-f]{38}(?:[0-9a-f]{24})?"  # of an id, SHA-1 or SHA-256
_REFS: Final = r"refs(?:/(?!\.)(?![^/]*(?:\.\.|@\{))[^/\x00-\x20\x7f~^:?*\[\\]+(?<!\.lock)(?<!\.))"
"""Names that git allows: it ignores all others, such as the .DS_Store of a Finder."""
FILES: Final = re.compile(
    rf"HEAD|packed-refs|{_REFS}+|objects/[0-9a-f]{{2}}/{_REST}|objects/pack/pack-[0-9a-f]{{2}}{_REST}\.(?:pack|idx)"
)
FOLDERS: Final = re.compile(rf"{_REFS}*|objects(?:/(?:[0-9a-f]{{2}}|pack))?")
DEEPEST: Final = 32
MOST_FILES: Final = 1_000_000
MOST_REF: Final = 4096
MOST_PACKED_REFS: Final = 64 * 2**20
BLOCK: Final = 2**20
CONFIG: Final = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
CONFIG_SHA256: Final = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = sha256\n"
MOST: Final = {"HEAD": MOST_REF, "refs": MOST_REF, "packed-refs": MOST_PACKED_REFS}
BRANCH: Final = re.compile(r"ref: refs/heads/(\w[\w./-]{0,199})\n?")
NO_COMMIT: Final = "empty bundle"
NOT_KEPT: Final = "the repository of %s is left out of the export: %s"


class _TooMuch(Exception):
    """More than an honest repository has, or than the disk has room for."""


@dataclass
class _Room:
    """What may still be copied."""

    size: int
    files: int = MOST_FILES

    def take(self, size: int) -> None:
        self.size -= size
        self.files -= 1
        if self.size < 0 or self.files < 0:
            raise _TooMuch("it is too large, or the disk too full")


def branch(workspace: str) -> str:
    """Return the branch that the team's own repository is on; "" where it has none."""
    try:
        with _own(workspace) as own, regular("HEAD", own) as head:
            found = BRANCH.fullmatch(os.read(head, MOST_REF).decode(errors="replace"))
    except OSError:
        return ""
    return found[1] if found else ""


def bundle(workspace: str, target: Path) -> bool:
    """Write the team's own repository to a bundle; returns whether it has one, with a commit, that is whole in itself.

    One that borrows objects from another, or got only a part of its history, is left out, and the log says so.
    """
    if not os.path.lexists(Path(workspace) / ".git"):
        return False
    copy = target.with_suffix(".git")
    try:
        _copy_repository(workspace, copy)
        unpacked.check(copy, "HEAD", REPOSITORY)
        done = run_git(["git", f"--git-dir={copy}", "bundle", "create", "--quiet", str(target), "--all"], limited=True)
    except (OSError, Invalid, _TooMuch) as error:
        logger.warning(NOT_KEPT, workspace, error)
        return False
    finally:
        shutil.rmtree(copy, ignore_errors=True)
    if done.returncode and NO_COMMIT not in done.stderr:
        logger.warning(NOT_KEPT, workspace, done.stderr.strip()[:200])
    return done.returncode == 0


def _copy_repository(workspace: str, copy: Path) -> None:
    for folder in ("objects", "refs"):
        (copy / folder).mkdir(parents=True)
    room = _Room(min(MOST_BYTES, shutil.disk_usage(copy).free // 2))  # the bundle needs as much again
    with _own(workspace) as own:
        _copy(own, "", copy, room)
    sha256 = next(copy.glob(f"objects/??/{'?' * 62}"), None) or next(copy.glob(f"objects/pack/pack-{'?' * 64}.idx"), None)
    (copy / "config").write_text(CONFIG_SHA256 if sha256 else CONFIG)


def _copy(folder: int, path: str, copy: Path, room: _Room) -> None:
    """Copy what git needs out of an open folder, which stands at `path` in the repository."""
    with os.scandir(folder) as entries:
        for entry in entries:
            name = path + entry.name
            if FOLDERS.fullmatch(name) and name.count("/") < DEEPEST and entry.is_dir(follow_symlinks=False):
                room.take(0)
                (copy / name).mkdir(exist_ok=True)
                with opened(entry.name, FOLDER, folder) as inner:
                    _copy(inner, f"{name}/", copy, room)
            elif FILES.fullmatch(name) and entry.is_file(follow_symlinks=False):
                with regular(entry.name, folder) as source:
                    _copy_file(source, copy / name, room, MOST.get(name.partition("/")[0], MOST_BYTES))


def _copy_file(source: int, target: Path, room: _Room, most: int) -> None:
    left = os.fstat(source).st_size  # it may grow while it is read
    if left > most:
        raise _TooMuch(f"{target.name} is too large")
    room.take(left)
    with target.open("wb") as out:
        while left > 0 and (part := os.read(source, min(BLOCK, left))):
            left -= out.write(part)


@contextmanager
def _own(workspace: str) -> Iterator[int]:
    """The open `.git` of a workspace. Raises `OSError` where it is no folder; a link to one is none."""
    with opened(workspace, ANY_FOLDER) as base, opened(".git", FOLDER, base) as own:
        yield own
