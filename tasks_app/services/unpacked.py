"""How much the trees of a bundle are once they are written out, found out before: a small one can name one folder over and over.

Each tree is read once, however often it is named, so this takes as long as the bundle is large, not as what it unpacks to.
"""

import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Final, NamedTuple, cast

from tasks_app.domain.errors import Invalid
from tasks_app.domain.team_file import MOST_BYTES, refuse
from tasks_app.services.workspaces import git_environment, in_limits, run_git

MOST_ENTRIES: Final = 2_000_000
"""Files and folders of one tree."""
DEEPEST: Final = 2048  # no path of a system is deeper
MOST_READ: Final = 4 * 2**30
"""Bytes of all trees together, each once: those of 5,000 snapshots of a single folder of 20,000 files."""
MOST_OBJECT: Final = 64 * 2**20
"""Bytes of a tree or a commit, which git holds in memory; those of files it does not."""
ASKED: Final = 100
"""Names given to git at once: they and the answers fit into what a pipe holds."""
DAMAGED: Final = "It is damaged: git cannot read all of it."
FOLDER, REPOSITORY_INSIDE = b"40000", b"160000"


class Total(NamedTuple):
    """What a tree comes to: entries, bytes of its files, folders in folders."""

    entries: int
    size: int
    depth: int


@dataclass
class Seen:
    """What trees come to that were looked at before, and the bytes read for that: a name means the same for ever."""

    totals: dict[bytes, Total] = field(default_factory=dict)
    read: int = 0


@dataclass
class _Objects:
    """Two processes that answer what is in a repository."""

    member: str
    contents: subprocess.Popen[bytes]
    sizes_of: subprocess.Popen[bytes]
    seen: Seen
    known: dict[bytes, int] = field(default_factory=dict)

    def sizes(self, names: Iterable[bytes]) -> dict[bytes, int]:
        """Return the size of each object; of one that is not there 0."""
        wanted = iter([name for name in dict.fromkeys(names) if name not in self.known])
        while some := list(islice(wanted, ASKED)):
            for name, answer in zip(some, _asked(self.sizes_of, some), strict=False):
                size = answer.split()[-1]
                self.known[name] = int(size) if size.isdigit() else 0
        return self.known

    def tree(self, name: bytes) -> bytes:
        """Return what a tree says of itself. Raises `Invalid` where there is more of that than an honest bundle has."""
        size = self.sizes([name])[name]
        self.seen.read += size
        if self.seen.read > MOST_READ or size > MOST_OBJECT:
            raise too_large(self.member)
        header = next(iter(_asked(self.contents, [name])))
        if header.split()[1:2] != [b"tree"]:
            raise refuse(DAMAGED, path=self.member)
        return _stdout(self.contents).read(size + 1)[:size]  # a line ends behind it


def too_large(member: str) -> Invalid:
    """Return the error that names the bundle."""
    return refuse("Unpacked it would be far too large for what it is.", path=member)


def check_all(git_dir: Path, member: str, seen: Seen | None = None) -> None:
    """Raise `Invalid`, naming the member, where any tree there unpacks to more than an honest one, whoever may name it later.

    With `seen` of an earlier look only trees are read that have come since.
    """
    with _objects(git_dir, member, seen or Seen()) as objects:
        for name in _all_trees(git_dir, objects):
            _total(objects, name)


def _all_trees(git_dir: Path, objects: _Objects) -> list[bytes]:
    """Return the trees that were not seen yet; the sizes of what else there is are told in passing and need not be asked for."""
    listed = ["git", f"--git-dir={git_dir}", "cat-file", "--batch-all-objects", "--unordered", "--batch-check"]
    found = []
    with _started(listed, stdin=subprocess.DEVNULL) as process:
        for line in _stdout(process):
            name, kind, size = line.split()
            if kind != b"blob" and int(size) > MOST_OBJECT:
                raise too_large(objects.member)
            if len(objects.known) < MOST_ENTRIES:
                objects.known[name] = int(size)
            if kind == b"tree" and name not in objects.seen.totals:
                found.append(name)
        if process.wait():
            raise refuse(DAMAGED, path=objects.member)  # it may not have told of all
    return found


