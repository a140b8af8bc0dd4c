"""Invoice numbers: a year and a gapless count, such as 2026-00042."""

import re

_NUMBER = re.compile(r"(\d{4})-(\d{5})")


def following(last: str | None, year: int) -> str:
    """Return the number after `last`; the count starts again with each year."""
    if last is None:
        return f"{year}-00001"
    found = _NUMBER.fullmatch(last)
    if found is None:
        raise ValueError(f"{last!r} is no invoice number")
    count = int(found[2]) + 1 if int(found[1]) == year else 1
    return f"{year}-{count:05d}"
