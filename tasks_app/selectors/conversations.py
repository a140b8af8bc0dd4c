"""The latest stored lines of a session: what a process that goes on in it knows, as far as it is not summarised."""

import re
from functools import cached_property

from tasks_app.models import TranscriptEntry

LATEST_LINES = 400
"""What lies further back than this is not looked at."""
TASK, FORK = "[crewdesk:task ", "[crewdesk:fork "
LIFE = re.compile(r"\[crewdesk:life ([\w-]{1,20}):\d+\]")


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
    def lines(self) -> list[str]:
        """The lines as they are stored, oldest first."""
        return list(self._stored.order_by("-pk").values_list("entry", flat=True)[:LATEST_LINES])[::-1]

    @cached_property
    def since(self) -> float:
        """From when on the lines hold everything, in Unix seconds; 0 where they are all there is."""
        oldest = self._stored.order_by("-pk").values_list("mtime_ms", flat=True)[LATEST_LINES - 1 : LATEST_LINES]
        return next((found / 1000 for found in oldest), 0.0)

    def holds(self, words: str) -> bool:
        """Whether a line has these words, as they stand in its JSON."""
        return any(words in line for line in self.lines)

    def holds_call(self, tool_use_id: str) -> bool:
        """Whether a line makes this call. Claude Code leaves a result out whose call was lost."""
        return self.holds(f'"id": "{tool_use_id}"')
