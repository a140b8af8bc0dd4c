"""Who is behind a session cookie: asked when a socket opens, again while it is open, and before a large body is taken."""

from importlib import import_module

from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest

from dashboard.access import NOBODY, Viewer, viewer_for


def viewer_of(session_key: str) -> Viewer | None:
    """Return the viewer of a session that is valid now, else None (signed out, expired, password changed, inactive)."""
    if not session_key:
        return None
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    viewer = viewer_for(get_user(request))
    return None if viewer == NOBODY else viewer
