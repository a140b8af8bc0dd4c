import itertools

import pytest

from tasks_app.domain.errors import Invalid
from tasks_app.rehearsal import yaml_lines


def test_every_key_and_item_knows_its_line() -> None:
    document = yaml_lines.read("a: 1\nb:\n  - x\n  - {c: 2,\n     d: 3}\n")
    assert document.value == {"a": 1, "b": ["x", {"c": 2, "d": 3}]}
    assert [document.line(path) for path in (("a",), ("b",), ("b", 0), ("b", 1, "d"))] == [1, 2, 3, 5]


def test_a_path_that_is_not_there_gets_the_line_of_what_is_around_it() -> None:
    assert yaml_lines.read("a:\n  b: 1\n").line(("a", "b", "missing", 7)) == 2


def test_dates_stay_text() -> None:
    assert yaml_lines.read("day: 2026-11-28").value == {"day": "2026-11-28"}


def test_two_equal_keys_are_refused_with_the_line_of_the_second() -> None:
    with pytest.raises(Invalid) as refused:
        yaml_lines.read("a: 1\nb: 2\na: 3\n")
    assert [(problem.line, problem.path) for problem in refused.value.problems] == [(3, "a")]


@pytest.mark.parametrize("text", ["a: [1, 2", "a: b: c", "\tx: 1", "a: *nothing", "%%%"])
def test_broken_yaml_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        yaml_lines.read(text)
    assert refused.value.problems[0].line == 1


def test_tags_make_no_objects() -> None:
    with pytest.raises(Invalid):
        yaml_lines.read("a: !!python/object/apply:os.system ['true']\nb: !!python/name:os.system ''\n")


def test_aliases_that_multiply_are_refused_once() -> None:
    bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
    names = "abcdefgh"
    for before, name in itertools.pairwise(names):
        bomb += f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n"
    with pytest.raises(Invalid) as refused:
        yaml_lines.read(bomb)
    assert [problem.message for problem in refused.value.problems] == ["The file holds too much."]


def test_what_nests_too_deeply_is_refused() -> None:
    for depth in (100, 100_000):
        with pytest.raises(Invalid):
            yaml_lines.read("[" * depth + "]" * depth)


def test_a_huge_file_is_refused_before_it_is_read() -> None:
    with pytest.raises(Invalid, match="Split it"):
        yaml_lines.read("x" * (yaml_lines.MAX_CHARACTERS + 1))


def test_nul_and_lone_surrogates_are_cleaned() -> None:
    assert yaml_lines.read("a: 'x\0\ud800y'").value == {"a": "x\ufffdy"}
