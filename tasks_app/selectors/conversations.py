"""What a process that goes on in a stored session reads of it: a line whose parent was lost is read by none."""

import json
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tasks_app.models import TranscriptEntry

LATEST_LINES = 400
"""A gap that lies further back than this is not seen."""
TASK, FORK = "[crewdesk:task ", "[crewdesk:fork "
LIFE = re.compile(r"\[crewdesk:life ([\w-]{1,20}):\d+\]")


@dataclass(frozen=True)
class Line:
    """One of the latest lines; `reached`: nothing that it follows from was lost."""

    uuid: str
    text: str
    entry: dict[str, Any]
    reached: bool

    @property
    def parent(self) -> str:
        """The uuid of the line that it follows; "" for the first."""
        return str(self.entry.get("parentUuid") or "")


def begins(words: str, run_id: str) -> bool:
    """Whether this is the prompt that an attempt begins with: its own, for a fork begins with a copy of another's.

    The first mark says whose it is. What was tried before quotes the prompts of other attempts, marks and all.
    """
    first = LIFE.search(words)
    return (TASK in words or FORK in words) and (first is None or first[1] == run_id)


class Conversation:
    """The latest lines of a session, read once, when the first question is asked."""

    def __init__(self, session_id: str) -> None:
        self._stored = TranscriptEntry.objects.filter(session_id=session_id, subpath="").exclude(uuid=None)

    @cached_property
    def read_by_the_next(self) -> list[str]:
        """The lines that a process which goes on reads.

        A line whose parent was lost (a disk that was full for a moment) is none of them, nor is any that follows from it.
        """
        return [line.text for line in self._lines if line.reached]

    @cached_property
    def since(self) -> float:
        """From when on the lines hold everything, in Unix seconds; 0 where they are all there is."""
        oldest = self._stored.order_by("-pk").values_list("mtime_ms", flat=True)[LATEST_LINES - 1 : LATEST_LINES]
        return next((found / 1000 for found in oldest), 0.0)

    def has_lost_its_task(self, run_id: str) -> bool:
        """Whether lines were lost so early that nothing of the model's follows from the prompt that the attempt began with.

        Claude Code leaves a prompt without an answer out when it goes on: the agent would not know what its task is.
        """
        read = [line for line in self._lines if line.reached]
        if len(read) == len(self._lines):
            return False
        after = set[str]()
        for line in read:
            if line.entry.get("type") == "user" and begins(line.text, run_id):
                after = {line.uuid}
            elif line.parent in after:
                if line.entry.get("type") == "assistant":
                    return False
                after.add(line.uuid)
        return bool(after) or self.since == 0

    @cached_property
    def _lines(self) -> list[Line]:
        latest = list(self._stored.order_by("-pk").values_list("uuid", "entry")[:LATEST_LINES])[::-1]
        entries = [(str(uuid), text, json.loads(text)) for uuid, text in latest]
        parents = {str(entry.get("parentUuid") or "") for *_, entry in entries} - {uuid for uuid, *_ in entries}
        reached = {"", *self._stored.filter(uuid__in=parents).values_list("uuid", flat=True)}
        lines = []
        for uuid, text, entry in entries:
            lines.append(Line(uuid, text, entry, str(entry.get("parentUuid") or "") in reached))
            if lines[-1].reached:
                reached.add(uuid)
        return lines
