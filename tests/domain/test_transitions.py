"""Every stored state can be reached, final ones stay, and nothing else is a move."""

import pytest

from tasks_app.domain import transitions
from tasks_app.domain.statuses import OPEN_RUN, DecisionStatus, RunStatus, TaskStatus
from tasks_app.domain.transitions import Move

MOVES = [move for move in vars(transitions).values() if isinstance(move, Move)]
START = {TaskStatus: TaskStatus.PENDING, RunStatus: RunStatus.PENDING, DecisionStatus: DecisionStatus.OPEN}


def pairs(kind):
    return {(one, other) for move in MOVES for one in move.before for other in move.after if isinstance(one, kind)}


@pytest.mark.parametrize("kind", [TaskStatus, RunStatus, DecisionStatus])
def test_every_state_is_reached_from_the_first_one(kind):
    reached = {START[kind]}
    for _ in kind:
        reached |= {other for one, other in pairs(kind) if one in reached}
    assert reached == set(kind)


def test_only_open_runs_and_decisions_and_every_task_may_change():
    assert {one for one, _ in pairs(RunStatus)} == set(OPEN_RUN)
    assert {one for one, _ in pairs(DecisionStatus)} == {DecisionStatus.OPEN}
    assert {one for one, _ in pairs(TaskStatus)} == set(TaskStatus)


def test_the_moves_are_what_design_says():
    p, r, c, f, k = RunStatus
    assert pairs(RunStatus) == {(p, r), (r, p), (r, c), (r, f), (r, k), (p, f), (p, k)}
    pending, working, done, cancelled = TaskStatus
    back = {(working, pending), (done, pending), (cancelled, pending)}
    assert pairs(TaskStatus) == back | {
        (pending, working),
        (pending, done),
        (working, done),
        (pending, cancelled),
        (working, cancelled),
    }


@pytest.mark.parametrize("move", MOVES)
def test_a_move_stays_within_one_kind_and_leads_elsewhere(move):
    assert len({type(state) for state in (*move.before, *move.after)}) == 1
    assert not set(move.before) & set(move.after)


def test_a_state_that_a_move_does_not_lead_to_is_refused():
    assert transitions.DROP_RUN.to(RunStatus.KILLED) == "killed"
    with pytest.raises(ValueError, match="cannot follow pending"):
        transitions.DROP_RUN.to(RunStatus.COMPLETED)
