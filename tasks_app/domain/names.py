"""Names: suggestions for a misspelt one, unique ones for agents, and the slug of a team."""

import difflib
import re
import unicodedata
from collections.abc import Collection, Iterable
from typing import Final

from tasks_app.domain.text import one_line

MAX_NAME: Final = 60
MAX_SLUG: Final = 60


def suggest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that was most likely meant (`enginer` → `engineer`), or None. Case does not count."""
    by_fold: dict[str, str] = {}
    for candidate in known:
        by_fold.setdefault(candidate.strip().casefold(), candidate)
    near = difflib.get_close_matches(name.strip().casefold()[:200], by_fold, n=1, cutoff=0.6)
    return by_fold[near[0]] if near else None


def did_you_mean(name: str, known: Collection[str]) -> str:
    """Return the fix for an unknown name: `Did you mean "engineer"?`, or all that are known when none is near."""
    meant = suggest(name, known)
    if meant:
        return f'Did you mean "{meant}"?'
    listed = sorted(known)[:10]
    return f"Known: {', '.join(listed)}{', …' if len(known) > len(listed) else ''}." if listed else ""


def unique(name: str, taken: Iterable[str]) -> str:
    """Return `name`, or the first of `name-2`, `name-3`, … that nobody has. Case does not make a name different."""
    used = {other.casefold() for other in taken}
    wanted = one_line(name, MAX_NAME) or "agent"
    if wanted.casefold() not in used:
        return wanted
    number = 2
    while (candidate := f"{wanted[: MAX_NAME - 1 - len(str(number))]}-{number}").casefold() in used:
        number += 1
    return candidate


def slug(name: str, taken: Collection[str] = ()) -> str:
    """Return a URL name of `[a-z0-9-]`, at most `MAX_SLUG` long, that is not in `taken`; never empty, never only digits."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    found = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:MAX_SLUG].strip("-")
    base = found if re.search("[a-z]", found) else f"team-{found}".strip("-")[:MAX_SLUG]
    candidate, number = base, 2
    while candidate in taken:
        candidate, number = f"{base[: MAX_SLUG - 1 - len(str(number))].rstrip('-')}-{number}", number + 1
    return candidate
