"""Who decides what in a team: the settings, its lead agent, and what that decided or handed on."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from dashboard.forms import fields
from dashboard.http import post_only, shows
from dashboard.views import teams
from dashboard.views.act import perform
from dashboard.views.page import Page
from tasks_app.domain.deciders import MEANS, POLICIES, Subject, allowed
from tasks_app.domain.errors import DomainError
from tasks_app.selectors import accounts, leading
from tasks_app.selectors.teams import Identity
from tasks_app.services import actions

NUMBERS = ("wait_minutes", "wakes_per_hour")
NAMES = (*(subject.value for subject in Subject), *NUMBERS)


@shows
def page(request: HttpRequest, slug: str) -> HttpResponse:
    """Show who decides what."""
    opened = Page.open(request, "figures", slug)
    return _render(opened, teams.find(opened, slug))


@post_only
def settings(request: HttpRequest, slug: str) -> HttpResponse:
    """Change who decides what."""
    opened = Page.open(request, "figures", slug)
    found = teams.find(opened, slug, act=True)

    def change() -> str:
        given = {name: fields.text(request.POST, name, 20) for name in NAMES if name in request.POST}
        actions.set_deciders(found.pk, given, actor=opened.viewer.actor)
        return "Who decides what is set."

    return perform(
        request,
        change,
        done=lambda: redirect("deciders", slug),
        refused=lambda problem: _render(opened, found, problem=problem),
    )


def _render(opened: Page, found: Identity, *, problem: DomainError | None = None) -> HttpResponse:
    overview = leading.overview(found.pk)
    posted = opened.request.POST
    now = overview.settings.stored()
    rows = [
        {
            "name": subject.value,
            "means": MEANS[subject],
            "policy": POLICIES.get(subject, ""),
            "choices": [one.value for one in allowed(subject)],
            "chosen": posted.get(subject.value, now[subject.value])[:20],
        }
        for subject in Subject
    ]
    about = teams.about(opened, found)
    values = {
        **about,
        "people": accounts.people_of(found.pk) if about["may_act"] else (),
        "overview": overview,
        "subjects": rows,
        "numbers": {name: posted.get(name, f"{now[name]:g}")[:20] for name in NUMBERS},
    }
    return opened.render("pages/deciders.html", values, problem=problem)
