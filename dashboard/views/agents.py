"""An agent's page with its transcript, and what the lead can do with an agent."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from dashboard.access import require_team
from dashboard.http import post_only, shows
from dashboard.panels import args
from dashboard.panels.agent_page import AgentHead
from dashboard.panels.messages import Messages
from dashboard.panels.structure import AgentStructure
from dashboard.panels.transcript import Transcript
from dashboard.views.act import Act, choose, perform
from dashboard.views.page import Page
from tasks_app.domain.errors import DomainError, NotFound
from tasks_app.domain.text import clean
from tasks_app.selectors import agents as selector
from tasks_app.selectors import steps
from tasks_app.selectors.agents import AgentCard
from tasks_app.services import actions

GONE = "There is no such agent, or you have no access to it."


@shows
def agent(request: HttpRequest, pk: int) -> HttpResponse:
    """Show an agent and the transcript of one of its runs: the open or else the newest one, or the one asked for (`run`)."""
    page = Page.open(request, "agent", str(pk))
    return render(page, _find(page, pk))


@post_only
def act(request: HttpRequest, pk: int) -> HttpResponse:
    """Stop an agent, or let it work again."""
    page = Page.open(request, "agent", str(pk))
    card = _find(page, pk, act=True)
    return perform(
        request,
        lambda: choose(request, _acts(card, page.viewer.actor))(),
        done=lambda: redirect("agent", pk),
        refused=lambda problem: render(page, card, problem=problem),
    )


def _find(page: Page, pk: int, *, act: bool = False) -> AgentCard:
    card = selector.by_ids([pk]).get(pk)
    if card is None or not page.viewer.can_see(card.team_id):
        raise NotFound(GONE)
    require_team(page.viewer, card.team_id, act=act)
    return card


def _acts(card: AgentCard, actor: str) -> dict[str, Act]:
    def stop() -> str:
        actions.stop_agent(card.pk, actor=actor)
        return f"{card.name} is stopped. It takes no task and no prompt until you start it again."

    def resume() -> str:
        actions.resume_agent(card.pk, actor=actor)
        return f"{card.name} may be given work again."

    return {"stop": stop, "resume": resume}


def render(
    page: Page, card: AgentCard, *, problem: DomainError | None = None, posted: dict[str, Any] | None = None
) -> HttpResponse:
    """Return the page of an agent; with `problem` and `posted` for a form that was refused."""
    get = page.request.GET
    runs = steps.heads(card.pk)
    newest = next((head for head in runs if head.open), runs[0] if runs else None)
    run = next((head for head in runs if head.id == get.get("run")), newest)
    only = get.get("only", "") if get.get("only", "") in steps.FILTERS else ""
    before = get.get("before", "")
    upto = int(before) if before.isascii() and before.isdigit() and len(before) < 10 else 0
    find = " ".join(clean(get.get("find", "")).split())[: steps.MAX_FIND]
    chosen = {"run": run.id if run else "", "only": only, "before": str(upto) if upto else "", "find": find}
    page.arg = args.pack(str(card.pk), chosen)
    context: dict[str, Any] = {
        "card": card,
        "rehearsal": card.rehearsal,
        "head": AgentHead().block(card.pk, card.team_id),
        "structure": AgentStructure().block(card.pk, card.team_id),
        "runs": runs,
        "run": run,
        "only": only,
        "find": find,
        "filters": [("", "All"), ("tools", "Tools"), ("text", "Text"), ("errors", "Errors")],
        "transcript": Transcript().block(run.id, only, upto, card.team_id, find) if run else None,
        "messages_block": Messages().block(card.team_id, card.pk),
        "posted": posted,
    }
    return page.render("pages/agent.html", context, problem=problem)
