"""Processes of one life: numbered over every `run` of it; one that cannot begin, and one that is hard to understand."""

import errno
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from tasks_app.domain.statuses import Reason, StepKind
from tasks_app.runners.claude import launcher
from tasks_app.runners.claude.session import ClaudeRunner
from tasks_app.runners.port import OutcomeKind
from tests.runners.claude.conftest import Stage
from tests.runners.claude.fakes import Binary, Faked


def test_no_number_comes_twice_in_a_life_so_that_each_process_has_a_cost_of_its_own(stage: Stage) -> None:
    runner, spec = ClaudeRunner(), stage.spec()
    assert list(islice(runner._numbers(spec), 2)) == [1, 2]
    assert next(runner._numbers(spec)) == 3, "asked to report: the same life, another process"
    assert next(runner._numbers(replace(spec, fence=spec.fence + 1))) == 1


async def test_what_cannot_be_read_of_a_message_does_not_end_the_process(stage: Stage, tmp_path: Path) -> None:
    outcome = await Faked(Binary(tmp_path / "bin", "nulls")).run(stage.spec(), stage.port)
    assert (outcome.kind, outcome.result) == (OutcomeKind.ENDED, "done all the same")
    unknown = [step.data["unknown"] for step in stage.port.of(StepKind.NOTICE) if "unknown" in step.data]
    assert unknown == ["malformed TaskStartedMessage", "malformed RateLimitEvent", "malformed TaskNotificationMessage"]


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
