"""History: what happened, newest first, by team and kind."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from dashboard.panels import args
from dashboard.panels.history import KINDS, History, parse
from dashboard.views.page import Page
from tasks_app.selectors import teams


@require_GET
def history(request: HttpRequest) -> HttpResponse:
    """Show one page of the log."""
    chosen = parse(request.META.get("QUERY_STRING", ""))
    packed = args.pack("", {name: "1" if value is True else value for name, value in chosen.items()})
    page = Page.open(request, "history", packed)
    marks = teams.marks(page.viewer.team_ids, archived=True)
    context = {
        "log": History().block(packed, page.viewer.team_ids),
        "chosen": chosen,
        "kinds": KINDS,
        "teams": marks,
        "rehearsal": any(mark.rehearsal and mark.pk == chosen["team"] for mark in marks),
    }
    return page.render("pages/history.html", context)
