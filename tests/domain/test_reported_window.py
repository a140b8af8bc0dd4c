"""The window of a model before its process has reported it."""

import pytest

from tasks_app.domain.context import reported_window


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("claude-opus-5-5", 1_000_000),
        ("claude-haiku-4-5-20251001", 200_000),
        ("claude-haiku-4-50", None),
        ("something-new", None),
        ("something-new[1m]", 1_000_000),
        ("", None),
    ],
)
def test_a_window_is_what_claude_code_reports_and_unknown_for_an_unknown_model(model: str, window: int | None) -> None:
    assert reported_window(model) == window
