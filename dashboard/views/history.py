"""History: what happened, newest first, through a filter."""

from django.http import HttpRequest, HttpResponse

from dashboard.http import shows
from dashboard.panels import args
from dashboard.panels.history import KINDS, History, parse, plain
from dashboard.views.page import Page
from tasks_app.selectors import history as log
from tasks_app.selectors import teams


@shows
def history(request: HttpRequest) -> HttpResponse:
    """Show one page of the log."""
    chosen = parse(request.META.get("QUERY_STRING", ""))
    packed = args.pack("", plain(chosen))
    page = Page.open(request, "history", packed)
    marks = teams.marks(page.viewer.team_ids, archived=True)
    context = {
        "log": History().block(packed, page.viewer.team_ids),
        "chosen": chosen,
        "kinds": KINDS.items(),
        "teams": marks,
        "agents": log.agent_names(page.viewer.team_ids),
        "rehearsal": any(mark.rehearsal and mark.pk == chosen["team"] for mark in marks),
    }
    return page.render("pages/history.html", context)
