"""Messages of a team: the log with receipts, writing to one agent or to all, what the human does with mail, and the settings."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from dashboard.forms import fields
from dashboard.http import post_only, shows
from dashboard.idempotency import key_of
from dashboard.panels import args
from dashboard.panels.board import Filter
from dashboard.panels.message_log import MessageLog, MessagePairs
from dashboard.templatetags.crew_format import plural
from dashboard.views import agents, teams
from dashboard.views.act import Act, choose, perform
from dashboard.views.page import Page
from tasks_app.domain.errors import DomainError
from tasks_app.domain.messaging import EVERYONE, Priority, Receipt
from tasks_app.selectors import agents as cards
from tasks_app.selectors import attempts, crew
from tasks_app.selectors import messages as reading
from tasks_app.selectors.messages import Wanted
from tasks_app.selectors.teams import Identity, reads_nothing
from tasks_app.services import messages, talk
from tasks_app.services.messages import Draft

HERE = "messages"
"""What a form on this page sends as `back`."""
KEPT = ("to", "body", "priority", "reply_to", "no_reply", "mode", "per_minute", "chain")


@shows
def listing(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the messages of a team that fit the filter (`who`, `state`, `priority`); `reply` fills in the form."""
    page = Page.open(request, "messages", slug)
    return _render(page, teams.find(page, slug))


@post_only
def send(request: HttpRequest, slug: str) -> HttpResponse:
    """Write to an agent or to all; from another page (`back`) one comes back to that page."""
    back = request.POST.get("back", "")
    page = Page.open(request, "messages" if back == HERE else "team", slug)
    found = teams.find(page, slug, act=True)
    to = fields.text(request.POST, "to", 200)

    def write() -> str:
        body = fields.text(request.POST, "body", fields.MAX_TEXT, needed="Write something first.")
        priority = request.POST.get("priority", "") or Priority.NORMAL.value
        draft = Draft(body, priority, fields.text(request.POST, "reply_to", 20), "no_reply" in request.POST, key_of(request))
        return _said(messages.post(found.pk, draft, sender_agent_id=None, to=to, actor=page.viewer.actor))

    def done() -> HttpResponse:
        if agent := _number(back):
            return redirect("agent", agent)
        return redirect("messages" if back == HERE else "team", slug)

    def refused(problem: DomainError) -> HttpResponse:
        if back == HERE:
            return _render(page, found, problem=problem)
        card = cards.by_ids([_number(back)]).get(_number(back))
        if card is not None and card.team_id == found.pk:
            return agents.render(Page.open(request, "agent", str(card.pk)), card, problem=problem, posted=_posted(request))
        return teams.render(page, found, Filter(), problem=problem, posted=_posted(request))

    return perform(request, write, done=done, refused=refused)


def _number(back: str) -> int:
    """The agent from whose page a form comes; 0: from none."""
    return int(back) if back.isascii() and back.isdigit() and len(back) < 10 else 0


def _said(sent: list[Any]) -> str:
    first = sent[0]
    if first.priority == Priority.STATUS:
        return "The status stands on this page. No agent is told."
    kept = {why for note in reading.of_ids(one.pk for one in sent) if (why := note.held_up)}
    if kept:
        return f"Queued: {'; '.join(sorted(kept))}."
    if len(sent) > 1:
        return f"Message for {plural(len(sent), 'agent')} is on its way; who does not run gets it when next at work."
    if not crew.is_running(first.recipient_id or 0):
        return f"Queued: {first.recipient_name} is not running now and gets it when next at work."
    if first.priority == Priority.INTERRUPT:
        return f"{first.recipient_name} is being stopped to read it."
    return f"Message for {first.recipient_name} is on its way."


@post_only
def act(request: HttpRequest, slug: str, id: str) -> HttpResponse:
    """What the human does with a message: say that it was acted on, or pass it on to whom it was meant for."""
    page = Page.open(request, "messages", slug)
    found = teams.find(page, slug, act=True)
    actor = page.viewer.actor

    def done() -> str:
        messages.act_on(id, team_id=found.pk, agent_id=None, note="", actor=actor)
        return "Marked as acted on."

    def pass_on() -> str:
        return f"Passed on to {messages.pass_on(id, team_id=found.pk, actor=actor).recipient_name}."

    acts: dict[str, Act] = {"done": done, "pass": pass_on}
    return perform(
        request,
        lambda: choose(request, acts)(),
        done=lambda: redirect("messages", slug),
        refused=lambda problem: _render(page, found, problem=problem),
    )


@post_only
def settings(request: HttpRequest, slug: str) -> HttpResponse:
    """Set how the team talks."""
    page = Page.open(request, "messages", slug)
    found = teams.find(page, slug, act=True)

    def change() -> str:
        rate, chain = (fields.count(request.POST, name, 10_000) or 0 for name in ("per_minute", "chain"))
        mode = request.POST.get("mode", "")
        talk.set_settings(found.pk, mode=mode, per_minute=rate, chain=chain, actor=page.viewer.actor)
        return "How the team talks is set."

    return perform(
        request,
        change,
        done=lambda: redirect("messages", slug),
        refused=lambda problem: _render(page, found, problem=problem),
    )


def _posted(request: HttpRequest) -> dict[str, Any]:
    return {name: request.POST.get(name, "")[: fields.MAX_TEXT] for name in KEPT if name in request.POST}


def _render(page: Page, found: Identity, *, problem: DomainError | None = None) -> HttpResponse:
    get = page.request.GET
    wanted = Wanted(*(get.get(name, "")[:80] for name in ("who", "state", "priority")))
    page.arg = args.pack(found.slug, vars(wanted))
    posted = _posted(page.request)
    answered = reading.to_lead(found.pk, get.get("reply", "")) if get.get("reply") else None
    form = {"to": answered.sender, "reply_to": answered.id} if answered else {}
    if "body" in posted:
        form = posted
    values = {
        **teams.about(page, found),
        "log": MessageLog().block(found.pk, wanted),
        "pairs_block": MessagePairs().block(found.pk),
        "wanted": wanted,
        "filtered": wanted != Wanted(),
        "receipts": list(Receipt),
        "priorities": list(Priority),
        "wait": reads_nothing(found.pk),
        "members": attempts.members(found.pk),
        "given": form,
        "to_all": form.get("to", "").lower() in EVERYONE,
        "talk": posted if "mode" in posted else vars(reading.settings(found.pk)),
    }
    return page.render("pages/messages.html", values, problem=problem)
