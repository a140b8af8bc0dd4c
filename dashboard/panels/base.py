"""What a live block and its panel are, and how one is rendered: the same way for a page and for the socket.

A block's HTML is shared by everybody of one *audience*. So a panel gets its viewer narrowed to the audience: without name
or user id, and with the rights on the block's team only (all teams where the block names none). What it cannot see, it
cannot leak.
"""

import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from django.template.loader import get_template
from django.utils.safestring import SafeString, mark_safe

from dashboard.access import NOBODY, Viewer
from dashboard.panels import registry
from tasks_app.selectors.look import through, under_way

MARK = f"\x00live {secrets.token_hex(12)} "
"""Stands for a nested block in a block's own HTML; random, so that no text of an agent can forge it."""
NESTED = re.compile(re.escape(MARK) + "([^\0]*)\0")
CHILDREN = "live_children"


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

    The template's outermost element must have `id="{{ block.id }}"`. A block that may come back renders an empty element
    and not None: what is gone is removed from the page, and only the block around it can bring it back.

    Optional: `fast: bool`: sent up to 10 times a second instead of 4 (the transcript, the agents' cards).
    `contexts(blocks, viewer)`: the contexts of many blocks by block id (missing: gone) in a constant number of queries; each
    may depend on its own block and the rights on its team only, though `viewer` has the rights of the whole page.
    """

    name: str
    template: str  # "panels/<name>.html" or "<page>.html#partial"

    def block(self, *args: Any) -> Block:
        """Return the block for these arguments; cheap, at most one query."""

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any] | None:
        """Return the template's context, read fresh; None: the block is gone. `viewer` is narrowed to the audience."""


@dataclass(frozen=True)
class Rendered:
    """A block's own HTML (None: gone) with marks where its nested blocks stand, and those blocks by id."""

    own: str | None
    children: Mapping[str, Block] = field(default_factory=dict)


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
    return Drawing(page).whole(block, viewer)


def nested(block: Block, context: Mapping[str, Any]) -> SafeString:
    """Return the mark of a block that stands inside another block's template."""
    context[CHILDREN][block.id] = block
    return mark_safe(f"{MARK}{block.id}\x00")  # noqa: S308 - our own mark and an id made by a panel


class Drawing:
    """Draws blocks for one page or one look of the hub: each block once per audience, siblings read together.

    All its blocks show one moment: what several of them ask the selectors for is read once, in the look that is under way
    (a page's) or one of its own. What a panel or template raises goes through: a page shows an error, the hub leaves the
    block out.
    """

    def __init__(self, page: Mapping[str, Any] | None = None) -> None:
        self._page = page or {}
        self._look = under_way()
        self._audiences: dict[tuple[int | None, frozenset[int], frozenset[int]], Viewer] = {}
        self._done: dict[tuple[Block, Viewer], Rendered] = {}
        self._read: dict[tuple[Block, Viewer], dict[str, Any] | None] = {}

    def own(self, block: Block, viewer: Viewer) -> Rendered:
        """Return the block with marks for what it contains."""
        key = self._key(block, viewer)
        if key not in self._done:
            with through(self._look):
                self._done[key] = self._draw(*key)
        return self._done[key]

    def whole(self, block: Block, viewer: Viewer) -> str | None:
        """Return the block with everything in it; None: it is gone. Level by level: cousins are read together, too."""
        level = [block]
        while level:
            self.read(level, viewer)
            level = [child for one in level for child in self.own(one, viewer).children.values()]
        return self._joined(block, viewer)

    def _joined(self, block: Block, viewer: Viewer) -> str | None:
        rendered = self.own(block, viewer)
        parts = NESTED.split(rendered.own or "")
        for at in range(1, len(parts), 2):
            parts[at] = self._joined(rendered.children[parts[at]], viewer) or ""
        return None if rendered.own is None else "".join(parts)

    def read(self, blocks: Iterable[Block], viewer: Viewer) -> None:
        """Read the contexts of these blocks together, where their panels can (`contexts`)."""
        by_panel: dict[str, list[Block]] = {}
        for block in blocks:
            key = self._key(block, viewer)
            if key not in self._done and key not in self._read and _may_see(*key):
                by_panel.setdefault(block.panel, []).append(block)
        for name, found in by_panel.items():
            contexts = getattr(registry.panel(name), "contexts", None)
            if contexts and len(found) > 1:
                with through(self._look):
                    answer = contexts(found, replace(NOBODY, team_ids=viewer.team_ids, lead_of=viewer.lead_of))
                self._read.update({self._key(block, viewer): answer.get(block.id) for block in found})

    def _key(self, block: Block, viewer: Viewer) -> tuple[Block, Viewer]:
        known = (block.team, viewer.team_ids, viewer.lead_of)
        if known not in self._audiences:
            self._audiences[known] = narrowed(block, viewer)
        return block, self._audiences[known]

    def _draw(self, block: Block, audience: Viewer) -> Rendered:
        if not _may_see(block, audience):
            return Rendered(None)
        panel = registry.panel(block.panel)
        key = (block, audience)
        context = self._read[key] if key in self._read else panel.context(block, audience)
        if context is None:
            return Rendered(None)
        children: dict[str, Block] = {}
        can_act = block.team is not None and audience.can_act(block.team)
        ours = {"block": block, "can_act": can_act, "viewer": audience, **context, **self._page, CHILDREN: children}
        return Rendered(str(get_template(panel.template).render(ours)), children)


def _may_see(block: Block, audience: Viewer) -> bool:
    return block.team is None or audience.can_see(block.team)
