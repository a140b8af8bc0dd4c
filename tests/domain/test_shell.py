"""A shell command is taken apart into everything it would run; what is not understood makes it inexact."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.domain import commands, shell


def texts(command):
    return [part.text for part in shell.read(command).parts]


def programs(command):
    return {call.program for part in shell.read(command).parts for call in commands.calls(part)}


@pytest.mark.parametrize(
    ("command", "parts"),
    [
        ("git  diff", ["git diff"]),
        ("a && b; c | d || e & f", ["a", "b", "c", "d", "e", "f"]),
        ("a |& b\nc", ["a", "b", "c"]),
        ("echo $(rm x) `id`", ["rm x", "id", "echo $(rm x) `id`"]),
        ('echo "a $(b "c d") e"', ['b "c d"', 'echo "a $(b "c d") e"']),
        ("echo 'a && b; $(c)'", ["echo 'a && b; $(c)'"]),
        ("(cd x && rm y)", ["cd x", "rm y"]),
        ("diff <(sort a) >(tee b)", ["sort a", "tee b", "diff <(sort a) >(tee b)"]),
        ("if a; then b; else c; fi", ["a", "b", "c"]),
        ("while ! a; do { b; }; done", ["a", "b"]),
        ("for x in $(ls); do rm $x; done", ["ls", "for x in $(ls)", "rm $x"]),
        ("a # b && c\nd", ["a", "d"]),
        ("a \\\n b", ["a b"]),
        ("cat <<'E' > f\n$(x) && y\nE\nz", ["cat", "z"]),
        ("cat <<E\n$(x)\nE\nz", ["x", "cat", "z"]),
        ("cat <<-E\n\tq\n\tE\nz", ["cat", "z"]),
        ("cat <<< $(x) && y", ["x", "cat", "y"]),
        ("X=$(a) b", ["a", "X=$(a) b"]),
        ("echo a#b ${x} $'q' $1", ["echo a#b ${x} $'q' $1"]),
        ("echo $${; a }b", ["echo $${", "a }b"]),
        ("", []),
    ],
)  # fmt: skip
def test_every_part_that_would_run_is_found(command, parts):
    read = shell.read(command)
    assert sorted(part.text for part in read.parts) == sorted(parts)
    assert read.exact


@pytest.mark.parametrize(
    "command",
    [
        "echo 'a", 'echo "a', "echo $(a", "echo `a", "(a", "a)", "f() { rm x; }", "function f { x; }",
        "case x in a) b;; esac", "[[ a && b ]]",
        "x=(1 2)", "echo ${x:-$(rm)}", "echo $((1+2))", "cat <<E\nno end", "cat <<E", "a > ", "a\\", "echo \0", "$'a\\'b'",
        "((i++))", "(a) b", "<x then a",
        "cat <<E\n$(echo \"$(rm x)\")\nE", "$(" * 100,
    ],
)  # fmt: skip
def test_what_is_not_understood_for_certain_is_inexact(command):
    assert not shell.read(command).exact


@pytest.mark.parametrize(
    ("command", "writes", "reads"),
    [
        ("a > x 2>> y < z", ["x", "y"], ["z"]),
        ("a &> x", ["x"], []),
        ("a >& x", ["x"], []),
        ("a > x 2>&1 <&3 3>&-", ["x"], []),
        ("a >'b c'", ["b c"], []),
        ("{ a; } > x", ["x"], []),
        ("(a) > x", ["x"], []),
        ("a >| x <> y", ["x", "y"], []),
        ("a 2>-", ["-"], []),
    ],
)
def test_redirections_name_their_files(command, writes, reads):
    parts = shell.read(command).parts
    assert [word.value for part in parts for word in part.writes] == writes
    assert [word.value for part in parts for word in part.reads] == reads


@pytest.mark.parametrize(
    "command",
    [
        "rm x", "/bin/rm x", "r\\m x", "'r'm x", '"rm" x', "sudo rm x", "sudo -u bob rm x", "FOO=1 rm x", "env -i A=1 rm x",
        "timeout 5 rm x",
        "xargs -n 1 rm", "find . -exec rm {} ;", 'bash -c "rm x"', "sh -xc 'rm x'", "eval rm x", "nohup nice -n 3 rm x",
        "sudo bash -c 'a; rm x'",
        "a && ! rm x", "time rm x", "watch rm x", "su -c 'rm x'", "command rm x", "echo $(rm x)", "if rm x; then a; fi",
        "f() { rm x; }", "(rm x)",
        "bash -c \"bash -c 'rm x'\"", "r\\\nm x", "{ rm x; }",
    ],
)  # fmt: skip
def test_the_program_behind_every_disguise_is_named(command):
    assert "rm" in programs(command)


@pytest.mark.parametrize(
    "piece", ["sudo watch ", "sudo ", "$(", "`", "(", "do ", "<<E ", "${", "'", '"', "bash -c 'x' ", "A=1 ", "a;", "eval ", ">x "]
)
def test_hostile_length_is_read_in_proportion(piece):
    """Quadratic or worse would hang the suite here."""
    for part in shell.read(piece * (100_000 // len(piece))).parts[:50]:
        assert len(commands.calls(part)) <= commands.MAX_CALLS + 1


@given(st.text(st.sampled_from("ab $(){}`'\"\\<>&|;\n#=-E*"), max_size=40))
def test_reading_never_raises_and_loses_no_word_outside_quotes(command):
    read = shell.read(command)
    if read.exact and not set("'\"\\`$<#{}") & set(command):
        split = command.replace("(", " ").replace(")", " ")
        for mark in "&|;\n>":
            split = split.replace(mark, " ")
        found = [word for part in read.parts for word in (*part.words, *part.writes)]
        assert sorted(word.raw for word in found) == sorted(split.split(" ")[0:0] + [w for w in split.split(" ") if w])
