"""The log of all teams of a person, newest first; its first page is live."""

from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import parse_qsl

from dashboard.access import Viewer
from dashboard.panels import args
from dashboard.panels.base import Block
from tasks_app.selectors import history
from tasks_app.services import keys

KINDS = ("team", "task", "run", "decision", "message", "context", "checkpoint", "budget", "agent")


class History:
    """Its argument is the filter, packed: team, kind, before, steps."""

    name = "history"
    template = "panels/history.html"

    def block(self, packed: str, team_ids: Collection[int]) -> Block:
        """Return the log through a filter; a page of earlier events never changes."""
        live = parse(args.unpack(packed)[1])["before"] is None
        return Block("history", self.name, (packed,), frozenset(keys.team(pk) for pk in team_ids) if live else frozenset())

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any]:
        """Return the events of the viewer's teams."""
        chosen = parse(args.unpack(str(block.args[0]))[1])
        teams = viewer.team_ids & {chosen["team"]} if chosen["team"] else viewer.team_ids
        page = history.page(teams, kind=chosen["kind"], before=chosen["before"], steps=chosen["steps"])
        return {"page": page, "chosen": chosen}


def parse(query: str) -> Mapping[str, Any]:
    """Return the filter in a query string; what is unknown in it counts as not given."""
    found = dict(parse_qsl(query[:500]))
    return {
        "team": _number(found.get("team", "")),
        "kind": found.get("kind", "") if found.get("kind", "") in KINDS else "",
        "before": _number(found.get("before", "")),
        "steps": found.get("steps") == "1",
    }


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
