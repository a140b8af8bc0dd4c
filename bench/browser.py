"""A lead at the pages without a browser: signed in, with the token that forms carry."""

import httpx
from django.conf import settings

from bench import crew

TOKEN = "b" * 32


def lead(port: int) -> httpx.Client:
    """Return a client of the web server at `port` on this host, signed in as the lead."""
    cookies = {settings.SESSION_COOKIE_NAME: crew.session(), settings.CSRF_COOKIE_NAME: TOKEN}
    return httpx.Client(base_url=f"http://127.0.0.1:{port}", cookies=cookies, headers={"X-CSRFToken": TOKEN}, timeout=30)


def answer(client: httpx.Client, decision_id: str, *, choice: str, version: int, payload_hash: str) -> None:
    """Post the answer as the form of the page does. Raises RuntimeError where it is refused."""
    form = {"choice": choice, "confirm": choice, "version": str(version), "payload_hash": payload_hash}
    said = client.post(f"/inbox/{decision_id}/answer/", data=form)
    if said.status_code not in (200, 302):
        raise RuntimeError(f"the answer to {decision_id} was refused: {said.status_code} {said.text[:300]}")
