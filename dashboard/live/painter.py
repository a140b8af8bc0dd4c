"""Renders stale blocks once per audience and finds out which of them really look different."""

import logging
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from dashboard.access import Viewer
from dashboard.live.orders import News, Shown
from dashboard.panels.base import NESTED, Block, Drawing, Rendered
from tasks_app.domain.text import mask_secrets
from tasks_app.services.moments import end_with_moment

logger = logging.getLogger(__name__)
Test = Callable[[Block], bool]


class Painter:
    """Lives for one look at the database: what it has rendered is as fresh as that look."""

    def __init__(self) -> None:
        self._drawing = Drawing()
        self._broken: set[tuple[Block, frozenset[int], frozenset[int]]] = set()

    def map(self, roots: Iterable[Block], viewer: Viewer) -> Shown:
        """Return what a page with these blocks consists of, without claiming that anybody was sent it."""
        painted = self.paint(Shown(()), tuple(roots), viewer, stale=lambda _: True).shown
        return Shown(painted.roots, painted.inside, broken=painted.broken)

    def paint(
        self, shown: Shown, roots: tuple[Block, ...], viewer: Viewer, *, stale: Test, sweep: bool = False, fast: bool = False
    ) -> News:
        """Return the stale blocks that differ from what was sent, outermost first, and the ones that are gone (None).

        A block that stands inside another one that is sent is not sent again. A block that is stale but equal is not sent,
        but doubted: a page may have changed it by other means (the answer to a POST), so the next sweep sends it; unless a
        `fast` frame has just sent it, for the same event. A block that cannot be rendered is left as it is and asks for a
        resync, once.
        """
        walk = _Walk(self, shown, viewer, stale, sweep)
        self.read([block for block in (*roots, *shown.blocks()) if stale(block)], viewer)
        for block in roots:
            walk.visit(block)
        now = {block.id for root in roots for block in _tree(root, walk.inside)}
        before = {block.id for block in shown.blocks()}
        gone: dict[str, str | None] = dict.fromkeys(sorted(before - now))
        hashes = {name: value for name, value in walk.hashes.items() if name in now}
        after = Shown(
            roots,
            {name: children for name, children in walk.inside.items() if name in now},
            hashes,
            frozenset(walk.broken & now),
            frozenset(walk.doubted & now),
            shown.wait,
            shown.fresh | walk.sent if fast else frozenset(),
        )
        return News(after, {**walk.html, **gone}, resync=bool(after.broken - shown.broken))

    def read(self, blocks: list[Block], viewer: Viewer) -> None:
        """Read contexts together; a failure shows again, and is told, when the culprit is drawn alone."""
        try:
            self._drawing.read(blocks, viewer)
        except Exception as error:
            end_with_moment(error)
            logger.warning("blocks could not be read together: %s", type(error).__name__)

    def own(self, block: Block, viewer: Viewer) -> Rendered | None:
        """Return the block without what it contains; None: its panel or template failed (and was logged)."""
        key = (block, viewer.team_ids, viewer.lead_of)
        if key in self._broken:
            return None
        try:
            return self._drawing.own(block, viewer)
        except Exception as error:
            end_with_moment(error)
            self._broken.add(key)
            logger.error("panel %s failed: %s", block.panel, mask_secrets("".join(traceback.format_exception(error))))
            return None


def _tree(block: Block, inside: dict[str, tuple[Block, ...]]) -> list[Block]:
    return [block, *(found for child in inside.get(block.id, ()) for found in _tree(child, inside))]


@dataclass
class _Walk:
    """One pass over a view's tree of blocks."""

    painter: Painter
    shown: Shown
    viewer: Viewer
    stale: Test
    sweep: bool
    html: dict[str, str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.known = {block.id: block for block in self.shown.blocks()}
        self.inside = dict(self.shown.inside)
        self.hashes = dict(self.shown.hashes)
        self.broken, self.doubted = set(self.shown.broken), set(self.shown.doubted)
        self.sent = set[str]()

    def visit(self, block: Block) -> None:
        """Send the block where it is stale and differs, else look at what it contains."""
        if self.known.get(block.id) == block and not self.stale(block):
            children = self.inside.get(block.id, ())
        else:
            rendered = self.painter.own(block, self.viewer)
            if rendered is None:
                self.broken.add(block.id)
                return
            if self._differs(block, rendered):
                self._send(block)
                return
            children = tuple(rendered.children.values())
            self.inside[block.id] = children
        for child in children:
            self.visit(child)

    def _differs(self, block: Block, rendered: Rendered) -> bool:
        if self.hashes.get(block.id) != hash(rendered.own) or (self.sweep and block.id in self.doubted):
            return True
        if not self.sweep and block.id not in self.shown.fresh:
            self.doubted.add(block.id)
        return False

    def _send(self, block: Block) -> None:
        parts: dict[str, Rendered] = {}
        try:
            whole = self._whole(block, parts)
        except _Broken as error:
            self.broken |= {block.id, str(error)}
            return
        self.html[block.id] = whole if parts[block.id].own is not None else None
        for name, rendered in parts.items():
            self.inside[name] = tuple(rendered.children.values())
            self.hashes[name] = hash(rendered.own)
        self.sent |= set(parts)
        self.broken -= set(parts)
        self.doubted -= set(parts)

    def _whole(self, block: Block, parts: dict[str, Rendered]) -> str:
        rendered = self.painter.own(block, self.viewer)
        if rendered is None or block.id in parts:
            raise _Broken(block.id)
        parts[block.id] = rendered
        self.painter.read(list(rendered.children.values()), self.viewer)
        texts = NESTED.split(rendered.own or "")
        for at in range(1, len(texts), 2):
            texts[at] = self._whole(rendered.children[texts[at]], parts)
        return "".join(texts)


class _Broken(Exception):
    """Some block inside cannot be rendered (or stands in it twice); carries its id."""
