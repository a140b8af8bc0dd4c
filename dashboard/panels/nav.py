"""The rail on the left: the pages with the number that waits, and the teams with what calls for the lead."""

from collections.abc import Collection
from typing import Any

from dashboard.access import Viewer
from dashboard.panels import args
from dashboard.panels.base import Block
from tasks_app.selectors import inbox, teams
from tasks_app.services import keys


class Nav:
    """The rail; its arguments are the page it stands on and that page's own argument."""

    name = "nav"
    template = "panels/nav.html"

    def block(self, page: str, arg: str, team_ids: Collection[int]) -> Block:
        """Return the rail of a page."""
        changes = {keys.TEAMS, *(keys.inbox(pk) for pk in team_ids), *(keys.tasks(pk) for pk in team_ids)}
        return Block("nav-counts", self.name, (page, arg), frozenset(changes))

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any]:
        """Return the teams by name and what waits in all of them."""
        page, arg = (str(value) for value in block.args)
        marks = teams.marks(viewer.team_ids)
        return {"page": page, "arg": args.unpack(arg)[0], "teams": marks, "waiting": sum(mark.waiting for mark in marks)}


class Tabs(Nav):
    """The tabs at the foot of a phone."""

    name = "tabs"
    template = "panels/tabs.html"

    def block(self, page: str, arg: str, team_ids: Collection[int]) -> Block:
        """Return the tabs of a page."""
        return Block("tab-counts", self.name, (page, arg), frozenset({keys.TEAMS, *(keys.inbox(pk) for pk in team_ids)}))

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any]:
        """Return the page and what waits in all teams."""
        listed = teams.listed(viewer.team_ids)
        return {"page": str(block.args[0]), "waiting": inbox.total(listed).open}
