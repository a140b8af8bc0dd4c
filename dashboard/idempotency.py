"""What makes two requests the same one: pages and API clients send a key with what makes something, and the same one again."""

import json
from hashlib import sha256

from django.http import HttpRequest

HEADER = "Idempotency-Key"
FIELD = "idempotency_key"
"""The hidden field of a form; where there are scripts, static/js/desk.js sends the header."""
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
PERSONAL = frozenset((FIELD, "csrfmiddlewaretoken"))


def key_of(request: HttpRequest) -> str:
    """Return the sha256 of who sends a request, to where, its key and what it holds; "" where it comes without a key.

    A form whose words were changed before it was sent again is another one.
    """
    given = request.headers.get(HEADER) or request.POST.get(FIELD, "")
    if not given:
        return ""
    if request.content_type in FORMS:
        held: object = sorted((name, values) for name, values in request.POST.lists() if name not in PERSONAL)
    else:
        held = request.body.decode("utf-8", "replace")
    return sha256(json.dumps([request.user.pk, request.path, given, held]).encode()).hexdigest()
