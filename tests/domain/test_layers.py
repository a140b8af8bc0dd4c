"""The picture of a dependency graph: order, room, bends; nothing hangs, nothing overlaps."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.domain.layers import NODE_H, NODE_W, Picture, drawn

Graph = tuple[tuple[int, ...], tuple[tuple[int, int], ...]]
GRAPHS = st.integers(1, 25).flatmap(
    lambda count: st.tuples(
        st.just(tuple(range(1, count + 1))),
        st.lists(st.tuples(st.integers(1, count + 2), st.integers(1, count + 2)), max_size=60).map(tuple),
    )
)


def overlaps(picture: Picture) -> list[tuple[int, int]]:
    corners = sorted(picture.corners.items())
    return [
        (one, other)
        for at, (one, (x, y)) in enumerate(corners)
        for other, (u, v) in corners[at + 1 :]
        if abs(x - u) < NODE_W and abs(y - v) < NODE_H
    ]


def test_a_chain_is_a_straight_line_from_left_to_right() -> None:
    picture = drawn((1, 2, 3), ((1, 2), (2, 3)))
    assert [x for x, _ in picture.corners.values()] == [0, 256, 512]
    assert len({y for _, y in picture.corners.values()}) == 1
    assert (picture.width, picture.lines[1, 2]) == (712, ((200, 34), (256, 34)))


def test_what_waits_for_two_stands_between_them() -> None:
    corners = drawn((1, 2, 3), ((1, 3), (2, 3))).corners
    assert corners[3][1] == (corners[1][1] + corners[2][1]) / 2


def test_an_edge_over_several_layers_goes_round_what_stands_there() -> None:
    picture = drawn((1, 2, 3), ((1, 2), (2, 3), (1, 3)))
    _, (_, y), *_ = picture.lines[1, 3]
    assert not picture.corners[2][1] <= y <= picture.corners[2][1] + NODE_H


def test_crossings_are_taken_out() -> None:
    corners = drawn((1, 2, 3, 4), ((1, 4), (2, 3))).corners
    assert (corners[1][1] < corners[2][1]) == (corners[4][1] < corners[3][1])


def test_what_is_linked_to_nothing_stands_in_rows_below_the_rest() -> None:
    picture = drawn((1, 2, 3, 4, 5, 6, 7), ((6, 7),))
    assert [picture.corners[node] for node in (6, 7)] == [(0, 6), (256, 6)]
    assert [picture.corners[node] for node in (1, 4, 5)] == [(0, 86), (768, 86), (0, 154)]
    assert (picture.width, picture.height) == (968, 210)


def test_an_empty_graph_is_an_empty_picture() -> None:
    assert drawn((), ((1, 2),)) == Picture(0, 0, {}, {})


@pytest.mark.parametrize("edges", [((1, 2), (2, 1)), ((1, 1),), ((1, 2), (2, 3), (3, 1)), ((9, 1), (1, 9))])
def test_cycles_and_unknown_nodes_do_not_hang(edges: tuple[tuple[int, int], ...]) -> None:
    assert set(drawn((1, 2, 3), edges).corners) == {1, 2, 3}


@given(GRAPHS)
def test_any_graph_has_room_for_every_node_and_lines_from_side_to_side(graph: Graph) -> None:
    nodes, edges = graph
    picture = drawn(nodes, edges)
    assert set(picture.corners) == set(nodes)
    assert overlaps(picture) == []
    for x, y in [*picture.corners.values(), *(point for line in picture.lines.values() for point in line)]:
        assert 0 <= x <= picture.width
        assert -0.001 <= y <= picture.height
    for (needed, waiting), line in picture.lines.items():
        assert line[0][0] == picture.corners[needed][0] + NODE_W
        assert line[-1][0] == picture.corners[waiting][0]


def test_each_task_stands_right_of_all_that_it_waits_for_in_a_large_plan() -> None:
    chance = random.Random(7)
    edges = tuple((chance.randrange(max(1, node - 60), node), node) for node in range(2, 501) for _ in range(2))
    picture = drawn(tuple(range(1, 501)), edges)
    assert all(picture.corners[needed][0] < picture.corners[waiting][0] for needed, waiting in edges)
    assert overlaps(picture) == []
