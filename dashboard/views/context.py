"""What a team shares: the entries, one of them, and what its lead can do with them."""

import json
import math
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone

from dashboard.forms import context as forms
from dashboard.forms import fields
from dashboard.http import post_only, shows
from dashboard.panels import args
from dashboard.panels.context import ContextEntry, ContextList
from dashboard.views.act import Act, choose, perform
from dashboard.views.page import Page
from dashboard.views.teams import about, find
from tasks_app.domain.errors import Conflict, DomainError, NotFound
from tasks_app.selectors import context as reading
from tasks_app.selectors.context import Entry
from tasks_app.selectors.teams import Identity
from tasks_app.services import context
from tasks_app.services.context import Writer


@shows
def listing(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what a team shares."""
    page = Page.open(request, "context", slug)
    return _list(page, find(page, slug))


@post_only
def add(request: HttpRequest, slug: str) -> HttpResponse:
    """Share a new value."""
    page = Page.open(request, "context", slug)
    team = find(page, slug, act=True)

    def share() -> str:
        name = fields.text(request.POST, "name", 200)
        given = forms.read(request.POST)
        context.share(team.pk, name=name, by=Writer(page.viewer.actor), version=0, **vars(given))
        return f"“{name}” is shared."

    return perform(
        request,
        share,
        done=lambda: redirect("context", slug),
        refused=lambda problem: _list(page, team, problem=problem),
    )


@shows
def entry(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Show one entry, with two of its versions compared (`old`, `new`)."""
    page = Page.open(request, "context")
    team = find(page, slug)
    return _one(page, team, _find(team, pk))


@post_only
def act(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Change an entry, where it is still at the version that was looked at; delete it; set the schema of its name."""
    page = Page.open(request, "context")
    team = find(page, slug, act=True)
    found = _find(team, pk)
    gone = request.POST.get("do") == "delete"
    return perform(
        request,
        lambda: choose(request, _acts(request, found, Writer(page.viewer.actor)))(),
        done=lambda: redirect("context", slug) if gone else redirect("context-entry", slug, pk),
        refused=lambda problem: _one(page, team, _find(team, pk), problem=problem),
    )


def _acts(request: HttpRequest, found: Entry, by: Writer) -> dict[str, Act]:
    seen = fields.count(request.POST, "version", 2**31 - 1)

    def change() -> str:
        given = forms.read(request.POST)
        written = context.share(found.team_id, name=found.name, by=by, version=seen or 0, **vars(given))
        return f"“{found.name}” is at version {written.version} now."

    def delete() -> str:
        context.delete(found.team_id, name=found.name, version=seen or 0, by=by)
        return f"“{found.name}” is deleted, with its history."

    def schema() -> str:
        wanted = forms.schema(request.POST)
        context.set_schema(found.team_id, name=found.name, schema=wanted, by=by)
        return "The schema is set: every later value must fit it." if wanted is not None else "The schema is removed."

    return {"change": change, "delete": delete, "schema": schema}


def _find(team: Identity, pk: int) -> Entry:
    found = reading.one(pk)
    if found is None or found.team_id != team.pk:
        raise NotFound("There is no such entry, or it has expired.")
    return found


def _list(page: Page, team: Identity, *, problem: DomainError | None = None) -> HttpResponse:
    values = {
        **about(page, team),
        "list": ContextList().block(team.pk),
        "given": _posted(page) or {"kind": "text"},
    }
    return page.render("pages/context.html", values, problem=problem)


def _one(page: Page, team: Identity, found: Entry, *, problem: DomainError | None = None) -> HttpResponse:
    old, new = (_version(page.request.GET.get(name, "")) for name in ("old", "new"))
    page.arg = args.pack(team.slug, {"entry": found.pk, "old": old, "new": new})
    registered = reading.schema(team.pk, found.name)
    posted = _posted(page)
    values = {
        **about(page, team),
        "entry": found,
        # who was refused for another reason has not been told of a version in between: the form still answers to the old one
        "seen": found.version if isinstance(problem, Conflict) else _version(posted.get("version", "")) or found.version,
        "entry_block": ContextEntry().block(found.pk, old, new, team.pk),
        "editable": found.size <= forms.MAX_VALUE,
        "given": posted if posted.get("do") == "change" else _given(found),
        "schema": posted.get("schema") or (json.dumps(registered, ensure_ascii=False, indent=2) if registered else ""),
        "doing": posted.get("do", ""),
    }
    return page.render("pages/context_entry.html", values, problem=problem)


def _given(found: Entry) -> dict[str, Any]:
    """The form as it stands before anybody has changed it."""
    value = reading.value(found.pk) if found.size <= forms.MAX_VALUE else ""
    is_text = isinstance(value, str)
    left = found.expires_at - timezone.now() if found.expires_at else None
    return {
        "value": value if is_text else json.dumps(value, ensure_ascii=False, indent=2),
        "kind": "text" if is_text else "json",
        "whom": found.task if found.scope == "task" else "",
        "minutes": max(1, math.ceil(left.total_seconds() / 60)) if left else "",
    }


def _posted(page: Page) -> dict[str, Any]:
    return {name: text[: forms.MAX_VALUE] for name, text in page.request.POST.items() if isinstance(text, str)}


def _version(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
