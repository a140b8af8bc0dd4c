"""The log of all teams of a person, newest first; its first page is live."""

from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

from dashboard.access import Viewer
from dashboard.panels import args
from dashboard.panels.base import Block
from tasks_app.domain.ids import parse_task_label
from tasks_app.domain.text import one_line
from tasks_app.selectors import history, sentences
from tasks_app.selectors.history import Filter, HistoryPage
from tasks_app.services import keys

KINDS: Mapping[str, str] = {
    "team": "Teams",
    "task": "Tasks",
    "run": "Attempts",
    "decision": "Requests",
    "message": "Messages",
    "context": "Shared data",
    "checkpoint": "Checkpoints",
    "budget": "Budgets",
    "agent": "Agents",
    "note": "Notes",
}
MAX_QUERY = 2000
MAX_TEXT = 80
Chosen = Mapping[str, Any]


class History:
    """Its argument is the filter, packed (see `parse`)."""

    name = "history"
    template = "panels/history.html"

    def block(self, packed: str, team_ids: Collection[int]) -> Block:
        """Return the log through a filter; a page of earlier events never changes."""
        chosen = parse(args.unpack(packed)[1])
        changes = {keys.team(pk) for pk in team_ids} | ({keys.steps(pk) for pk in team_ids} if chosen["steps"] else set())
        return Block("history", self.name, (packed,), frozenset(changes) if chosen["before"] is None else frozenset())

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any]:
        """Return the events of the viewer's teams, each with its sentence, and the address of the earlier ones."""
        chosen = parse(args.unpack(str(block.args[0]))[1])
        teams = viewer.team_ids & {chosen["team"]} if chosen["team"] else viewer.team_ids
        page = read(teams, chosen)
        return {
            "lines": [(entry, sentences.sentence(entry)) for entry in page.entries],
            "earlier": query({**chosen, "before": page.earlier}) if page.earlier else "",
            "newest": query({**chosen, "before": None}),
            "unfinished": page.unfinished,
            "looked_at": history.SCAN,
            "chosen": chosen,
            "filtered": bool(query({**chosen, "before": None, "steps": False})),
            "bad_task": bool(chosen["task"]) and parse_task_label(chosen["task"]) is None,
        }


def read(team_ids: Collection[int], chosen: Chosen) -> HistoryPage:
    """Return the events of these teams that were chosen; none for a task that is no task number."""
    number = parse_task_label(chosen["task"])
    if chosen["task"] and number is None:
        return HistoryPage((), None)
    wanted = Filter(
        task=number,
        agent=chosen["agent"],
        kind=chosen["kind"],
        decisions=chosen["decisions"],
        steps=chosen["steps"],
        text=chosen["q"],
    )
    return history.page(team_ids, wanted, before=chosen["before"])


def parse(query: str) -> Chosen:
    """Return the filter in a query string: what of it is unknown counts as not given."""
    found = dict(parse_qsl(query[:MAX_QUERY]))
    words = {name: one_line(found.get(name, ""), MAX_TEXT).strip() for name in ("task", "agent", "q")}
    return {
        "team": _number(found.get("team", "")),
        **words,
        "kind": found.get("kind", "") if found.get("kind", "") in KINDS else "",
        "decisions": found.get("decisions") == "1",
        "steps": found.get("steps") == "1",
        "before": _number(found.get("before", "")),
    }


def query(chosen: Chosen) -> str:
    """Return the query string of a filter, without what is not chosen."""
    return urlencode(plain(chosen))


def plain(chosen: Chosen) -> dict[str, object]:
    """Return what is chosen, as it stands in a query string."""
    return {name: 1 if value is True else value for name, value in chosen.items() if value}


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
