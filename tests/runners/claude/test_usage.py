"""Tokens are counted once, whatever is repeated, and come to what the process says at its end."""

from typing import Any, cast

from claude_agent_sdk import AssistantMessage

from tasks_app.runners.claude.usage import Ledger, context_tokens, context_window
from tasks_app.runners.port import Usage
from tests.runners.claude.messages import assistant, result, text, tokens


def row(*usage: int, **more: Any) -> AssistantMessage:
    """A row with usage figures."""
    return cast(AssistantMessage, assistant(text("x"), usage=tokens(*usage), **more))


def sums(found: dict[str, Usage]) -> tuple[int, int, int, int]:
    """Input, cache write, cache read and output of all messages together."""
    every = found.values()
    return (
        sum(one.input_tokens for one in every),
        sum(one.cache_creation_tokens for one in every),
        sum(one.cache_read_tokens for one in every),
        sum(one.output_tokens for one in every),
    )


def counted(*rows: AssistantMessage) -> dict[str, Usage]:
    """What is stored after these rows, by message id."""
    ledger = Ledger("r:1:1")
    return {usage.message_id: usage for one in rows if (usage := ledger.message(one)) is not None}


def test_one_message_in_three_rows_is_counted_once() -> None:
    """N29."""
    rows = [row(3, 9284, 63347, output) for output in (8, 8, 212)]
    assert sums(counted(*rows)) == (3, 9284, 63347, 212)
    assert sums(counted(*rows, *rows)) == (3, 9284, 63347, 212)


def test_a_subagents_row_is_counted_under_the_subagent() -> None:
    found = counted(row(3, 0, 0, 5), row(7, 0, 0, 9, id="msg_2", parent_tool_use_id="toolu_1"))
    assert [one.subagent for one in found.values()] == ["", "toolu_1"]
    assert sums(found) == (10, 0, 0, 14)


def test_a_row_that_adds_nothing_is_not_reported_again() -> None:
    ledger = Ledger("r:1:1")
    assert ledger.message(row(3, 0, 0, 8)) is not None
    assert ledger.message(row(3, 0, 0, 8)) is None
    assert ledger.message(row(3, 0, 0, 1)) is None


def test_the_result_completes_the_last_message_of_its_turn_only() -> None:
    ledger = Ledger("r:1:1")
    for name, output in (("a", 1), ("b", 1)):
        ledger.message(row(10, 0, 0, output, id=name))
    (last,) = ledger.result(result(usage={"output_tokens": 100}))
    assert (last.message_id, last.output_tokens) == ("b", 99)
    ledger.message(row(10, 0, 0, 1, id="c"))
    (last,) = ledger.result(result(usage={"output_tokens": 40}))
    assert (last.message_id, last.output_tokens) == ("c", 40)


def test_what_no_row_explains_is_counted_once_under_the_process() -> None:
    ledger = Ledger("r:1:1")
    ledger.message(row(10, 0, 0, 1))
    total = {
        "claude-opus-5-5[1m]": {"inputTokens": 35, "outputTokens": 60, "cacheReadInputTokens": 0, "cacheCreationInputTokens": 2}
    }
    last, rest = ledger.result(result(usage={"output_tokens": 50}, modelUsage=total))
    assert last.output_tokens == 50
    assert rest == Usage("r:1:1/claude-opus-5-5", "claude-opus-5-5", 25, 2, 0, 10)
    assert ledger.result(result(usage={}, modelUsage=total)) == []


def test_what_claude_code_wrote_itself_costs_nothing() -> None:
    assert counted(row(5, 5, 5, 5, model="<synthetic>")) == {}


def test_nonsense_figures_count_as_nothing() -> None:
    odd = cast(
        Any, assistant(text("x"), usage={"input_tokens": -4, "output_tokens": None, "cache_read_input_tokens": float("nan")})
    )
    assert sums(counted(odd)) == (0, 0, 0, 0)


def test_the_context_is_that_of_the_last_main_thread_response() -> None:
    """N31: 200,000 of 1M are 20 %, a sub-agent's 150k change nothing."""
    assert context_tokens(row(3, 9284, 190713, 5)) == 200_000
    assert context_tokens(row(3, 0, 150_000, 5, parent_tool_use_id="toolu_1")) is None
    assert context_tokens(row(0, 0, 0, 5)) is None
    assert context_tokens(cast(AssistantMessage, assistant(text("x")))) is None


def test_the_window_is_what_the_process_reports_for_the_model() -> None:
    message = result(modelUsage={"claude-x[1m]": {"contextWindow": 1_000_000}, "claude-haiku": {"contextWindow": 200_000}})
    assert context_window(message, "claude-x") == 1_000_000
    assert context_window(message, "claude-other") is None
