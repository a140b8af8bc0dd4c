"""The blocks of the page Messages: the log with its filter, and who writes to whom."""

from typing import Any

from dashboard.access import Viewer
from dashboard.panels.base import Block
from tasks_app.selectors import messages, teams
from tasks_app.selectors.messages import Wanted
from tasks_app.services import keys

SHOWN = 100
"""Messages on the page, the newest first."""


class MessageLog:
    """The messages of a team; its arguments are the filter."""

    name = "message-log"
    template = "panels/message_log.html"

    def block(self, team_pk: int, wanted: Wanted) -> Block:
        """Return the messages of one team that fit."""
        changes = frozenset({keys.messages(team_pk), keys.agents(team_pk), keys.team(team_pk)})
        return Block(f"{self.name}-{team_pk}", self.name, (team_pk, wanted.who, wanted.state, wanted.priority), changes, team_pk)

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any] | None:
        """Return the messages, and how many more there may be."""
        team_pk, who, state, priority = int(block.args[0]), *(str(value) for value in block.args[1:])
        slug = teams.slug_of(team_pk)
        if slug is None:
            return None
        wanted = Wanted(who, state, priority)
        notes = messages.of_team(team_pk, wanted, limit=SHOWN + 1)
        return {"slug": slug, "notes": notes[:SHOWN], "shown": SHOWN, "more": len(notes) > SHOWN, "filtered": wanted != Wanted()}


class MessagePairs:
    """Who writes to whom in a team, and what the guard against loops held back last."""

    name = "message-pairs"
    template = "panels/message_pairs.html"

    def block(self, team_pk: int) -> Block:
        """Return the table of one team."""
        return Block(f"{self.name}-{team_pk}", self.name, (team_pk,), frozenset({keys.messages(team_pk)}), team_pk)

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any] | None:
        """Return the pairs, the busiest first."""
        team_pk = int(block.args[0])
        slug = teams.slug_of(team_pk)
        if slug is None:
            return None
        pairs = messages.pairs(team_pk)
        return {"slug": slug, "pairs": pairs, "most": messages.PAIRS, "held": messages.last_held(team_pk)}
