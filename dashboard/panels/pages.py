"""Which live blocks each page shows, containers first; what is nested in them is found when they are drawn."""

from collections.abc import Callable, Mapping

from dashboard.access import Viewer
from dashboard.panels.attention import Attention
from dashboard.panels.base import Block
from dashboard.panels.kpis import Kpis
from dashboard.panels.nav import Nav, Tabs
from dashboard.panels.team_list import TeamList
from tasks_app.domain.errors import NotFound


def blocks(page: str, arg: str, viewer: Viewer) -> list[Block]:
    """Return the blocks of a page for a viewer; raises NotFound for a page or thing that this viewer may not see."""
    if page not in PAGES:
        raise NotFound("There is no such page.", field="page")
    return [*chrome(page, arg, viewer).values(), *PAGES[page](arg, viewer)]


def chrome(page: str, arg: str, viewer: Viewer) -> dict[str, Block]:
    """Return what stands around every page: the amber bar, the rail and the tabs of a phone."""
    teams = viewer.team_ids
    return {
        "attention": Attention().block(teams),
        "nav": Nav().block(page, arg, teams),
        "tabs": Tabs().block(page, arg, teams),
    }


def overview(arg: str, viewer: Viewer) -> list[Block]:
    """Return the figures and the list of teams."""
    return [Kpis().block(viewer.team_ids), TeamList().block(viewer.team_ids)]


def plain(arg: str, viewer: Viewer) -> list[Block]:
    """Return nothing: the page itself is not live."""
    return []


PAGES: Mapping[str, Callable[[str, Viewer], list[Block]]] = {
    "overview": overview,
    "team-new": plain,
    "error": plain,
}
