"""What every page needs: who looks, from which moment of the logs, and the parts around the page."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.access import Viewer, viewer_for
from dashboard.live import cursor
from dashboard.panels import args, pages
from dashboard.templatetags.crew_forms import places
from tasks_app.domain.errors import DomainError
from tasks_app.selectors import live, look
from tasks_app.services.moments import one_moment

SOCKET = "/live/"


@dataclass
class Page:
    """One page under way. Made first, so that the cursor is older than anything the page reads."""

    request: HttpRequest
    name: str
    arg: str
    viewer: Viewer
    cursor: str

    @classmethod
    def open(cls, request: HttpRequest, name: str, arg: str = "") -> "Page":
        """Begin a page: reads who looks and the cursor; two queries."""
        viewer = viewer_for(request.user)
        return cls(request, name, arg, viewer, cursor.read(viewer))

    def render(
        self,
        template: str,
        context: Mapping[str, Any] | None = None,
        *,
        status: int = 200,
        problem: DomainError | None = None,
        fields: Collection[str] = (),
    ) -> HttpResponse:
        """Return the page, or only its main part for htmx: all of it as of one moment, whatever others write meanwhile.

        `problem` gives the status. It is said at the fields that it is about, where the page's forms have all of them (`fields`),
        else at the top.
        """
        with one_moment(), look.through(look.under_way()):
            return self._render(template, context, status=status, problem=problem, fields=fields)

    def _render(
        self,
        template: str,
        context: Mapping[str, Any] | None,
        *,
        status: int,
        problem: DomainError | None,
        fields: Collection[str],
    ) -> HttpResponse:
        at_fields = problem is not None and bool(places(problem)) and places(problem) <= set(fields)
        values = {
            "base": "fragment.html" if self.request.headers.get("HX-Request") else "base.html",
            "viewer": self.viewer,
            "chrome": pages.chrome(self.name, self.arg, self.viewer),
            "waiting_count": live.waiting(self.viewer.team_ids),
            "live_url": self._live_url(),
            "cursor": self.cursor,
            "problem": problem,
            "notice": None if at_fields else problem,
            **(context or {}),
        }
        if problem is not None:
            # a 5xx or 413 is never shown by desk.js, for it is no page of ours; this one is, and says more than that it failed
            unshown = problem.status >= 500 or problem.status == 413
            status = 409 if unshown and self.request.headers.get("HX-Request") else problem.status
        response = render(self.request, template, values, status=status)
        response.headers["Vary"] = "HX-Request, Cookie"
        response.headers["Cache-Control"] = "no-store"
        if led_on := self._led_on():
            response.headers["HX-Push-Url"] = led_on
        return response

    def _led_on(self) -> str:
        """Return the page's address where the answer to a form leads to another page than the one on which the form stood.

        Only htmx asks so. Without it the address would be the old one: whoever loads the page again, or whose live page has
        missed something, would get that. Back leads to the page of the form, as without scripts.
        """
        shown = self.request.headers.get("HX-Current-URL", "").partition("#")[0].partition("://")[2]
        here = self.request.get_full_path()
        return here if shown and self.request.method == "GET" and here != "/" + shown.partition("/")[2] else ""

    def _live_url(self) -> str:
        """Return the address of the socket; nothing for a filter too long for it: such a page stands still."""
        return f"{SOCKET}?{urlencode({'page': self.name, 'arg': self.arg})}" if len(self.arg) <= args.MAX else ""
