"""Processes of one life: numbered over every `run` of it; and one that cannot begin."""

import errno
from dataclasses import replace
from itertools import islice

import pytest

from tasks_app.domain.statuses import Reason
from tasks_app.runners.claude import launcher
from tasks_app.runners.claude.session import ClaudeRunner
from tests.runners.claude.conftest import Stage


def test_no_number_comes_twice_in_a_life_so_that_each_process_has_a_cost_of_its_own(stage: Stage) -> None:
    runner, spec = ClaudeRunner(), stage.spec()
    assert list(islice(runner._numbers(spec), 2)) == [1, 2]
    assert next(runner._numbers(spec)) == 3, "asked to report: the same life, another process"
    assert next(runner._numbers(replace(spec, fence=spec.fence + 1))) == 1


async def test_where_its_files_cannot_be_made_nothing_was_started_and_another_life_may_help(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(launcher, "prepare", full)
    outcome = await stage.run()
    assert (outcome.reason, outcome.broken) == (Reason.START_FAILED, True)
    assert outcome.detail == "The files of the agent could not be made: There is no space left on the disk."
    assert stage.port.pids == [0], "seen gone"
