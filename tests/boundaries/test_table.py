"""docs/boundaries.md is the table that the tests hold; each cell is sent by a test, or says why there is none."""

from pathlib import Path

from tests.boundaries import table, test_boundaries
from tests.boundaries.ways import WAYS

DOC = Path(__file__).resolve().parents[2] / "docs" / "boundaries.md"


def test_the_document_shows_what_the_tests_assert() -> None:
    assert table.as_markdown() in DOC.read_text()


def test_every_cell_is_a_test_or_a_reason() -> None:
    assert tuple(WAYS) == table.WAYS
    tests = [name for name in vars(test_boundaries) if name.startswith("test_")]
    assert len(tests) == len(table.WORDS)
    for boundary, words in table.WORDS.items():
        without = {way for each, way in table.NO_WAY if each == boundary}
        assert set(words) | without == set(WAYS)
        assert not set(words) & without