def check(git_dir: Path, commit: str, member: str, *, most: int = MOST_BYTES) -> None:
    """The same for the files of one commit, which may have `most` bytes."""
    named = ["git", f"--git-dir={git_dir}", "rev-parse", "--quiet", "--verify", f"{commit}^{{tree}}"]
    tree = run_git(named, limited=True).stdout.strip()
    if tree:
        with _objects(git_dir, member, Seen()) as objects:
            _must_fit(_total(objects, tree.encode()), min(most, MOST_BYTES), member)


def _must_fit(total: Total, most: int, member: str) -> None:
    if total.entries > MOST_ENTRIES or total.size > most or total.depth > DEEPEST:
        raise too_large(member)


def _total(objects: _Objects, root: bytes) -> Total:
    """Walk a tree, deepest folders first, and remember what each comes to. It stops at the first that is too large."""
    known = objects.seen.totals
    path = [] if root in known else [_opened(objects, root)]
    while path:
        name, own, folders, left = path[-1]
        inner = next(left, None)
        if inner is None:
            path.pop()
            parts = [known[folder] for folder in folders]
            depth = 1 + max((part.depth for part in parts), default=0)
            total = Total(own.entries + sum(p.entries for p in parts), own.size + sum(p.size for p in parts), depth)
            _must_fit(total, MOST_BYTES, objects.member)
            known[name] = total  # only what is not too large: a later look need not ask again
        elif inner not in known:
            path.append(_opened(objects, inner))
            if len(path) > DEEPEST:
                raise too_large(objects.member)
    return known[root]


def _opened(objects: _Objects, name: bytes) -> tuple[bytes, Total, list[bytes], Iterator[bytes]]:
    """A tree's name, what it comes to without its folders, and these."""
    entries = list(islice(_entries(objects.tree(name), len(name) // 2), MOST_ENTRIES + 1))
    folders = [inner for mode, inner in entries if mode == FOLDER]
    files = [inner for mode, inner in entries if mode not in (FOLDER, REPOSITORY_INSIDE)]
    sizes = objects.sizes(files)
    return name, Total(len(entries), sum(sizes[file] for file in files), 1), folders, iter(folders)


def _entries(content: bytes, width: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield (mode, name of the object) of a tree as git stores it: mode, space, file name, NUL, the id in `width` bytes."""
    at = 0
    while at < len(content):
        end = content.index(b"\0", at)
        yield content[at : content.index(b" ", at)].lstrip(b"0"), content[end + 1 : end + 1 + width].hex().encode()
        at = end + 1 + width


@contextmanager
def _objects(git_dir: Path, member: str, seen: Seen) -> Iterator[_Objects]:
    git = ["git", f"--git-dir={git_dir}", "cat-file"]
    try:
        with _started([*git, "--batch"]) as contents, _started([*git, "--batch-check"]) as sizes:
            yield _Objects(member, contents, sizes, seen)
    except (OSError, ValueError, IndexError):  # git has ended, or an answer of it is none
        raise refuse(DAMAGED, path=member) from None


@contextmanager
def _started(command: Sequence[str], stdin: int = subprocess.PIPE) -> Iterator[subprocess.Popen[bytes]]:
    """A process of git that is ended with whoever asks it."""
    with subprocess.Popen(
        in_limits(command), stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=git_environment()
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _asked(process: subprocess.Popen[bytes], names: Sequence[bytes]) -> Iterator[bytes]:
    """Give git some names and yield a line of each answer."""
    stdin = cast(IO[bytes], process.stdin)
    stdin.write(b"\n".join([*names, b""]))
    stdin.flush()
    for _ in names:
        yield _stdout(process).readline()


def _stdout(process: subprocess.Popen[bytes]) -> IO[bytes]:
    return cast(IO[bytes], process.stdout)
