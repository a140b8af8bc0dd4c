"""Each boundary × each way in: the words of the refusal, or why there is no such way. docs/boundaries.md shows this table."""

from collections.abc import Mapping

WAYS = ("page", "terminal", "API", "agent's tool")
SHARED_GONE = "“port” does not exist; write it with version 0."
OVERTAKEN = "“port” is at version 2 by builder-2, not 1. Read it, then write again."
UNFIT = "The value does not fit the schema of “port”: value: 'x' is not of type 'integer'."
CYCLE = "That would close a cycle: T-1 → T-3 → T-2 → T-1."
UNKNOWN = "Did you mean builder-1?"
REPLACED = "taken; each stands as \ufffd"
"""Not refused: what an agent said must not be lost for a broken character."""
MOVED_ON = "has moved on since you looked"

WORDS: Mapping[str, Mapping[str, str]] = {
    "bad schema": dict.fromkeys(WAYS, UNFIT),
    "expired": {**dict.fromkeys(WAYS, SHARED_GONE), "page": "There is no such entry, or it has expired."},
    "conflicting versions": dict.fromkeys(WAYS, OVERTAKEN),
    "1 MB of emoji": {
        **dict.fromkeys(WAYS, "The message has 262,144 characters; at most 100,000 are taken."),
        "page": "At most 2 MB can be sent at once. Make it smaller and try again.",  # a form sends 12 bytes for each
    },
    "lone surrogates": dict.fromkeys(WAYS, REPLACED),
    "cycle": dict.fromkeys(WAYS, CYCLE),
    "deleted dependency": {
        "page": "This team has no task “T-9”. There are T-1 to T-3.",
        "terminal": "has no task “T-9”",
        "API": "This team has no task “T-9”. There are T-1 to T-3.",
        "agent's tool": "There is no task “T-9” in this team. There are: T-1, T-2, T-3.",
    },
    "unknown agent": dict.fromkeys(WAYS, UNKNOWN),
    "two restores at once": dict.fromkeys(WAYS[:3], MOVED_ON),
}
"""A cell that is not here is in `NO_WAY`."""

NO_WAY: Mapping[tuple[str, str], str] = {
    ("two restores at once", "agent's tool"): "no way in: an agent saves checkpoints, only people go back to one",
}


def cell(boundary: str, way: str) -> str:
    """Return what the table says in one cell."""
    return WORDS[boundary].get(way) or NO_WAY[boundary, way]


def as_markdown() -> str:
    """Return the table as docs/boundaries.md has it."""
    lines = [f"| | {' | '.join(WAYS)} |", f"|{' --- |' * (len(WAYS) + 1)}"]
    lines += [f"| {boundary} | {' | '.join(cell(boundary, way) for way in WAYS)} |" for boundary in WORDS]
    return "\n".join(lines) + "\n"
