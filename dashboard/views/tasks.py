"""A task's page, and what the lead can do with a task or an attempt."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from dashboard.access import require_team
from dashboard.forms import budgets as budget_forms
from dashboard.forms import fields
from dashboard.forms import tasks as forms
from dashboard.http import post_only, shows
from dashboard.idempotency import key_of
from dashboard.panels import args
from dashboard.panels.task_page import ALL, WHICH, Attempts, Handover, TaskActions, TaskHead
from dashboard.views.act import Act, Said, choose, perform
from dashboard.views.page import Page
from tasks_app.domain.errors import DomainError, NotFound
from tasks_app.execution import handover
from tasks_app.execution.handover import Told
from tasks_app.selectors import attempts as selector
from tasks_app.selectors import look, steps
from tasks_app.services import actions, budgets, drafts, task_edits, undo
from tasks_app.services.moments import one_moment

GONE = "There is no such task, or you have no access to it."
FIELDS = {
    "reassign": ["guidance"],
    "guidance": ["words"],
    "complete": ["note"],
    "cancel": ["why"],
    "reopen": ["why"],
    "budget": ["usd", "tokens"],
    "run_budget": ["usd", "tokens"],
    "depend": ["depends_on"],
}
"""The fields of each form of the page at which it says what is wrong with them."""


@shows
def task(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a task with its attempts."""
    page = Page.open(request, "task", _arg(request, pk))
    return _render(page, pk, _team(page, pk))


@post_only
def act(request: HttpRequest, pk: int) -> HttpResponse:
    """Reassign, complete by hand, cancel, reopen, move, change the budget or take a rule back."""
    page = Page.open(request, "task", _arg(request, pk))
    team_pk = _team(page, pk, act=True)
    if "preview" in request.POST.getlist("do"):
        return _preview(request, page, pk, team_pk)
    if raising := budget_forms.to_confirm(request.POST, old=_budget(request, pk)):
        return _render(page, pk, team_pk, posted={**_posted(request), "raising": raising})
    return perform(
        request,
        lambda: choose(request, _acts(request, pk, page.viewer.actor))(),
        done=lambda: back(request, pk),
        refused=lambda problem: _render(page, pk, team_pk, problem=problem, posted=_posted(request)),
    )


def _preview(request: HttpRequest, page: Page, pk: int, team_pk: int) -> HttpResponse:
    """Show what an attempt would be told by the form for reassigning; nothing is changed."""
    posted = {**_posted(request), "do": "reassign"}
    try:
        agent = fields.pk(request.POST, "agent")
        if agent is not None and agent not in {one.pk for one in selector.members(team_pk)}:
            raise NotFound("There is no such agent in this team.", field="agent")
        told = handover.told(pk, agent_id=agent, guidance=fields.text(request.POST, "guidance"))
    except DomainError as problem:
        return _render(page, pk, team_pk, problem=problem, posted=posted)
    return _render(page, pk, team_pk, posted=posted, preview=told)


@post_only
def stop_run(request: HttpRequest, id: str) -> HttpResponse:
    """Stop an attempt."""
    page = Page.open(request, "task")
    where = steps.where(id)
    if where is None or not page.viewer.can_see(where[0]):
        raise NotFound("There is no such attempt, or you have no access to it.")
    team_pk, task_pk, _ = where
    require_team(page.viewer, team_pk, act=True)
    page.arg = _arg(request, task_pk)

    def stop() -> str:
        actions.stop_run(id, actor=page.viewer.actor)
        return "The attempt is being stopped. Its task waits until you start it again."

    return perform(
        request,
        stop,
        done=lambda: back(request, task_pk),
        refused=lambda problem: _render(page, task_pk, team_pk, problem=problem),
    )


def _arg(request: HttpRequest, pk: int) -> str:
    return args.pack(str(pk), {WHICH: _which(request)})


def _which(request: HttpRequest) -> str:
    """Which attempts the page shows: a form's answer those of the page that it stands on, which htmx names."""
    if request.method == "GET":
        return ALL if request.GET.get(WHICH) == ALL else ""
    query = request.headers.get("HX-Current-URL", "").partition("#")[0].partition("?")[2]
    return ALL if f"{WHICH}={ALL}" in query.split("&") else ""


def back(request: HttpRequest, pk: int) -> HttpResponse:
    """Return the way from what a form of the page did to the page, with the attempts that it showed."""
    which = _which(request)
    return redirect(reverse("task", args=[pk]) + (f"?{WHICH}={which}" if which else ""))


def _team(page: Page, pk: int, *, act: bool = False) -> int:
    team_pk = selector.team_of(pk)
    if team_pk is None or not page.viewer.can_see(team_pk):
        raise NotFound(GONE)
    require_team(page.viewer, team_pk, act=act)
    return team_pk


