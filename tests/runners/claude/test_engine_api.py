"""What the API can do to a run, on the real Claude Code process against a model that misbehaves."""

import asyncio

import pytest

from tasks_app.domain.statuses import Reason, StepKind
from tasks_app.runners.fake_port import yes
from tasks_app.runners.port import OutcomeKind
from tests.runners.claude.conftest import Stage, bash

pytestmark = pytest.mark.engine


@pytest.mark.parametrize(
    ("status", "reason"),
    [(401, Reason.AUTH), (403, Reason.AUTH), (429, Reason.RATE_LIMITED), (529, Reason.OVERLOADED), (500, Reason.OVERLOADED)],
)
async def test_a_refusal_of_the_api_is_named_and_not_taken_for_success(stage: Stage, status: int, reason: Reason) -> None:
    """N32."""
    failure = {"status": status, "times": "always", "retry": False}
    stage.script({"say": "I begin", "call": [bash("ls")]}, {"say": "x", "fail": failure})
    outcome = await asyncio.wait_for(stage.run(yes), 30)
    assert (outcome.kind, outcome.reason) == (OutcomeKind.FAILED, reason)
    assert "{" not in outcome.detail
    assert str(status) in outcome.raw
    assert outcome.result == "I begin"
    assert outcome.session_id == stage.port.sessions[-1]


async def test_a_model_that_refuses_is_told_apart(stage: Stage) -> None:
    stage.script({"misbehave": {"how": "refusal", "times": "always"}})
    outcome = await stage.run(yes)
    assert (outcome.kind, outcome.reason) == (OutcomeKind.FAILED, Reason.REFUSED)


async def test_turns_that_are_used_up_end_the_run(stage: Stage) -> None:
    stage.script(*[{"call": [bash("ls")]}] * 4, {"say": "done"})
    outcome = await stage.run(yes, max_turns=2)
    assert (outcome.kind, outcome.reason) == (OutcomeKind.FAILED, Reason.TURN_LIMIT)


async def test_an_api_out_of_reach_is_worth_another_try(stage: Stage) -> None:
    stage.script({"say": "never said"})
    spec = stage.spec()
    env = {**spec.env, "ANTHROPIC_BASE_URL": "http://127.0.0.1:9", "CLAUDE_CODE_MAX_RETRIES": "0"}
    outcome = await asyncio.wait_for(stage.run(env=env), 30)
    assert (outcome.kind, outcome.reason) == (OutcomeKind.FAILED, Reason.OVERLOADED)


async def test_tokens_are_counted_once_and_completed_by_the_result(stage: Stage) -> None:
    usage = {"input": 3, "cache_write": 9284, "cache_read": 63347, "output": 212}
    stage.script(
        {"say": "a", "call": [bash("ls")], "usage": usage},
        {"say": "b", "usage": {"input": 5, "cache_write": 0, "cache_read": 0, "output": 7}},
    )
    await stage.run(yes)
    counted = {step.usage.message_id: step.usage for step in stage.port.steps if step.usage}
    assert sum(one.output_tokens for one in counted.values()) == 219
    assert sum(one.cache_read_tokens for one in counted.values()) == 63347
    assert sum(one.cache_creation_tokens for one in counted.values()) == 9284
    contexts = [step.context_tokens for step in stage.port.steps if step.context_tokens]
    assert contexts[0] == 3 + 9284 + 63347
    (result,) = stage.port.of(StepKind.RESULT)
    assert result.cost is not None
    assert result.context_window is not None


async def test_hostile_text_is_cleaned_and_secrets_are_masked(stage: Stage) -> None:
    key = "sk-ant-api03-" + "A" * 40
    stage.script({"say": f"key {key} \u0000 nul", "call": [bash(f"echo {key}; printf 'a\\0b\\033[31mred'")]}, {"say": "done"})
    await stage.run(yes, allow=("Bash",))
    record = repr(stage.port.steps)
    assert key not in record
    assert "\\x00" not in record
    assert "sk-ant-api03-***" in record
