"""What every template may use without its view saying so."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest


def desk(request: HttpRequest) -> dict[str, Any]:
    """Return the version.

    A page that only brings itself up to date (live.js) shows no messages: they are for the tab in which something was done.
    """
    return {"version": settings.VERSION, **({"messages": ()} if request.headers.get("X-Live") else {})}
