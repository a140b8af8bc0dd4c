"""Paths, lexically: what lies outside a workspace, what a rule's pattern covers, what looks like a secret.

Nothing here looks at a disk. Whoever holds the files resolves symbolic links first (`os.path.realpath`).
"""

import posixpath
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

MAX_PATH: Final = 8192
HARMLESS_TARGETS: Final = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/stdin"})
_SECRET_NAME = re.compile(
    r"(?i)^(?:\.env(?:\..+)?|\.envrc|.*\.pem|.*\.key|.*\.p12|.*\.pfx|.*\.keystore|id_(?:rsa|dsa|ecdsa|ed25519)|\.netrc|\.npmrc|\.pypirc|"
    r"\.pgpass|\.git-credentials|credentials(?:\.\w+)?|secrets?(?:\.\w+)?|service[-_]account.*\.json|\.vault[-_]?token|shadow|htpasswd)$"
)
_SECRET_FOLDERS: Final = frozenset({".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure", "secrets", ".secrets"})
_TEMPLATE = re.compile(r"(?i)\.(?:example|sample|template|dist|pub)$")
_PROTECTED: Final = frozenset({".git", ".claude", ".github", ".vscode", ".idea", ".husky"})


def normal(path: str, workspace: str) -> str:
    """Return `path` as an absolute normal path, read from `workspace`; a leading `~` stays what it is."""
    if path.startswith("~"):
        return posixpath.normpath(path)
    return "/" + posixpath.normpath(posixpath.join(workspace, path)).lstrip("/")


def outside(path: str, workspace: str) -> bool:
    """Whether `path` (absolute, or relative to the workspace) lies outside. Homes (`~`), NUL and over-long paths always do."""
    if not workspace or "\0" in path or path.startswith("~") or len(path) > MAX_PATH:
        return True
    root = normal(workspace, "/")
    found = normal(path, root)
    return root != "/" and found != root and not found.startswith(root + "/")


def inside(path: str, workspace: str) -> str | None:
    """Return `path` relative to the workspace (`.` for itself), or None where it lies outside."""
    if outside(path, workspace):
        return None
    root = normal(workspace, "/")
    return normal(path, root)[len(root.rstrip("/")) :].lstrip("/") or "."


def covers(pattern: str, path: str, workspace: str) -> bool:
    """Whether a rule's path pattern covers `path`.

    Patterns follow gitignore: `*.py` at any depth, `src/**`, `/docs` from the workspace's root; a pattern that names a folder
    covers what is in it. `//etc/**` is absolute and `~/x` starts at home: only these two reach outside the workspace.
    """
    if "\0" in path or len(path) > MAX_PATH:
        return False
    if pattern.startswith("~/"):
        return path.startswith("~/") and _covers(_segments(pattern[1:]), normal(path, "/")[1:])
    if pattern.startswith("//"):
        return not path.startswith("~") and _covers(_segments(pattern[1:]), normal(path, normal(workspace, "/")))
    relative = inside(path, workspace)
    return relative is not None and _covers(_segments(pattern), "" if relative == "." else relative)


@lru_cache(maxsize=1024)
def _segments(pattern: str) -> tuple[str, ...]:
    body = pattern.removeprefix("./").rstrip("/")
    segments = [segment for segment in body.split("/") if segment not in ("", ".")]
    anywhere = [] if "/" in body or pattern.startswith("./") else ["**"]
    return (*anywhere, *segments, "**")


def _covers(segments: Sequence[str], path: str) -> bool:
    return wild(segments, [part for part in path.split("/") if part], star="**", same=_same_segment)


def _same_segment(pattern: str, name: str) -> bool:
    return wild(pattern, name, star="*", same=lambda one, other: one in ("?", other))


def wild(pattern: Sequence[str], items: Sequence[str], *, star: str, same: Callable[[str, str], bool]) -> bool:
    """Whether `pattern` matches all of `items`, `star` standing for any number of them; at most len x len steps."""
    at, place, back, resume = 0, 0, -1, 0
    while at < len(items):
        if place < len(pattern) and pattern[place] == star:
            back, resume = place, at
            place += 1
        elif place < len(pattern) and same(pattern[place], items[at]):
            place, at = place + 1, at + 1
        elif back >= 0:
            resume += 1
            place, at = back + 1, resume
        else:
            return False
    return all(rest == star for rest in pattern[place:])


def is_secret(path: str) -> bool:
    """Whether the name or a folder of `path` is one where keys and passwords usually are (`.env`, `id_rsa`, `.ssh/…`)."""
    folders, name = posixpath.split(path.rstrip("/"))
    if _TEMPLATE.search(name):
        return False
    return bool(_SECRET_NAME.match(name)) or not _SECRET_FOLDERS.isdisjoint([*folders.split("/"), name])


def is_protected(path: str) -> bool:
    """Whether `path` lies in a folder whose files make other programs run code (`.git`, `.claude`, `.github`, …)."""
    return not _PROTECTED.isdisjoint(path.split("/"))
