"""The tasks of a team as a graph: a frame with the lines, a block for each task in it, and the chain that takes longest."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dashboard.access import Viewer
from dashboard.panels.base import Block
from dashboard.panels.board import Filter, Row
from tasks_app.domain import graph, layers
from tasks_app.domain.layers import Picture, Point
from tasks_app.domain.statuses import UNFINISHED
from tasks_app.selectors import dependencies, tasks
from tasks_app.selectors.tasks import TaskCard
from tasks_app.services import keys

SHOWN = 150
"""Above so many tasks the picture shows what is open and its direct neighbours, until all are asked for."""


@dataclass(frozen=True)
class Node:
    """Where a task stands, and what is drawn there: a live block, or a task of a plan that has not been started."""

    x: float
    y: float
    block: Block | None = None
    label: str = ""
    title: str = ""
    who: str = ""


class Graph:
    """The frame. It changes only where a task or a dependency comes or goes: what a task does is its own block's."""

    name = "graph"
    template = "panels/graph.html"

    def block(self, team_pk: int, query: str) -> Block:
        """Return the graph of a team through a filter."""
        return Block(f"graph-{team_pk}", self.name, (team_pk, query), frozenset({keys.tasks(team_pk)}), team_pk)

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any]:
        """Return the picture: lines, and a block per task."""
        team_pk, chosen = int(block.args[0]), Filter.parse(str(block.args[1]))
        cards = tasks.of_teams([team_pk])[team_pk]
        edges = dependencies.of_team(team_pk)
        matching = [card for card in cards if chosen.lets(card)]
        shown = matching if chosen.everything or len(matching) <= SHOWN else _open(matching, edges)
        node = GraphNode()
        picture = layers.drawn(tuple(card.pk for card in shown), tuple(edges))
        nodes = [Node(*picture.corners[card.pk], node.block(card.pk, team_pk, card.agent_pk)) for card in shown]
        left_out = len(matching) - len(shown)
        return {
            **drawing(picture, nodes),
            "chain": GraphChain().block(team_pk),
            "filter": chosen,
            "shown": len(shown),
            "matching": len(matching),
            "left_out": left_out,
        }


class GraphNode(Row):
    """One task in the graph: what its row in the table shows, drawn in its place."""

    name = "graph-node"
    template = "panels/graph_node.html"
    prefix = "node"


class GraphChain:
    """The longest chain of unfinished tasks: nothing else brings the end nearer."""

    name = "graph-chain"
    template = "panels/graph_chain.html"

    def block(self, team_pk: int) -> Block:
        """Return the line of a team."""
        return Block(f"chain-{team_pk}", self.name, (team_pk,), frozenset({keys.tasks(team_pk)}), team_pk)

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any]:
        """Return the tasks of the chain and their expected minutes; none of a circle, which has no end."""
        team_pk = int(block.args[0])
        unfinished = {card.pk: card for card in tasks.of_teams([team_pk])[team_pk] if card.status in UNFINISHED}
        deps: dict[int, list[int]] = {pk: [] for pk in unfinished}
        for needed, waiting in dependencies.of_team(team_pk):
            if needed in deps and waiting in deps:
                deps[waiting].append(needed)
        circle = graph.members_of_cycles(deps)
        deps = {pk: [needed for needed in needs if needed not in circle] for pk, needs in deps.items() if pk not in circle}
        low, high = (
            graph.critical_path(deps, {pk: getattr(card, side) for pk, card in unfinished.items()})
            for side in ("expected_min", "expected_max")
        )
        return {"chain": [unfinished[pk] for pk in high.path], "low": low.total, "high": high.total}


def drawing(picture: Picture, nodes: Sequence[Node]) -> dict[str, Any]:
    """Return what parts/graph.html draws."""
    paths = [_path(points) for points in picture.lines.values()]
    return {"picture": picture, "nodes": nodes, "paths": paths, "node_w": layers.NODE_W, "node_h": layers.NODE_H}


def _path(points: Sequence[Point]) -> str:
    """The points as an SVG path: straight where a line only crosses a layer, bent between two layers."""
    (x, y), *rest = points
    words = [f"M{x:g} {y:.1f}"]
    for to_x, to_y in rest:
        middle = (x + to_x) / 2
        words.append(f"H{to_x:g}" if y == to_y else f"C{middle:g} {y:.1f} {middle:g} {to_y:.1f} {to_x:g} {to_y:.1f}")
        x, y = to_x, to_y
    return "".join(words)


def _open(cards: Sequence[TaskCard], edges: Sequence[tuple[int, int]]) -> list[TaskCard]:
    unfinished = {card.pk for card in cards if card.status in UNFINISHED}
    beside = {pk for edge in edges if unfinished.intersection(edge) for pk in edge}
    return [card for card in cards if card.pk in unfinished | beside]
