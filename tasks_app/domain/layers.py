"""Where the nodes of a dependency graph stand in a picture: in layers from left to right, each right of all that it waits for.

The usual steps of a layered drawing (Sugiyama, Tagawa, Toda 1981): longest paths give the layers, long edges get a bend in each
layer they cross, sweeps by the mean place of the neighbours take crossings out, and each layer is moved towards its neighbours.
"""

from bisect import bisect_right, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from statistics import fmean

NODE_W, NODE_H = 200, 56
GAP_X, GAP_Y = 56, 12
BEND_H = 14
"""Room that an edge takes in a layer it only crosses. All sizes in the units of the picture."""
COLUMNS = 4
"""How many tasks that are linked to nothing stand side by side, at least."""
SWEEPS = 8
PULLS = 6

Point = tuple[float, float]
Edge = tuple[int, int]
"""(needed, waiting): drawn from left to right."""


@dataclass(frozen=True)
class Picture:
    """The upper left corner of each node, and the points that each edge goes through, from the needed node to the waiting one."""

    width: float
    height: float
    corners: Mapping[int, Point]
    lines: Mapping[Edge, tuple[Point, ...]]


@lru_cache(maxsize=64)
def drawn(nodes: tuple[int, ...], edges: tuple[Edge, ...]) -> Picture:
    """Return the picture of a graph; `nodes` are positive and in the order that ties fall back to, each once.

    Edges from or to anything else are left out. An edge that closes a cycle is drawn backwards: nothing hangs.
    """
    known = set(nodes)
    kept = tuple(dict.fromkeys(edge for edge in edges if edge[0] != edge[1] and known.issuperset(edge)))
    linked = {node for edge in kept for node in edge}
    picture = _Layers([node for node in nodes if node in linked], kept).picture() if linked else Picture(0, 0, {}, {})
    return _below(picture, [node for node in nodes if node not in linked])


