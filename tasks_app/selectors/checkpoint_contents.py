"""What stored checkpoints hold, read once per process: it never changes, and reading it means hashing and checking the whole.

A restore and its preview do not ask here: they look at what is stored.
"""

import json
from collections import OrderedDict
from collections.abc import Collection
from threading import Lock
from typing import Any

from tasks_app.domain import checkpoint
from tasks_app.domain.checkpoint import Content, TeamMark
from tasks_app.domain.errors import Invalid
from tasks_app.models import Checkpoint

ROOM = 16 * 2**20
"""So many characters of JSON are kept: the list of a team with 50 checkpoints of 500 tasks each."""
Read = Content | str
"""What it holds, or why it cannot be restored."""


class Contents:
    """The contents of checkpoints by their ids: those used last, up to `room` characters of JSON. For all threads."""

    def __init__(self, room: int = ROOM) -> None:
        self._kept: OrderedDict[str, tuple[Read, int]] = OrderedDict()
        self._left = room
        self._lock = Lock()

    def of(self, ids: Collection[str], *, team: TeamMark) -> dict[str, Read]:
        """Return what these checkpoints of the team hold; one that is gone is missing. One query, none where all are known."""
        with self._lock:
            found = {pk: self._kept[pk][0] for pk in ids if pk in self._kept}
            for pk in found:
                self._kept.move_to_end(pk)
        if left := [pk for pk in ids if pk not in found]:
            for pk, data in Checkpoint.objects.filter(pk__in=left).values_list("pk", "data"):
                found[pk] = _read(data, team)
                self._keep(pk, found[pk], len(json.dumps(data)))
        return found

    def _keep(self, pk: str, content: Read, size: int) -> None:
        with self._lock:
            if pk in self._kept:  # another thread has read it meanwhile
                return
            self._kept[pk] = content, size
            self._left -= size
            while self._left < 0:
                _, (_, freed) = self._kept.popitem(last=False)
                self._left += freed


KEPT = Contents()


def _read(data: Any, team: TeamMark) -> Read:
    try:
        return checkpoint.read(data, team=team)
    except Invalid as refused:
        return refused.message.removesuffix(" Nothing was changed.")
