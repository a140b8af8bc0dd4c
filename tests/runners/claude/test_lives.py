"""Processes of one life: numbered over every `run` of it."""

from dataclasses import replace
from itertools import islice

from tasks_app.runners.claude.session import ClaudeRunner
from tests.runners.claude.conftest import Stage


def test_no_number_comes_twice_in_a_life_so_that_each_process_has_a_cost_of_its_own(stage: Stage) -> None:
    runner, spec = ClaudeRunner(), stage.spec()
    assert list(islice(runner._numbers(spec), 2)) == [1, 2]
    assert next(runner._numbers(spec)) == 3, "asked to report: the same life, another process"
    assert next(runner._numbers(replace(spec, fence=spec.fence + 1))) == 1