def _below(picture: Picture, alone: Sequence[int]) -> Picture:
    """The picture with what waits for nothing and is waited for by nothing: in rows below, as wide as the rest."""
    if not alone:
        return picture
    columns = min(len(alone), max(COLUMNS, round((picture.width + GAP_X) / (NODE_W + GAP_X))))
    top = picture.height + 2 * GAP_Y if picture.corners else 0
    corners = {
        node: ((at % columns) * (NODE_W + GAP_X), top + (at // columns) * (NODE_H + GAP_Y)) for at, node in enumerate(alone)
    }
    width = max(picture.width, columns * (NODE_W + GAP_X) - GAP_X)
    height = max(y for _, y in corners.values()) + NODE_H
    return Picture(width, height, {**picture.corners, **corners}, picture.lines)


def _ranks(nodes: Sequence[int], edges: Sequence[Edge]) -> dict[int, int]:
    """The layer of each node: one right of the last thing it waits for. The first of a cycle counts as waiting for nothing."""
    followers: dict[int, list[int]] = {node: [] for node in nodes}
    missing = dict.fromkeys(nodes, 0)
    for needed, waiting in edges:
        followers[needed].append(waiting)
        missing[waiting] += 1
    ranks: dict[int, int] = {}
    found = dict.fromkeys(nodes, 0)
    ready = [node for node in nodes if not missing[node]]
    for first in nodes:
        if not ready and first not in ranks:
            ready = [first]  # nothing is free any more: it waits, through others, for itself
        while ready:
            node = ready.pop()
            ranks[node] = found[node]
            for waiting in followers[node]:
                missing[waiting] -= 1
                found[waiting] = max(found[waiting], ranks[node] + 1)
                if not missing[waiting] and waiting not in ranks:
                    ready.append(waiting)
    return ranks


class _Layers:
    """The layers while they are arranged. Bends are nodes with negative numbers."""

    def __init__(self, nodes: Sequence[int], edges: Sequence[Edge]) -> None:
        self.ranks = _ranks(nodes, edges)
        self.rows: list[list[int]] = [[] for _ in range(max(self.ranks.values()) + 1)]
        self.left: dict[int, list[int]] = {node: [] for node in nodes}
        self.right: dict[int, list[int]] = {node: [] for node in nodes}
        for node in nodes:
            self.rows[self.ranks[node]].append(node)
        self.paths = {edge: self._path(*edge) for edge in edges}
        self.place = {node: at for row in self.rows for at, node in enumerate(row)}

    def _path(self, needed: int, waiting: int) -> list[int]:
        path = [needed]
        for rank in range(self.ranks[needed] + 1, self.ranks[waiting]):
            bend = -len(self.left) - 1
            self.left[bend], self.right[bend], self.ranks[bend] = [], [], rank
            self.rows[rank].append(bend)
            path.append(bend)
        path.append(waiting)
        if self.ranks[needed] < self.ranks[waiting]:
            for one, other in pairwise(path):
                self.right[one].append(other)
                self.left[other].append(one)
        return path

    def picture(self) -> Picture:
        self._uncross()
        middles = self._middles()
        top = min(middles[node] - _room(node) / 2 for node in middles)
        corners = {node: (self._x(node), middles[node] - top - NODE_H / 2) for node in self.ranks if node > 0}
        width = len(self.rows) * (NODE_W + GAP_X) - GAP_X
        height = max(y + NODE_H for _, y in corners.values())
        lines = {edge: self._line(path, middles, top) for edge, path in self.paths.items()}
        bent = max((y for line in lines.values() for _, y in line), default=0)
        return Picture(width, max(height, bent + BEND_H / 2), corners, lines)

    def _x(self, node: int) -> float:
        return self.ranks[node] * (NODE_W + GAP_X)

    def _line(self, path: Sequence[int], middles: Mapping[int, float], top: float) -> tuple[Point, ...]:
        points = [(self._x(path[0]) + NODE_W, middles[path[0]] - top)]
        for bend in path[1:-1]:
            y = middles[bend] - top
            points += [(self._x(bend), y), (self._x(bend) + NODE_W, y)]
        return (*points, (self._x(path[-1]), middles[path[-1]] - top))

    def _uncross(self) -> None:
        best = [list(row) for row in self.rows]
        fewest = self._crossings()
        for sweep in range(SWEEPS):
            if not fewest:
                break
            rightwards = sweep % 2 == 0
            for row in self.rows[1:] if rightwards else self.rows[-2::-1]:
                self._sort(row, self.left if rightwards else self.right)
            count = self._crossings()
            if count < fewest:
                best, fewest = [list(row) for row in self.rows], count
        self.rows = best

    def _sort(self, row: list[int], beside: Mapping[int, list[int]]) -> None:
        row.sort(key=lambda node: fmean(self.place[other] for other in beside[node]) if beside[node] else self.place[node])
        self.place.update({node: at for at, node in enumerate(row)})

    def _crossings(self) -> int:
        """How many pairs of edges cross: for each gap the pairs whose ends stand the other way round than their beginnings."""
        total = 0
        for row in self.rows[:-1]:
            ends: list[int] = []
            for node in row:
                here = sorted(self.place[other] for other in self.right[node])
                total += sum(len(ends) - bisect_right(ends, end) for end in here)
                for end in here:
                    insort(ends, end)
        return total

    def _middles(self) -> dict[int, float]:
        """The height of each node's middle: stacked first, then pulled towards what it is connected to."""
        middles: dict[int, float] = {}
        for row in self.rows:
            at = 0.0
            for node in row:
                middles[node] = at + _room(node) / 2
                at += _room(node)
        for pull in range(PULLS):
            rightwards = pull % 2 == 0
            beside = self.left if rightwards else self.right
            for row in self.rows[1:] if rightwards else self.rows[-2::-1]:
                wanted = [fmean(middles[other] for other in beside[node]) if beside[node] else middles[node] for node in row]
                middles.update(zip(row, _apart([_room(node) for node in row], wanted), strict=True))
        return middles


def _room(node: int) -> float:
    return NODE_H + GAP_Y if node > 0 else BEND_H


def _apart(rooms: Sequence[float], wanted: Sequence[float]) -> list[float]:
    """Return the middles nearest to `wanted` (least squares) that keep order and room: isotonic regression by pooling."""
    starts: list[float] = []
    pools: list[tuple[float, int]] = []
    at = 0.0
    for room, want in zip(rooms, wanted, strict=True):
        starts.append(at + room / 2)
        pools.append((want - starts[-1], 1))
        at += room
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (low, many), (high, more) = pools.pop(), pools.pop()
            pools.append(((low * many + high * more) / (many + more), many + more))
    moves = [move for move, count in pools for _ in range(count)]
    return [start + move for start, move in zip(starts, moves, strict=True)]
