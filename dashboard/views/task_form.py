"""The form of a task: a new one for a running team, and one that still waits."""

import dataclasses
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from dashboard.access import require_team
from dashboard.forms import tasks as forms
from dashboard.forms.tasks import Given
from dashboard.http import post_only, shows
from dashboard.idempotency import key_of
from dashboard.templatetags.crew_format import plural
from dashboard.views.page import Page
from dashboard.views.teams import find
from tasks_app.domain.errors import DomainError, NotFound, Stale
from tasks_app.domain.task_review import Finding
from tasks_app.selectors import attempts
from tasks_app.selectors.teams import Identity
from tasks_app.services import actions, drafts, task_edits, tasks
from tasks_app.services.tasks import Draft


@shows
def new(request: HttpRequest, slug: str) -> HttpResponse:
    """Show an empty form."""
    page = Page.open(request, "task-form", slug)
    return _new(page, find(page, slug, act=True), Given())


@post_only
def add(request: HttpRequest, slug: str) -> HttpResponse:
    """Add the task, or (`do=check`) only look what could be written better."""
    page = Page.open(request, "task-form", slug)
    team = find(page, slug, act=True)
    given = Given.of(request.POST)
    try:
        draft = forms.draft(request.POST, team.pk)
        if request.POST.get("do") == "check":
            drafts.columns(team.pk, draft)
            return _new(page, team, given, findings=drafts.findings(draft, team_id=team.pk))
        task = actions.add_task(team.pk, draft, actor=page.viewer.actor, idempotency_key=key_of(request))
    except DomainError as problem:
        return _new(page, team, given, problem=problem)
    messages.success(
        request, f"{task.label} is added. It starts when what it waits for is done and somebody is free.{_weak(draft, task.pk)}"
    )
    return redirect("task", task.pk)


@shows
def edit(request: HttpRequest, pk: int) -> HttpResponse:
    """Show what a task says, to be changed while it waits."""
    page = Page.open(request, "task-form", str(pk))
    draft = drafts.of(tasks.get(_team(page, pk)))
    return _edit(page, pk, Given.shown(draft), findings=drafts.findings(draft, task_id=pk))


@post_only
def save(request: HttpRequest, pk: int) -> HttpResponse:
    """Change the task, or (`do=check`) only look what could be written better."""
    page = Page.open(request, "task-form", str(pk))
    before = drafts.of(tasks.get(_team(page, pk)))
    given = Given.of(request.POST)
    try:
        if request.POST.get("made_from", "")[:64] != task_edits.seen(_text(before)):
            raise task_edits.changed_meanwhile()
        words = forms.words(request.POST, before=before)
        draft = dataclasses.replace(before, **words)
        if request.POST.get("do") == "check":
            drafts.columns(tasks.get(pk).team_id, draft)
            return _edit(page, pk, given, findings=drafts.findings(draft, task_id=pk))
        actions.edit_task(pk, words, actor=page.viewer.actor)
    except DomainError as problem:
        return _edit(page, pk, given, problem=problem)
    messages.success(request, f"The task is changed: the next attempt is told so.{_weak(draft, pk)}")
    return redirect("task", pk)


def _team(page: Page, pk: int) -> int:
    """Return the task's number, after looking whether the viewer may change it."""
    team_pk = attempts.team_of(pk)
    if team_pk is None or not page.viewer.can_see(team_pk):
        raise NotFound("There is no such task, or you have no access to it.")
    require_team(page.viewer, team_pk, act=True)
    return pk


def _text(draft: Draft) -> str:
    """Return all that the form shows, to see whether it was changed meanwhile."""
    return repr(Given.shown(draft))


def _weak(draft: Draft, pk: int) -> str:
    count = len(drafts.findings(draft, task_id=pk))
    return f" It could be written better: {plural(count, 'hint')} under Edit task." if count else ""


def _new(page: Page, team: Identity, given: Given, **more: Any) -> HttpResponse:
    context = {"slug": team.slug, "team_name": team.name, "rehearsal": team.rehearsal, "url_name": "task-add", "key": team.slug}
    return _form(page, team.pk, given, context, **more)


def _edit(page: Page, pk: int, given: Given, **more: Any) -> HttpResponse:
    found = attempts.page(pk)
    if found is None:
        raise NotFound("This task does not exist any more.")
    draft = drafts.of(tasks.get(pk))
    now, made_from, stale = Given.shown(draft), task_edits.seen(_text(draft)), isinstance(more.get("problem"), Stale)
    context = {
        "slug": found.team_slug,
        "team_name": found.team_name,
        "rehearsal": found.rehearsal,
        "url_name": "task-save",
        "key": pk,
        "card": found.card,
        "made_from": made_from if stale else page.request.POST.get("made_from", made_from)[:64],
        "now": stale,
        "differs": _differing(now, given) if stale else (),
    }
    return _form(page, found.card.team_id, given, context, **more)


def _differing(now: Given, given: Given) -> list[tuple[str, str, str]]:
    """Return (field in words, what it says now, what was written) where the two differ."""
    words = {"title": "Title", "description": "Description", "criteria": "Criteria", "minutes": "Minutes", "priority": "Priority"}
    pairs = [(word, str(getattr(now, name)), str(getattr(given, name))) for name, word in words.items()]
    return [(word, old, new) for word, old, new in pairs if old.strip() != new.strip()]


def _form(
    page: Page,
    team_id: int,
    given: Given,
    context: dict[str, Any],
    *,
    problem: DomainError | None = None,
    findings: tuple[Finding, ...] | None = None,
) -> HttpResponse:
    members = attempts.members(team_id)
    values = {**context, "given": given, "members": members, "roles": forms.roles(members), "findings": findings}
    return page.render("pages/task_form.html", values, problem=problem, fields=forms.FIELDS)
