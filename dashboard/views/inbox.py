"""The Inbox: what waits, one decision in full, and the answers to it."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone

from dashboard.access import require_team
from dashboard.forms import budgets as budget_forms
from dashboard.forms import decisions as forms
from dashboard.forms import fields
from dashboard.http import post_only, shows
from dashboard.panels import args
from dashboard.panels.decision import Decision
from dashboard.panels.inbox_counts import InboxCounts
from dashboard.panels.inbox_list import NOTHING, Gone, InboxList
from dashboard.panels.structure import InboxStructure
from dashboard.views.act import Said, tell
from dashboard.views.page import Page
from tasks_app.decision_kinds.registry import choice_word
from tasks_app.domain import asked
from tasks_app.domain.errors import DomainError, NotFound
from tasks_app.domain.statuses import DecisionKind
from tasks_app.domain.text import closed
from tasks_app.selectors import inbox as selector
from tasks_app.services import actions, undo

GONE = "There is no such request, or you have no access to it."

ANSWERED = "answered"
"""In the session: what this person has just answered, for the next page; it stays in its list for a moment."""
SENT = "Sent at once: it cannot be undone."


@shows
def inbox(request: HttpRequest) -> HttpResponse:
    """Show the list and, beside it, what has waited longest."""
    page = Page.open(request, "inbox", _arg("", _kind(request)))
    items = selector.open_items(page.viewer.team_ids, kind=_kind(request))
    first = selector.detail(items[0].id) if items else None
    gone = _just_answered(request)
    page.arg = _arg(first.item.id if first else "", _kind(request), gone)
    return _render(page, first, picked=False, gone=gone)


@shows
def detail(request: HttpRequest, id: str) -> HttpResponse:
    """Show one decision: open to be answered, closed to be read."""
    page = Page.open(request, "inbox", _arg(id, _kind(request)))
    found = _find(page, id)
    gone = _just_answered(request)
    page.arg = _arg(id, _kind(request), gone)
    return _render(page, found, picked=True, gone=gone)


@shows
def whole(request: HttpRequest, id: str) -> HttpResponse:
    """Give all that is asked as plain text, every character to be seen and nothing left out."""
    found = _find(Page.open(request, "inbox", id), id)
    lines = (found.item.title, *found.warnings, "", asked.whole(found.payload))
    return HttpResponse("\n".join(lines), content_type="text/plain; charset=utf-8")


@post_only
def answer(request: HttpRequest, id: str) -> HttpResponse:
    """Answer a decision, then go on to the next one that waits; a refused answer shows what happened and keeps the text."""
    page = Page.open(request, "inbox", id)
    found = _find(page, id, act=True)
    before = _row_before(page, id)
    try:
        given = forms.read(found.item.kind, found.payload, request.POST)
        actions.answer(
            id,
            choice=given.choice,
            note=given.note,
            data=given.data,
            version=given.version,
            payload_hash=given.payload_hash,
            actor=page.viewer.actor,
        )
    except DomainError as problem:
        return _refused(page, id, problem, forms.posted(found.item.kind, found.payload, request.POST))
    word = choice_word(given.choice).capitalize()
    request.session[ANSWERED] = {"id": id, "after": before}
    raised = budget_forms.raised(found.payload, given.data)
    more = f" {raised}." if raised else ""
    messages.success(request, f"{word}: {closed(found.item.title)}{more} {SENT}")
    return _next(page)


@post_only
def snooze(request: HttpRequest, id: str) -> HttpResponse:
    """Put a decision aside for some minutes; it stays counted."""
    page = Page.open(request, "inbox", id)
    found = _find(page, id, act=True)
    try:
        span = fields.count(request.POST, "minutes") or 5
        back = undo.snooze(id, minutes=span, actor=page.viewer.actor)
    except DomainError as problem:
        return _refused(page, id, problem, {})
    tell(request, Said(f"Snoozed for {span} min: {closed(found.item.title)}", back))
    return _next(page)


@post_only
def looking(request: HttpRequest, id: str) -> HttpResponse:
    """Tell the others that this person looks at a decision; its page stays open."""
    page = Page.open(request, "inbox", id)
    _find(page, id, act=True)
    try:
        actions.look(id, actor=page.viewer.actor)
    except DomainError as problem:
        return _refused(page, id, problem, {})
    return redirect("inbox-detail", id)


def _just_answered(request: HttpRequest) -> Gone:
    """What the page after an answer shows once more; then it is forgotten."""
    kept = request.session.pop(ANSWERED, {})
    return Gone(kept.get("id", ""), kept.get("after", ""))  # a session may be older than this version


def _kind(request: HttpRequest) -> str:
    kind = request.GET.get("kind", "")
    return kind if kind in set(DecisionKind) else ""


def _arg(id: str, kind: str, gone: Gone = NOTHING) -> str:
    return args.pack(id, {"kind": kind, "gone": gone.id, "after": gone.after})


def _row_before(page: Page, id: str) -> str:
    """Which row stands before that of this decision: there its row stays for a moment."""
    ids = [item.id for item in selector.open_items(page.viewer.team_ids)]
    return ids[ids.index(id) - 1] if id in ids[1:] else ""


def _find(page: Page, id: str, *, act: bool = False) -> selector.Detail:
    found = selector.detail(id)
    if found is None or not page.viewer.can_see(found.item.team_id):
        raise NotFound(GONE)
    require_team(page.viewer, found.item.team_id, act=act)
    return found


def _next(page: Page) -> HttpResponse:
    now = timezone.now()
    items = selector.open_items(page.viewer.team_ids)
    awake = [item for item in items if item.snoozed_until is None or item.snoozed_until <= now]
    return redirect("inbox-detail", awake[0].id) if awake else redirect("inbox")


def _refused(page: Page, id: str, problem: DomainError, posted: dict[str, Any]) -> HttpResponse:
    return _render(page, _find(page, id), picked=True, problem=problem, posted=posted)


def _render(
    page: Page,
    found: selector.Detail | None,
    *,
    picked: bool,
    problem: DomainError | None = None,
    posted: dict[str, Any] | None = None,
    gone: Gone = NOTHING,
) -> HttpResponse:
    kind, teams = _kind(page.request), page.viewer.team_ids
    answered, last = selector.answered_since(teams, timezone.localtime().replace(hour=0, minute=0, second=0))
    context = {
        "structure": InboxStructure().block(kind, teams),
        "counts": InboxCounts().block(teams),
        "list": InboxList().block(kind, found.item.id if found else "", teams, gone),
        "decision": Decision().block(found.item.id, found.item.team_id) if found else None,
        "posted": posted,
        "picked": picked,
        "kinds": list(DecisionKind),
        "kind": kind,
        "answered_today": answered,
        "last_answer": last,
        "rehearsal": bool(found and found.item.rehearsal),
        "title": found.item.title if found and picked else "",
    }
    return page.render(
        "pages/inbox.html", context, problem=problem, fields=forms.fields_of(found.item.kind) if found and found.item.open else ()
    )
