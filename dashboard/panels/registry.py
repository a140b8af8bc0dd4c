"""The panels by name, as dotted paths: a new kind of block is one file and one line here."""

from functools import cache
from typing import TYPE_CHECKING

from django.utils.module_loading import import_string

if TYPE_CHECKING:
    from dashboard.access import Viewer
    from dashboard.panels.base import Block, Panel

PAGES = "dashboard.panels.pages.blocks"
"""The function `(page, arg, viewer) -> list[Block]`: which blocks a page shows; raises a DomainError for what it may not."""

PANELS: dict[str, str] = {}


@cache
def panel(name: str) -> "Panel":
    """Return the panel of that name (one instance per process); raises LookupError with the known names."""
    if name not in PANELS:
        raise LookupError(f"There is no panel {name!r} in dashboard/panels/registry.py. Known: {', '.join(sorted(PANELS))}.")
    made: Panel = import_string(PANELS[name])()
    return made


def blocks(page: str, arg: str, viewer: "Viewer") -> "list[Block]":
    """Return the blocks of a page for a viewer, containers before what they contain."""
    found: list[Block] = import_string(PAGES)(page, arg, viewer)
    return found
