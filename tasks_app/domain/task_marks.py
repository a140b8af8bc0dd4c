"""What Crewdesk itself keeps in a task's metadata. It steers reviews and splitting, so nobody else may set it."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from tasks_app.domain.errors import Invalid
from tasks_app.domain.ids import parse_task_label
from tasks_app.domain.text import clean

REVIEW: Final = "review"
SPLIT_OF: Final = "split_of"
SPLIT_DEPTH: Final = "split_depth"
RESERVED: Final = (REVIEW, SPLIT_OF, SPLIT_DEPTH)
MOST_DEPTH: Final = 2
"""A part of a part is not split again."""
_VERDICT: Final = ("verdict", "note", "by")


def must_be_free(names: Iterable[Any]) -> None:
    """Raise `Invalid` that names the first key which is Crewdesk's own: to set it, or to take it away."""
    given = {clean(str(name)) for name in names}  # as they will be stored
    if taken := next((key for key in RESERVED if key in given), ""):
        raise Invalid(f"“{taken}” is kept by Crewdesk itself. Use another name.", field=f"metadata.{taken}")


def odd(metadata: Any, *, reviews: bool) -> tuple[str, ...]:
    """Return the keys of ours in stored metadata that Crewdesk cannot have written: before they were reserved anybody could.

    `reviews`: the task judges another one; only then it says whom and what. Of what a task is a part, and how deep, belong
    together: one that is odd makes both so.
    """
    found: Mapping[str, Any] = metadata if isinstance(metadata, Mapping) else {}
    wrong = [REVIEW] if REVIEW in found and not (reviews and _is_review(found[REVIEW])) else []
    if not _is_part(found.get(SPLIT_OF), found.get(SPLIT_DEPTH)):
        wrong += [key for key in (SPLIT_OF, SPLIT_DEPTH) if key in found]
    return tuple(wrong)


def believed(metadata: Any, *, reviews: bool) -> dict[str, Any]:
    """Return stored metadata without what is `odd`: nothing of that may decide on anything."""
    wrong = odd(metadata, reviews=reviews)
    return {key: value for key, value in metadata.items() if key not in wrong} if isinstance(metadata, Mapping) else {}


def _is_part(label: Any, depth: Any) -> bool:
    return isinstance(label, str) and parse_task_label(label) is not None and type(depth) is int and 1 <= depth <= MOST_DEPTH


def _is_review(given: Any) -> bool:
    if not isinstance(given, Mapping) or set(given) - {"attempt", "numbers", "reviewer", *_VERDICT}:
        return False
    numbers = given.get("numbers")
    return (
        isinstance(numbers, list)
        and all(type(one) is int for one in [*numbers, given.get("attempt")])
        and all(isinstance(given[name], str) for name in _VERDICT if name in given)
        and len([name for name in _VERDICT if name in given]) in (0, len(_VERDICT))
        and isinstance(given.get("reviewer"), str)
    )