def _acts(request: HttpRequest, pk: int, actor: str) -> dict[str, Act]:
    post = request.POST

    def reassign() -> Said:
        guidance = fields.text(post, "guidance")
        agent, start = fields.pk(post, "agent"), post.get("start", "clean")
        key = key_of(request)
        back = undo.reassign(pk, agent_id=agent, guidance=guidance, start=start, actor=actor, idempotency_key=key)
        return Said("Reassigned: the next attempt starts as soon as the agent is free.", back)

    def complete() -> str:
        actions.complete_by_hand(pk, note=fields.text(post, "note"), actor=actor)
        return "Completed by hand."

    def cancel() -> Said:
        back = undo.cancel(pk, why=fields.text(post, "why"), actor=actor)
        return Said("Cancelled. What depends on it stays blocked.", back)

    def reopen() -> str:
        actions.reopen(pk, why=fields.text(post, "why"), actor=actor)
        return "Opened again."

    return {
        "reassign": reassign,
        "complete": complete,
        "cancel": cancel,
        "reopen": reopen,
        **_needs(request, pk, actor),
        **_settings(request, pk, actor),
    }


def _settings(request: HttpRequest, pk: int, actor: str) -> dict[str, Act]:
    """Return what changes how a task is worked on: its budget, its rules, its place in the queue."""
    post = request.POST

    def budget() -> str:
        change = budget_forms.read(post, old=_budget(request, pk))
        budgets.set_task(pk, usd=fields.money(post, "usd"), tokens=fields.count(post, "tokens"), actor=actor)
        return f"The budget is set: {change}."

    def run_budget() -> str:
        change = budget_forms.read(post, old=_budget(request, pk))
        budgets.set_task_runs(pk, usd=fields.money(post, "usd"), tokens=fields.count(post, "tokens"), actor=actor)
        return f"The budget of each attempt is set: {change}. It holds from the next one on."

    def revoke() -> str:
        rule = fields.pk(post, "rule")
        if rule is None or rule not in selector.rule_ids(pk):
            raise NotFound("There is no such rule in this task.", field="rule")
        task_edits.revoke_rule(rule, actor=actor)
        return "The rule is taken back: such calls ask again."

    def guidance() -> str:
        words = fields.text(post, "words")
        task_edits.set_guidance(pk, words, made_from=post.get("seen", "")[:64], actor=actor, field="words")
        return "Saved: the next attempt is told so."

    def move(up: bool) -> Act:
        return lambda: task_edits.move(pk, up=up, actor=actor)

    return {
        "guidance": guidance,
        "budget": budget,
        "run_budget": run_budget,
        "revoke": revoke,
        "up": move(True),
        "down": move(False),
    }


def _budget(request: HttpRequest, pk: int) -> tuple[budget_forms.Amount, budget_forms.Amount]:
    """Return what the budget that the form is about allows now, in USD and in tokens; None: no limit of its own."""
    found = selector.page(pk) if request.POST.get("do") in ("budget", "run_budget") else None
    if found is None:
        return budget_forms.NONE
    if request.POST.get("do") == "budget":
        return found.budget_usd, found.budget_tokens
    return found.run_budget_usd, found.run_budget_tokens


def _needs(request: HttpRequest, pk: int, actor: str) -> dict[str, Act]:
    """Return what changes what a task waits for."""
    post = request.POST

    def depend() -> str:
        named = fields.text(post, "depends_on", 400, needed="Write one or more tasks, such as T-3.")
        team_pk = selector.team_of(pk) or 0
        task_edits.add_dependencies(pk, needs=drafts.needs(team_pk, forms.labels(named)), actor=actor)
        return "It waits for that now, too."

    def unblock() -> str:
        needs = fields.pk(post, "needs")
        if needs is None:
            raise NotFound("There is no such task.", field="needs")
        actions.unblock(pk, needs=needs, actor=actor)
        return "It no longer waits for that."

    return {"depend": depend, "unblock": unblock}


def _posted(request: HttpRequest) -> dict[str, Any]:
    """Return what the forms show again; only texts, and the agent as a number."""
    names = ("do", "guidance", "words", "start", "note", "why", "usd", "tokens", "depends_on")
    agent = request.POST.get("agent", "")
    return {name: request.POST.get(name, "")[: fields.MAX_TEXT] for name in names} | {
        "agent": int(agent) if agent.isascii() and agent.isdigit() and len(agent) < 19 else None
    }


def _render(
    page: Page,
    pk: int,
    team_pk: int,
    *,
    problem: DomainError | None = None,
    posted: dict[str, Any] | None = None,
    preview: Told | None = None,
) -> HttpResponse:
    with one_moment(), look.through({}):
        return _draw(page, pk, team_pk, problem=problem, posted=posted, preview=preview)


def _draw(
    page: Page, pk: int, team_pk: int, *, problem: DomainError | None, posted: dict[str, Any] | None, preview: Told | None
) -> HttpResponse:
    found = selector.page(pk)
    if found is None:
        raise NotFound(GONE)
    context = {
        "label": found.card.label,
        "title": found.card.title,
        "slug": found.team_slug,
        "team_name": found.team_name,
        "rehearsal": found.rehearsal,
        "head": TaskHead().block(pk, team_pk),
        "attempts": Attempts().block(pk, team_pk, _which(page.request)),
        "next": Handover().block(pk, team_pk),
        "preview": preview,
        "acts": TaskActions().block(pk, team_pk),
        "posted": posted,
    }
    return page.render("pages/task.html", context, problem=problem, fields=FIELDS.get((posted or {}).get("do", ""), ()))
