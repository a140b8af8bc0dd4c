"""What every page needs: the version and what waits for this person."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest


def desk(request: HttpRequest) -> dict[str, Any]:
    """Return the names that `base.html` uses."""
    return {"version": settings.VERSION}
