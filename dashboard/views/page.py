"""What every page needs: who looks, from which moment of the logs, and the parts around the page."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.urls import reverse

from dashboard.access import Viewer, viewer_for
from dashboard.live import cursor
from dashboard.panels import pages
from dashboard.panels.base import Block
from tasks_app.domain.errors import DomainError
from tasks_app.selectors import inbox, teams


@dataclass
class Page:
    """One page under way. Made first, so that the cursor is older than anything the page reads."""

    request: HttpRequest
    name: str
    arg: str
    viewer: Viewer
    cursor: str
    ready: dict[str, Mapping[str, Any]] = field(default_factory=dict)  # contexts of blocks that were read in bulk

    @classmethod
    def open(cls, request: HttpRequest, name: str, arg: str = "") -> "Page":
        """Begin a page: reads who looks and the cursor; two queries."""
        viewer = viewer_for(request.user)
        return cls(request, name, arg, viewer, cursor.read(viewer))

    def prepare(self, blocks: list[Block], panel: Any) -> None:
        """Read the contexts of many blocks of one panel at once, so that drawing them asks nothing more."""
        self.ready.update(panel.contexts(blocks, self.viewer))

    def render(
        self, template: str, context: Mapping[str, Any] | None = None, *, status: int = 200, problem: DomainError | None = None
    ) -> HttpResponse:
        """Return the page, or only its main part for htmx. `problem` is said at the top and gives the status."""
        chrome = self._chrome()
        csrf = get_token(self.request)
        values = {
            "base": "fragment.html" if self.request.headers.get("HX-Request") else "base.html",
            "viewer": self.viewer,
            "chrome": chrome,
            "waiting_count": self.ready["attention"]["waiting"].count,
            "live_url": f"{reverse('live')}?{urlencode({'page': self.name, 'arg': self.arg})}",
            "cursor": self.cursor,
            "problem": problem,
            "live_page": {"request": self.request, "csrf_token": csrf, "ready": self.ready},
            **(context or {}),
        }
        response = render(self.request, template, values, status=problem.status if problem else status)
        response.headers["Vary"] = "HX-Request, Cookie"
        response.headers["Cache-Control"] = "no-store"
        return response

    def _chrome(self) -> dict[str, Block]:
        chrome = pages.chrome(self.name, self.arg, self.viewer)
        marks = teams.marks(self.viewer.team_ids)
        rail = {"page": self.name, "arg": self.arg.partition("?")[0], "teams": marks, "waiting": sum(mark.waiting for mark in marks)}
        self.ready["attention"] = {"waiting": inbox.waiting(self.viewer.team_ids)}
        self.ready["nav-counts"] = self.ready["tab-counts"] = rail
        return chrome
