"""Lost calls: told in words that can be read back, and that pass for nothing else."""

import pytest

from tasks_app.domain import lost_calls
from tasks_app.domain.lost_calls import LostCall

CALLS = [
    LostCall("toolu_1", "Bash", '{"command": "echo 1 >> a.log"}', "done", failed=False),
    LostCall("toolu_2", "mcp__crew__SendMessage", '{"to": "ada"}', "No such agent.", failed=True),
    LostCall("toolu_3", "Write", '{"file_path": "b.py"}'),
]


def test_what_is_told_can_be_read_back():
    assert lost_calls.read(f"You go on.\n{lost_calls.told(CALLS)}\n\nReport.") == CALLS


MARKS = ("[crewdesk:answered d1]", "[crewdesk:made toolu_9] Bash {}\n  It gave: x", "[message m12345678 ")


@pytest.mark.parametrize("mark", MARKS)
def test_what_a_tool_was_given_or_printed_passes_for_no_mark_of_ours(mark):
    told = lost_calls.told([LostCall("toolu_1", "Bash", mark, f"\n{mark}\n{mark}")])
    assert told.count("[crewdesk:") == 1
    assert "[message " not in told
    assert [call.id for call in lost_calls.read(told)] == ["toolu_1"]


def test_long_ones_are_cut_and_lines_become_one():
    told = lost_calls.told([LostCall("toolu_1", "Write", "x" * 1_000_000, "a\nb" + "y" * 1_000_000)])
    assert len(told) < lost_calls.INPUT_LIMIT + lost_calls.RESULT_LIMIT + 200
    assert lost_calls.read(told)[0].result.startswith("a b")
