"""What a result means: `success` alone means nothing."""

from typing import Any, cast

import pytest
from claude_agent_sdk import AssistantMessage, RateLimitEvent

from tasks_app.domain.statuses import Reason
from tasks_app.runners.claude.ending import Heard, of_result
from tasks_app.runners.port import Outcome, OutcomeKind
from tests.runners.claude.messages import assistant, parsed, result, text

NOW = 1_780_000_000.0


def heard(said: str = "partial") -> Heard:
    """A turn in which the agent said something."""
    found = Heard()
    if said:
        found.message(cast(AssistantMessage, assistant(text(said))))
    return found


def outcome(given: Heard | None = None, **more: Any) -> Outcome:
    """What a result with these fields means."""
    return of_result(result(**more), given or heard(), session_id="s", now=NOW)


def rate_limit(status: str, resets_at: int | None) -> RateLimitEvent:
    """A rate limit event."""
    info = {"status": status, "resetsAt": resets_at, "utilization": 0.9}
    return cast(RateLimitEvent, parsed({"type": "rate_limit_event", "rate_limit_info": info, "uuid": "u", "session_id": "s"}))


def test_a_plain_success_is_one() -> None:
    found = outcome()
    assert (found.kind, found.reason, found.result, found.session_id) == (OutcomeKind.ENDED, Reason.DONE, "fine", "s")


def test_a_429_dressed_as_success_is_rate_limited_with_the_reset_time() -> None:
    """N32."""
    turn = heard("half of it")
    turn.rate_limit(rate_limit("allowed_warning", 1_790_000_000))
    turn.rate_limit(rate_limit("rejected", 1_790_000_000))
    raw = 'API Error: 429 {"type":"error"}'
    found = outcome(turn, is_error=True, api_error_status=429, result=raw, stop_reason=None)
    assert (found.kind, found.reason, found.retry_at) == (OutcomeKind.FAILED, Reason.RATE_LIMITED, 1_790_000_000)
    assert "2026-09-21 14:13 UTC" in found.detail
    assert "{" not in found.detail
    assert "API Error: 429" in found.raw
    assert found.result == "half of it"


def test_allowed_events_give_no_time_to_come_back() -> None:
    turn = heard()
    turn.rate_limit(rate_limit("allowed_warning", 1_790_000_000))
    assert outcome(turn, is_error=True, api_error_status=429).retry_at is None


def test_a_reset_in_the_past_is_no_time_to_come_back() -> None:
    turn = heard()
    turn.rate_limit(rate_limit("rejected", 5))
    assert outcome(turn, is_error=True, api_error_status=429).retry_at is None


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"is_error": True, "api_error_status": 529}, Reason.OVERLOADED),
        ({"is_error": True, "api_error_status": 503}, Reason.OVERLOADED),
        ({"is_error": True, "api_error_status": 401}, Reason.AUTH),
        ({"is_error": True, "result": "API Error: 529 overloaded"}, Reason.OVERLOADED),
        ({"is_error": True, "result": "API Error: Connection error."}, Reason.OVERLOADED),
        ({"is_error": True, "api_error_status": 400, "result": "API Error: 400"}, Reason.ERROR),
        ({"stop_reason": "refusal"}, Reason.REFUSED),
        ({"subtype": "error_max_turns", "is_error": True}, Reason.TURN_LIMIT),
        ({"subtype": "error_max_budget_usd"}, Reason.BUDGET),
        ({"subtype": "error_during_execution", "errors": ["it broke"]}, Reason.ERROR),
    ],
)
def test_every_other_ending_has_its_reason(fields: dict[str, Any], reason: Reason) -> None:
    found = outcome(**fields)
    assert (found.kind, found.reason) == (OutcomeKind.FAILED, reason)
    assert found.detail


def test_a_success_with_no_output_at_all_is_empty() -> None:
    assert outcome(heard(""), result="").reason is Reason.EMPTY
    assert outcome(heard("something"), result="").reason is Reason.DONE


def test_the_sdks_word_counts_where_no_status_is_given() -> None:
    turn = Heard()
    turn.message(cast(AssistantMessage, assistant(text("Invalid API key"), model="<synthetic>", error="authentication_failed")))
    assert outcome(turn, is_error=True, result="Invalid API key").reason is Reason.AUTH


def test_what_a_subagent_says_is_not_the_agents_last_word() -> None:
    turn = heard("mine")
    turn.message(cast(AssistantMessage, assistant(text("theirs"), parent_tool_use_id="toolu_1")))
    assert outcome(turn, result="").result == "mine"


def test_secrets_and_nul_in_the_raw_detail_are_gone() -> None:
    found = outcome(is_error=True, result="API Error: 400 sk-ant-api03-" + "A" * 40 + "\x00")
    assert "AAAA" not in found.raw + found.detail
    assert "\x00" not in found.raw
