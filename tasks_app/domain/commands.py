"""What a shell command would run in the end: programs behind `sudo`, `env`, `xargs`, `bash -c "…"`, `find -exec` and the like."""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from tasks_app.domain import shell
from tasks_app.domain.shell import Part, Word

SHELLS: Final = frozenset({"sh", "bash", "zsh", "dash", "ksh", "fish", "ash", "busybox"})
ROOT: Final = frozenset({"sudo", "doas", "su", "pkexec", "run0"})
WRAPPERS: Final = ROOT | frozenset(
    {
        "env",
        "nohup",
        "nice",
        "ionice",
        "timeout",
        "time",
        "stdbuf",
        "xargs",
        "command",
        "builtin",
        "exec",
        "setsid",
        "watch",
        "parallel",
    }
    | {
        "chroot",
        "flock",
        "unshare",
        "nsenter",
        "caffeinate",
        "strace",
        "busybox",
        "script",
        "taskset",
        "chrt",
        "setpriv",
        "doppler",
    }
)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
MAX_CALLS: Final = 200
MAX_COST: Final = 300_000
"""Words and characters looked at for one part; an honest command stays far below."""


@dataclass(frozen=True)
class Call:
    """One program that would run: its name without folder, and its words with quotes resolved, the program's first."""

    program: str
    words: tuple[str, ...]
    dynamic: bool
    """Whether the shell decides only at run time which program it is."""

    @property
    def args(self) -> tuple[str, ...]:
        """The words after the program."""
        return self.words[1:]

    @property
    def text(self) -> str:
        """The call as a rule would name it."""
        return " ".join((self.program, *self.args))


def calls(part: Part) -> list[Call]:
    """Return every program `part` would run, itself first, then those behind wrappers. Rather too many than too few.

    Where there are more than `MAX_CALLS`, or finding them takes too long, the last one is dynamic: what it runs is not known.
    """
    todo: list[tuple[Word, ...]] = [] if part.header else [part.words]
    seen: set[tuple[Word, ...]] = set()
    found: list[Call] = []
    cost = 0
    while todo:
        words = _without_assignments(todo.pop())
        if not words or words in seen:
            continue
        if len(found) >= MAX_CALLS or cost > MAX_COST:
            return [*found, Call("", ("",), dynamic=True)]
        seen.add(words)
        call = _call(words)
        found.append(call)
        starts, texts = _starts(call), [*_texts(call)]
        cost += len(words) * (len(starts) + 1) + sum(map(len, texts))
        todo += [words[start:] for start in starts]
        todo += [inner.words for text in texts for inner in shell.read(text).parts]
    return found


def _without_assignments(words: tuple[Word, ...]) -> tuple[Word, ...]:
    first = next((place for place, word in enumerate(words) if not _ASSIGNMENT.match(word.raw)), len(words))
    return words[first:]


def _call(words: tuple[Word, ...]) -> Call:
    values = tuple(word.value for word in words)
    return Call(posixpath.basename(values[0]), values, words[0].dynamic)


def _texts(call: Call) -> Iterator[str]:
    """The program texts that `call` hands to a shell."""
    if call.program in ("eval", "watch", "parallel", "script"):
        yield " ".join(call.args)
    elif call.program in SHELLS or call.program == "su":
        for flag, text in pairwise(call.args):
            if re.fullmatch(r"-[a-z]*c[a-z]*|--command", flag):
                yield text


def _starts(call: Call) -> list[int]:
    """The places in the words of `call` where another program may begin: after a wrapper any of them may."""
    if call.program in WRAPPERS:
        return [*range(1, min(len(call.words), MAX_CALLS + 2))]
    flags = {"find": ("-exec", "-execdir", "-ok", "-okdir"), "fd": ("-x", "-X", "--exec", "--exec-batch")}.get(call.program, ())
    return [place + 1 for place, word in enumerate(call.words[:-1]) if word in flags]


_CHANGES_ARGS = frozenset(
    {
        "rm",
        "rmdir",
        "unlink",
        "shred",
        "truncate",
        "tee",
        "touch",
        "mkdir",
        "chmod",
        "chown",
        "chgrp",
        "mv",
        "cp",
        "ln",
        "install",
    }
    | {"rsync", "dd", "patch", "mktemp", "scp", "unzip", "tar", "split", "csplit", "ed", "vi", "vim", "nano", "emacs", "sponge"}
)
_TALKS = frozenset({"echo", "printf", ":", "true", "false"})


def written(part: Part) -> Iterator[str]:
    """Yield the paths that `part` may change: redirection targets, and the arguments of programs that change files."""
    yield from (word.value for word in part.writes)
    for call in calls(part):
        edits = call.program in ("sed", "perl") and any(re.match(r"-[a-zA-Z]*i|--in-place", arg) for arg in call.args)
        git = call.program == "git" and bool({"checkout", "restore", "rm", "mv", "apply", "clean", "reset"} & set(call.args))
        if call.program in _CHANGES_ARGS or edits or git:
            yield from _path_like(call.args)


def read_from(part: Part) -> Iterator[str]:
    """Yield the paths that `part` may read: what is redirected into it, and every argument that may be a path."""
    yield from (word.value for word in part.reads)
    for call in calls(part):
        if call.program not in _TALKS:
            yield from _path_like(call.args)


_SCHEME: Final = re.compile(r"(?:^|[=,@])(?:https?|wss?|s?ftp|ftps|ssh|git|postgres(?:ql)?|mysql|rediss?|s3)$")
"""Before `://`: what follows names a host, not a folder at the root. `file` and `sqlite` are none of these: theirs are paths."""


def _path_like(args: tuple[str, ...]) -> Iterator[str]:
    """The arguments that may be paths, also behind `--file=`, `of=` and `@`."""
    for arg in args:
        if not arg.startswith("-"):
            yield arg
        for mark in ("=", "@", ":"):
            before, _, rest = arg.partition(mark)
            if rest and not (mark == ":" and rest.startswith("//") and _SCHEME.search(before)):
                yield rest
