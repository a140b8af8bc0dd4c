"""The Overview: all teams of a person at a glance."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from dashboard.panels.agents import AgentCard, AgentSet
from dashboard.panels.kpis import Kpis
from dashboard.panels.team_head import TeamHead
from dashboard.panels.team_list import TeamList
from dashboard.views.page import Page
from tasks_app.selectors import agents, teams


@require_GET
def overview(request: HttpRequest) -> HttpResponse:
    """Show the figures over all teams and each team with its agents."""
    page = Page.open(request, "overview")
    ids = page.viewer.team_ids
    found = teams.visible(ids)
    kpis, listed = Kpis().block(ids), TeamList().block(ids)
    page.ready[listed.id] = TeamList().of(found)
    for team in found:
        page.ready[TeamHead().block(team.pk).id] = TeamHead().of(team)
    page.ready.update(_agents(ids))
    return page.render("pages/overview.html", {"kpis": kpis, "teams": listed})


def _agents(team_ids: frozenset[int]) -> dict[str, dict[str, object]]:
    """Return the contexts of all sets and cards of these teams; three queries."""
    card, ready = AgentCard(), {}
    blocks: dict[int, list[object]] = {pk: [] for pk in team_ids}
    for agent in agents.of_teams(team_ids):
        block = card.block(agent.pk, agent.team_id)
        ready[block.id] = {"card": agent}
        blocks[agent.team_id].append(block)
    return ready | {AgentSet().block(pk).id: {"cards": cards} for pk, cards in blocks.items()}
