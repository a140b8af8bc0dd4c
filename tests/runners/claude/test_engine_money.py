"""What a process may cost, on the real Claude Code: it stops by itself there, says what it has cost, and the next one goes on."""

import pytest

from tasks_app.domain.statuses import Reason
from tasks_app.runners.fake_port import yes
from tasks_app.runners.port import OutcomeKind
from tests.runners.claude.conftest import Stage, bash

pytestmark = pytest.mark.engine
DEAR = {"input": 10_000, "cache_read": 0, "cache_write": 0, "output": 1_000}
"""6 cents, as Claude Code prices the model that is played [measured with 2.1]."""


async def test_a_process_stops_within_a_turn_at_what_it_was_granted_and_the_next_goes_on(stage: Stage) -> None:
    works = [{"call": [bash(f"echo {n} >> work.log")], "usage": DEAR} for n in range(5)]
    stage.script(*works, {"say": "done"})
    stopped = await stage.run(yes, max_budget_usd=0.15)
    assert (stopped.kind, stopped.reason) == (OutcomeKind.FAILED, Reason.BUDGET), stopped
    said = [step.cost.usd for step in stage.port.steps if step.cost]
    assert 0.15 <= said[-1] <= 0.15 + 0.06, "it says so at once, and spends one response more at most"
    worked = (stage.workspace / "work.log").read_text().split()
    assert 1 < len(worked) < 5
    ended = await stage.run(yes, prompt="Go on.", max_budget_usd=1.0)
    assert ended.kind is OutcomeKind.ENDED, ended
    assert sorted(set((stage.workspace / "work.log").read_text().split())) == ["0", "1", "2", "3", "4"]
