"""Rules of shared values: their names, how large they may be, and how a large one is shown shortened."""

import json
from dataclasses import dataclass
from typing import Any, Final

from tasks_app.domain.errors import Invalid, TooLarge
from tasks_app.domain.text import clean, clean_json, cut, mask_json, one_line

MAX_NAME: Final = 120
MOST: Final = 10 * 1024 * 1024
"""Bytes of one value, as JSON in UTF-8."""
INLINE: Final = 32 * 1024
"""A value of more bytes than this is stored outside its row."""
PREVIEW: Final = 2_000
HISTORY: Final = 20
"""Earlier versions that are kept of an entry."""
MAX_ENTRIES: Final = 1_000
MAX_TTL_S: Final = 366 * 86_400
READ_AT_ONCE: Final = 40_000
"""Characters that one call of ReadContext returns: more would not fit in what Claude Code takes from a tool."""


@dataclass(frozen=True)
class Value:
    """A value as it is stored: plain JSON, clean, masked."""

    plain: Any
    text: str

    @property
    def data(self) -> bytes:
        """Its JSON in UTF-8."""
        return self.text.encode()

    @property
    def preview(self) -> str:
        """How it begins."""
        return cut(self.text, PREVIEW)


def value(given: Any) -> Value:
    """Return what is stored of a value. Raises `TooLarge`."""
    plain = mask_json(clean_json(given))
    text = dumps(plain)
    if len(text) > MOST or len(text.encode()) > MOST:
        raise TooLarge(f"The value is larger than {MOST // 2**20} MB. Put it in a file and share its path.", field="value")
    return Value(plain, text)


def dumps(plain: Any) -> str:
    """Return a value as the JSON that is counted, stored and shown."""
    return json.dumps(plain, ensure_ascii=False)


def name(given: str) -> str:
    """Return a name of an entry, trimmed. Raises `Invalid`."""
    found = clean(given).strip()
    if not 0 < len(found) <= MAX_NAME:
        raise Invalid(f"The name must have 1 to {MAX_NAME} characters.", field="name")
    if found != one_line(found, MAX_NAME):
        raise Invalid("The name must be one line of plain text, such as api.base_url.", field="name")
    return found


def ttl_s(given: float | None) -> float | None:
    """Return the time to live. Raises `Invalid`; `not 0 < x` also refuses NaN."""
    if given is not None and not 0 < given <= MAX_TTL_S:
        raise Invalid("The time to live must be above 0 and at most a year, in seconds.", field="ttl_s")
    return given
