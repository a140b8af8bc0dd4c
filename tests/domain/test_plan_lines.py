"""YAML keeps its lines, and nothing hostile in it grows, recurses or runs."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.domain import plan_lines
from tasks_app.domain.errors import Invalid


def problem(source):
    with pytest.raises(Invalid) as caught:
        plan_lines.read(source)
    return caught.value.problems[0]


def test_every_value_has_its_line():
    document = plan_lines.read("a: 1\nb:\n  - x\n  - {c: y}\n")
    assert document.value == {"a": 1, "b": ["x", {"c": "y"}]}
    assert document.line(("b", 1, "c")) == 4
    assert document.line(("b", 1, "missing", 3)) == 4
    assert document.line(("b", 0)) == 3
    assert plan_lines.dotted(("b", 1, "c")) == "b[1].c"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("12:30", "12:30"),
        ("2026-01-02", "2026-01-02"),
        ("010", "010"),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("-7", -7),
        ("'7'", "7"),
        ("true", True),
        ("~", None),
        ("", None),
        ("0x1f", "0x1f"),
        (".inf", ".inf"),
        ("1_000", "1_000"),
        ("!!str 7", "7"),
        ("9" * 30, "9" * 30),
    ],
)
def test_values_follow_yaml_1_2(text, value):
    assert plan_lines.read(f"a: {text}").value == {"a": value}


@pytest.mark.parametrize(
    ("source", "words", "line"),
    [
        ("a: 1\na: 2", "stands twice", 2),
        ("a:\n\tb: 1", "A tab", 2),
        ("a: [1", "not YAML", None),
        ("a: 1\n---\nb: 2", "second document", 2),
        ("a: !!python/object:os.system x", "not supported", 1),
        ("a: !x 1", "not supported", 1),
        ("b: &b {x: 1}\na:\n  <<: *b", "Merging", 3),
        ("? [a]\n: 1", "key must be", 1),
        ("a: &x [*x]", "before", 1),
        ("a: *y", "not YAML|before", 1),
        ("a: \x07", "not readable|not YAML", None),
        (b"a: 1\nb: \xff", "not UTF-8", 2),
        (b"\xff\xfea\0:\0", "not UTF-8", 1),
        ("[" * 1000, "nest deeper", 1),
        ("x" * (1024 * 1024 + 1), "1 MiB", None),
    ],
)
def test_what_cannot_be_taken_is_refused_with_its_line(source, words, line):
    found = problem(source)
    assert any(word in str(found) for word in words.split("|"))
    assert found.line == line or line is None


def test_anchors_work_but_a_billion_laughs_do_not():
    assert plan_lines.read("a: &x [1]\nb: *x").value == {"a": [1], "b": [1]}
    bomb = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
    assert "more than 100,000 values" in str(problem(bomb))


def test_a_byte_order_mark_and_nul_do_no_harm():
    assert plan_lines.read(b"\xef\xbb\xbfa: 1").value == {"a": 1}
    assert plan_lines.read("a: x\0y\ud800").value == {"a": "xy\ufffd"}


@given(st.text(max_size=60) | st.text(st.sampled_from("a:-[]{}&*!|>'\"\n #,?"), max_size=60) | st.binary(max_size=40))
def test_any_text_is_read_or_refused(source):
    with suppress(Invalid):
        assert isinstance(plan_lines.read(source).lines, dict)


@pytest.mark.parametrize(
    ("text", "line"), [("team: [", 1), ("team: [\n\n\n", 1), ("a: 1\nteam: [\n", 2), ('a: 1\nb: "x\nc: 2\n\n', 3)]
)
def test_what_is_never_closed_is_named_at_a_line_that_is_there(text, line):
    assert problem(text).line == line


@pytest.mark.parametrize("source", ["team: [", b"team: \xff", "a: &x 1\na: 2"])
def test_the_file_is_named_where_it_is_not_yaml_or_no_text(source):
    with pytest.raises(Invalid, match=r"^plan\.yaml: "):
        plan_lines.read(source, name="plan.yaml")
