"""What the panels of the pages have in common: each can read many blocks at once, in a constant number of queries."""

from collections.abc import Mapping, Sequence
from typing import Any

from dashboard.access import Viewer
from dashboard.panels.base import Block

Contexts = Mapping[str, dict[str, Any]]


class Many:
    """A panel that reads many blocks in one go; a single block is the simple case."""

    def contexts(self, blocks: Sequence[Block], viewer: Viewer) -> Contexts:
        """Return the contexts by block id; a block that is missing is gone."""
        raise NotImplementedError

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any] | None:
        """Return the context of one block, or None when it is gone."""
        return self.contexts([block], viewer).get(block.id)
