"""Search: one field over all that a person may see."""

from urllib.parse import parse_qsl

from django.http import HttpRequest, HttpResponse

from dashboard.http import shows
from dashboard.panels.history import MAX_QUERY, MAX_TEXT
from dashboard.views.page import Page
from tasks_app.domain.text import one_line
from tasks_app.selectors import search as selector
from tasks_app.selectors import sentences


@shows
def search(request: HttpRequest) -> HttpResponse:
    """Show what holds the words that were asked for, by kind; of too long a text its beginning, and that is said."""
    page = Page.open(request, "search")
    query = request.META.get("QUERY_STRING", "")
    asked = one_line(dict(parse_qsl(query[:MAX_QUERY])).get("q", ""), MAX_QUERY)
    text = asked[:MAX_TEXT].strip()
    found = selector.find(page.viewer.team_ids, text) if text else None
    context = {
        "text": text,
        "cut": MAX_TEXT if len(asked) > MAX_TEXT or len(query) > MAX_QUERY else 0,
        "found": found,
        "lines": [(entry, sentences.sentence(entry)) for entry in found.events.entries] if found else [],
    }
    return page.render("pages/search.html", context)
