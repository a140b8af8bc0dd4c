"""Opens the sign-in link in the person's browser without putting it on a command line that other users can read."""

import html
import os
import secrets
import sys
import threading
import webbrowser
from pathlib import Path


def has_display() -> bool:
    """Whether a graphical browser can open: a text browser would take over the terminal."""
    if sys.platform == "darwin":
        return "SSH_CONNECTION" not in os.environ  # else it would open on a screen that somebody else may look at
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def redirect_page(link: str) -> str:
    """Return a page that goes to `link` at once."""
    target = html.escape(link, quote=True)
    return (
        f'<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>Crewdesk</title>'
        f'<meta http-equiv="refresh" content="0; url={target}"><p><a href="{target}">Sign in to Crewdesk</a>'
    )


def open_privately(link: str, *, folder: Path | None = None) -> Path | None:
    """Open a page of our own (0600) that leads to `link`; returns its path, to be removed at the end, or None without a display.

    It lies in the user's home and not in a hidden folder: browsers in a snap read nothing else.
    """
    if not has_display():
        return None
    page = (folder or Path.home()) / f"crewdesk-sign-in-{secrets.token_hex(4)}.html"
    try:
        descriptor = os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError:
        return None
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(redirect_page(link))
    threading.Thread(target=webbrowser.open, args=[page.as_uri()], daemon=True).start()
    return page
