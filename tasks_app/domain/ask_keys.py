"""Ask keys: what makes a request the same one when it is asked again."""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from tasks_app.domain.asked import visible_json
from tasks_app.domain.statuses import DecisionKind

ASKED = {
    "permission": ("tool", "input"),
    "plan": ("plan",),
    "question": ("questions",),
    "escalation": ("problem", "options"),
    "review": ("criteria", "summary"),
}
"""The parts of a payload that make it the same request, however it is shown."""


def is_prose(kind: str) -> bool:
    """Whether a request of this kind is words for people; a permission is code."""
    return kind != DecisionKind.PERMISSION.value


def ask_key(kind: str, payload: Mapping[str, Any]) -> str:
    """Return the sha256 of what is asked; equal for the same request asked again by a later life of the run.

    Of what is asked it takes what can be seen, for a team that comes from a file has no more; but no key is hidden in it: two
    keys of one length are two requests.
    """
    return _sum(kind, {name: visible_json(part, prose=is_prose(kind)) for name, part in _parts(kind, payload).items()})


def earlier(kind: str, payload: Mapping[str, Any]) -> str:
    """Return the key that versions before this one gave to the same request: some of those are open."""
    return _sum(kind, _parts(kind, payload))


def _parts(kind: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    return {name: payload.get(name) for name in ASKED.get(kind, sorted(payload))}


def _sum(kind: str, parts: Mapping[str, Any]) -> str:
    return sha256(json.dumps([kind, parts], sort_keys=True, default=str).encode()).hexdigest()
