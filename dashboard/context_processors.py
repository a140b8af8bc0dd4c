"""What every template may use without its view saying so."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest


def desk(request: HttpRequest) -> dict[str, Any]:
    """Return the version."""
    return {"version": settings.VERSION}
