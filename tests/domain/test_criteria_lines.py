"""Criteria as lines that a person edits."""

import pytest

from tasks_app.domain import criteria_lines
from tasks_app.domain.errors import Invalid

STORED = (
    "It works",
    {"check": "pytest -q", "seconds": 300.0},
    {"artifact": "docs/api.md", "text": "The API is described"},
    {"judge": "bob", "text": "It is safe"},
)


def test_what_is_not_touched_is_kept_whole_also_what_a_line_cannot_say():
    text = criteria_lines.write(STORED)
    assert text.splitlines()[1:] == ["check: pytest -q", "artifact: docs/api.md (The API is described)", "judge bob: It is safe"]
    assert criteria_lines.read(text, before=STORED) == STORED
    assert criteria_lines.read("It works well: always\n", before=STORED) == ("It works well: always",)


def test_each_way_to_prove_one_can_be_written():
    found = criteria_lines.read("- A text\n\nCheck: make test\nartifact: a/b.md\njudge lead: reads well")
    assert found == ("A text", {"check": "make test"}, {"artifact": "a/b.md"}, {"judge": "lead", "text": "reads well"})


@pytest.mark.parametrize("line", ["artifact: /etc/passwd", "artifact: http://127.0.0.1/x", "One\nOne"])
def test_what_a_plan_refuses_is_refused_here_too(line):
    with pytest.raises(Invalid):
        criteria_lines.read(line)
