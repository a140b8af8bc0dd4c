"""Cycles are named, order holds, and what blocks a task says whether waiting helps."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.domain import graph
from tasks_app.domain.errors import Invalid
from tasks_app.domain.graph import Blocker, Why
from tasks_app.domain.statuses import TaskStatus as S

GRAPHS = st.dictionaries(st.integers(0, 8), st.lists(st.integers(0, 8), max_size=4), max_size=9)
CHAIN = {n: [n + 1] for n in range(100_000)}


def is_closed_path(path, deps):
    return path[0] == path[-1] and len(path) > 1 and all(b in deps[a] for a, b in itertools.pairwise(path))


@pytest.mark.parametrize(
    ("deps", "cycle"),
    [
        ({"A": ["A"]}, ["A", "A"]),
        ({"A": ["B"], "B": ["A"]}, ["A", "B", "A"]),
        ({"A": ["B"], "B": ["C"], "C": ["A"]}, ["A", "B", "C", "A"]),
        ({"X": ["A"], "A": ["B"], "B": ["A"]}, ["A", "B", "A"]),
        ({"A": ["B", "C"], "B": ["C"], "C": []}, None),
        ({"A": ["gone"]}, None),
        ({}, None),
    ],
)
def test_a_cycle_is_found_and_its_whole_path_named(deps, cycle):
    assert graph.find_cycle(deps) == cycle


@pytest.mark.parametrize(
    ("deps", "node", "new", "path"),
    [
        ({"A": []}, "A", "A", ["A", "A"]),
        ({"A": ["B"], "B": []}, "B", "A", ["B", "A", "B"]),
        ({"A": ["B"], "B": ["C"], "C": []}, "C", "A", ["C", "A", "B", "C"]),
        ({"A": ["B"], "B": ["C"], "C": []}, "A", "C", None),
    ],
)
def test_an_edit_that_would_close_a_cycle_is_seen_before_it_is_made(deps, node, new, path):
    assert graph.would_cycle(deps, node, new) == path


@given(GRAPHS)
def test_cycle_order_and_membership_agree(deps):
    cycle = graph.find_cycle(deps)
    members = graph.members_of_cycles(deps)
    assert bool(cycle) == bool(members)
    if cycle:
        assert is_closed_path(cycle, deps)
        assert set(cycle) <= members
        with pytest.raises(Invalid, match="→"):
            graph.topological_order(deps)
    else:
        order = graph.topological_order(deps)
        assert sorted(order) == sorted(deps)
        assert all(order.index(b) < order.index(a) for a in deps for b in deps[a] if b in deps)


@given(GRAPHS, st.integers(0, 8), st.integers(0, 8))
def test_would_cycle_is_right_about_every_edge_added_to_a_graph_without_cycles(deps, node, new):
    if graph.find_cycle(deps):
        return
    path = graph.would_cycle(deps, node, new)
    added = {**deps, node: [*deps.get(node, []), new]}
    assert (path is None) == (graph.find_cycle(added) is None)
    if path:
        assert path[:2] == [node, new]
        assert is_closed_path(path, added)


def test_members_of_two_cycles_are_all_named_and_those_behind_them_are_not():
    deps = {1: [2], 2: [1], 3: [1], 4: [4], 5: [], 6: [5]}
    assert graph.members_of_cycles(deps) == {1, 2, 4}


def test_a_hundred_thousand_tasks_in_a_row_are_no_problem():
    assert graph.find_cycle(CHAIN) is None
    assert graph.find_cycle({**CHAIN, 100_000: [0]})[-1] == 0
    assert len(graph.would_cycle(CHAIN, 100_000, 0)) == 100_002
    assert graph.members_of_cycles(CHAIN) == set()
    assert graph.topological_order(CHAIN)[0] == 99_999
    assert graph.waiting_behind(100_000, CHAIN) == 100_000
    assert graph.critical_path(CHAIN, dict.fromkeys(CHAIN, 1.0)).total == 100_000
    assert graph.blockers(0, CHAIN, dict.fromkeys(range(100_000), S.PENDING)) == (Blocker(1, Why.MISSING, 100_000),)


def test_a_completed_dependency_blocks_nothing():
    assert graph.blockers(2, {1: [], 2: [1]}, {1: S.COMPLETED, 2: S.PENDING}) == ()


def test_a_dependency_that_can_still_be_completed_is_waited_for():
    (blocker,) = graph.blockers(2, {1: [], 2: [1]}, {1: S.IN_PROGRESS, 2: S.PENDING})
    assert blocker == Blocker(1, Why.WAITING, 1)
    assert not blocker.never


@pytest.mark.parametrize(
    ("status", "failed", "why"), [(S.PENDING, {"A"}, Why.FAILED), (S.CANCELLED, set(), Why.CANCELLED), (None, set(), Why.MISSING)]
)
def test_what_can_never_be_completed_is_named_through_the_whole_chain(status, failed, why):
    deps = {"A": [], "B": ["A"], "C": ["B"]}
    statuses = {"B": S.PENDING, "C": S.PENDING} | ({"A": status} if status else {})
    assert graph.blockers("B", deps, statuses, failed=failed) == (Blocker("A", why, "A"),)
    (blocker,) = graph.blockers("C", deps, statuses, failed=failed)
    assert blocker == Blocker("B", why, "A")
    assert blocker.never


def test_a_failed_task_that_runs_again_is_only_waited_for():
    deps = {"A": [], "B": ["A"]}
    assert graph.blockers("B", deps, {"A": S.IN_PROGRESS, "B": S.PENDING}, failed={"A"}) == (Blocker("A", Why.WAITING, "A"),)


def test_members_of_an_imported_cycle_say_so_unless_one_of_them_is_completed():
    deps = {1: [2], 2: [1], 3: [2]}
    statuses = dict.fromkeys(deps, S.PENDING)
    assert graph.blockers(1, deps, statuses) == (Blocker(2, Why.CYCLE, 2),)
    assert graph.blockers(3, deps, statuses)[0].why is Why.CYCLE
    assert graph.blockers(1, deps, statuses | {2: S.COMPLETED}) == ()


def test_the_order_keeps_what_was_given_where_it_is_free_to():
    assert graph.topological_order({"c": [], "b": ["c"], "a": [], "d": ["c", "c"]}) == ["c", "a", "b", "d"]


def test_waiting_behind_counts_everyone_once():
    assert graph.waiting_behind("a", {"a": [], "b": ["a"], "c": ["a", "b"], "d": ["c"], "e": []}) == 3


def test_the_critical_path_is_the_longest_chain_by_time():
    deps = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]}
    path = graph.critical_path(deps, {"a": 1, "b": 5, "c": 2, "d": 1})
    assert (path.path, path.total) == (("a", "b", "d"), 7)
    assert graph.critical_path({}, {}).path == ()
