"""The board of a team, and what its lead can do with the team as a whole."""

from dataclasses import replace
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from dashboard.access import team_at
from dashboard.forms import budgets as budget_forms
from dashboard.forms import fields
from dashboard.http import post_only, shows
from dashboard.panels import args, pages
from dashboard.panels.agents import AgentSet
from dashboard.panels.board import KINDS, VIEWS, Filter
from dashboard.panels.messages import Messages
from dashboard.panels.team_head import TeamBar
from dashboard.panels.team_index import TeamIndex
from dashboard.templatetags.crew_format import plural
from dashboard.views.act import choose, perform
from dashboard.views.page import Page
from tasks_app.domain.errors import DomainError
from tasks_app.selectors import attempts
from tasks_app.selectors import how_it_goes as reports
from tasks_app.selectors import teams as selector
from tasks_app.services import actions, budgets
from tasks_app.services import teams as team_service


@shows
def listing(request: HttpRequest) -> HttpResponse:
    """List the teams by name: how a phone, which has no rail, gets to them."""
    page = Page.open(request, "teams")
    return page.render("pages/teams.html", {"index": TeamIndex().block(page.viewer.team_ids)})


@shows
def team(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the board or the table of a team."""
    chosen = Filter.parse(request.META.get("QUERY_STRING", ""))
    page = Page.open(request, "team", args.pack(slug, chosen.choices))
    return render(page, find(page, slug), chosen)


@shows
def how_it_goes(request: HttpRequest, slug: str) -> HttpResponse:
    """Show how a team does, on the whole and by day."""
    page = Page.open(request, "figures", slug)
    found = find(page, slug)
    return page.render(
        "pages/how_it_goes.html", {"team": found, "rehearsal": found.rehearsal, "report": reports.of_team(found.pk)}
    )


@post_only
def act(request: HttpRequest, slug: str) -> HttpResponse:
    """Pause, resume, stop, or change the budget of a team."""
    page = Page.open(request, "team", slug)
    found = find(page, slug, act=True)
    if raising := budget_forms.to_confirm(request.POST, **_budget(request, found)):
        return render(page, found, Filter(), posted={**_posted(request), "raising": raising})
    return perform(
        request,
        lambda: choose(request, _acts(request, found, page.viewer.actor))(),
        done=lambda: redirect("team", slug),
        refused=lambda problem: render(page, found, Filter(), problem=problem, posted=_posted(request)),
    )


def find(page: Page, slug: str, *, act: bool = False) -> selector.Identity:
    """Return the team of that address; raises NotFound where there is none or the viewer may not see it."""
    return team_at(page.viewer, slug, act=act)


def about(page: Page, team: selector.Identity) -> dict[str, Any]:
    """Return what every page below a team's own says of the team, and whether its forms are shown."""
    return {
        "slug": team.slug,
        "team_name": team.name,
        "rehearsal": team.rehearsal,
        "may_act": page.viewer.can_act(team.pk),
    }


def _acts(request: HttpRequest, found: selector.Identity, actor: str) -> dict[str, Any]:
    def pause() -> str:
        actions.pause_team(found.pk, actor=actor)
        return f"{found.name} is paused: what runs goes on, nothing new starts."

    def resume() -> str:
        actions.resume_team(found.pk, actor=actor)
        return f"{found.name} takes up work again."

    def stop() -> str:
        count = actions.stop_team(found.pk, actor=actor)
        return f"{found.name} is stopped. {plural(count, 'open attempt')} will end; their tasks go back to the queue."

    def budget() -> str:
        change = budget_forms.read(request.POST, **_budget(request, found))
        usd, tokens = fields.money(request.POST, "usd"), fields.count(request.POST, "tokens")
        budgets.set_team(found.pk, usd=usd, tokens=tokens, actor=actor)
        return f"The budget is set: {change}."

    def run_budget() -> str:
        change = budget_forms.read(request.POST, **_budget(request, found))
        usd, tokens = fields.money(request.POST, "usd"), fields.count(request.POST, "tokens")
        budgets.set_team_runs(found.pk, usd=usd, tokens=tokens, actor=actor)
        return f"The budget of each attempt is set: {change}. It holds from the next one on."

    def archive() -> str:
        team_service.archive(found.pk, actor=actor)
        return f"{found.name} is archived. The Overview lists it under Archived teams."

    def restore() -> str:
        team_service.restore(found.pk, actor=actor)
        return f"{found.name} is back in the lists."

    acts = {"pause": pause, "resume": resume, "stop": stop, "archive": archive, "restore": restore}
    return acts | {"budget": budget, "run_budget": run_budget}


def _budget(request: HttpRequest, found: selector.Identity) -> dict[str, Any]:
    """Return which budget the form is about: what holds now, and what would hold without one."""
    team = selector.summary(found.pk)
    if request.POST.get("do") == "budget":
        return {"old": (team.budget_usd, team.budget_tokens), "unset": budget_forms.TEAM}
    if request.POST.get("do") == "run_budget":
        return {"old": (team.run_budget.get("usd"), team.run_budget.get("tokens"))}
    return {"old": budget_forms.NONE}


def _posted(request: HttpRequest) -> dict[str, Any]:
    """Return what the form of the budget shows again."""
    return {name: request.POST.get(name, "")[:30] for name in ("do", "usd", "tokens")}


def render(
    page: Page,
    found: selector.Identity,
    chosen: Filter,
    *,
    problem: DomainError | None = None,
    posted: dict[str, Any] | None = None,
) -> HttpResponse:
    """Return the page of a team; with `problem` and `posted` for a form that was refused."""
    context = {
        "slug": found.slug,
        "team_name": found.name,
        "rehearsal": found.rehearsal,
        "bar": TeamBar().block(found.pk),
        "tasks": pages.tasks_of(found.pk, chosen),
        "agents": AgentSet().block(found.pk),
        "messages_block": Messages().block(found.pk),
        "members": attempts.members(found.pk),
        "can_add": page.viewer.can_act(found.pk),
        "filter": chosen,
        "kinds": list(KINDS.items()),
        "views": [(view, replace(chosen, view=view, column="", everything=False).query) for view in VIEWS],
        "posted": posted,
    }
    return page.render(
        "pages/team.html", context, problem=problem, fields=("usd", "tokens") if posted and "usd" in posted else ()
    )
