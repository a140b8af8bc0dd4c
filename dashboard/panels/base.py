"""What a live block and its panel are, and how one is rendered: the same way for a page and for the socket.

A block's HTML is shared by everybody of one *audience*. So a panel gets its viewer narrowed to the audience: without name
or user id, and with the rights on the block's team only (all teams where the block names none). What it cannot see, it
cannot leak.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from django.template.loader import get_template
from django.utils.safestring import SafeString, mark_safe

from dashboard.access import NOBODY, Viewer
from dashboard.panels import registry

MARK = f"\x00live {secrets.token_hex(12)} "
"""Stands for a nested block in a block's own HTML; random, so that no text of an agent can forge it."""


@dataclass(frozen=True)
class Block:
    """One live element of a page: `id` is its DOM id, `keys` say which changes make it stale.

    `team` is the one team it is about; None: it depends on all the viewer's teams (attention bar, counts, list of teams).
    Blocks with a team are shared by all viewers with the same right on it.
    """

    id: str
    panel: str
    args: tuple[str | int, ...]
    keys: frozenset[str]
    team: int | None = None


class Panel(Protocol):
    """A kind of block. One file in dashboard/panels/ and one line in registry.py.

    Optional attribute `fast: bool` (default False): re-rendered up to 10 times a second instead of 4 (the transcript).
    The template's outermost element must have `id="{{ block.id }}"`.
    """

    name: str
    template: str  # "panels/<name>.html" or "<page>.html#partial"

    def block(self, *args: Any) -> Block:
        """Return the block for these arguments; cheap, at most one query."""

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any] | None:
        """Return the template's context, read fresh; None: the block is gone. `viewer` is narrowed to the audience."""


@dataclass
class Rendered:
    """A block's own HTML (None: gone) with marks where its nested blocks stand, and those blocks."""

    own: str | None
    children: dict[str, Block] = field(default_factory=dict)


def narrowed(block: Block, viewer: Viewer) -> Viewer:
    """Return the viewer as the block's panel may see it; equal for all viewers of one audience."""
    if block.team is None:
        return replace(NOBODY, team_ids=viewer.team_ids, lead_of=viewer.lead_of)
    team = frozenset((block.team,))
    return replace(NOBODY, team_ids=viewer.team_ids & team, lead_of=viewer.lead_of & team)


def is_fast(block: Block) -> bool:
    """Whether the block may be sent 10 times a second."""
    return bool(getattr(registry.panel(block.panel), "fast", False))


def render(block: Block, viewer: Viewer, *, page: Mapping[str, Any] | None = None) -> str | None:
    """Return the block's HTML with its nested blocks, or None when it is gone or the viewer may not see its team.

    `page` holds what only one person's page may have (`csrf_token`, `request`); the socket has none of it.
    """
    return _html(block, narrowed(block, viewer), {**(page or {}), "viewer": viewer, "live_page": page or {}})


def render_own(block: Block, audience: Viewer) -> Rendered:
    """Return the block for the socket, nested blocks left open: they are rendered, compared and shared on their own."""
    children: dict[str, Block] = {}
    return Rendered(_html(block, audience, {"viewer": audience, "live_children": children}), children)


def _html(block: Block, audience: Viewer, extra: Mapping[str, Any]) -> str | None:
    if block.team is not None and not audience.can_see(block.team):
        return None
    panel = registry.panel(block.panel)
    context = panel.context(block, audience)
    if context is None:
        return None
    can_act = block.team is not None and audience.can_act(block.team)
    return get_template(panel.template).render({"block": block, "can_act": can_act, **context, **extra})


def nested(block: Block, context: Mapping[str, Any]) -> SafeString:
    """Return a block inside a page or inside another block's template (the tag `{% live block %}`)."""
    if (children := context.get("live_children")) is not None:
        children[block.id] = block
        return mark_safe(f"{MARK}{block.id}\x00")  # noqa: S308 - our own mark and an id made by a panel
    return mark_safe(render(block, context["viewer"], page=context.get("live_page")) or "")  # noqa: S308 - a template made it
