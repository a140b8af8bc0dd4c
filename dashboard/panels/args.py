"""The argument of a page as the socket takes it: a name, then what was chosen, in letters that need no escaping."""

import base64
import binascii
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode

MAX = 200
"""What the socket takes (dashboard/live/consumer.py)."""
MARK = "~"


def pack(head: str, chosen: Mapping[str, object]) -> str:
    """Return `head`, or `head~…` with the choices that are not empty."""
    query = urlencode({name: value for name, value in chosen.items() if value})
    return f"{head}{MARK}{base64.urlsafe_b64encode(query.encode()).decode().rstrip('=')}" if query else head


def unpack(arg: str) -> tuple[str, str]:
    """Return the name and the query string; anything that `pack` cannot have made counts as nothing chosen."""
    head, _, packed = arg.partition(MARK)
    try:
        return head, base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return head, ""


def choices(arg: str) -> tuple[str, dict[str, str]]:
    """Return the name and the choices."""
    head, query = unpack(arg)
    return head, dict(parse_qsl(query))
