"""Every stored state can be reached, and final ones stay."""

import pytest

from tasks_app.domain import transitions as t
from tasks_app.domain.statuses import OPEN_RUN, DecisionStatus, RunStatus, TaskStatus

EVERY = [*TaskStatus, *RunStatus, *DecisionStatus]


@pytest.mark.parametrize("state", EVERY)
def test_every_state_is_a_start_or_has_a_source(state):
    assert state in t.START or t.sources(state)


@pytest.mark.parametrize("state", EVERY)
def test_sources_and_allowed_agree(state):
    assert set(t.sources(state)) == {other for other in type(state) if t.allowed(other, state)}
    assert state not in t.sources(state)


def test_only_open_runs_and_decisions_may_change():
    assert {state for state in RunStatus if not t.is_final(state)} == set(OPEN_RUN)
    assert {state for state in DecisionStatus if not t.is_final(state)} == {DecisionStatus.OPEN}
    assert not any(t.is_final(state) for state in TaskStatus)


def test_sources_are_what_design_says():
    assert t.sources(TaskStatus.CANCELLED) == (TaskStatus.PENDING, TaskStatus.IN_PROGRESS)
    assert t.sources(TaskStatus.IN_PROGRESS) == (TaskStatus.PENDING,)
    assert t.sources(RunStatus.PENDING) == (RunStatus.RUNNING,)
    assert t.sources(DecisionStatus.ANSWERED) == (DecisionStatus.OPEN,)
