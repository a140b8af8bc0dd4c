"""Rules mean what they say, a compound command is allowed whole or not at all, and what is not certain is asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.domain import permissions as p
from tasks_app.domain import shell
from tasks_app.domain.errors import Invalid
from tasks_app.domain.permissions import Decision

W = "/w"


def allowed(command, *rules):
    return p.decide("Bash", {"command": command}, allow=rules, workspace=W).decision is Decision.ALLOW


def denied(command, *rules):
    return p.decide("Bash", {"command": command}, allow=["Bash"], deny=rules, workspace=W).decision is Decision.DENY


@pytest.mark.parametrize(
    "rule",
    [
        "Bash",
        "Bash(*)",
        "Bash(npm run test:*)",
        "Bash(git diff *)",
        "Edit",
        "Read(src/**)",
        "Read(//etc/hosts)",
        "mcp__crew__TaskList",
        "mcp__crew",
        "mcp__crew__*",
        "WebFetch(domain:example.com)",
        "WebFetch(domain:*.example.com)",
        "Agent(explorer)",
        "Skill(x *)",
        "Write",
        "NewTool",
        "TodoWrite(todos:*)",
        "Bash(echo (a))",
    ],
)
def test_these_are_rules(rule):
    assert str(p.parse(rule)) == rule


@pytest.mark.parametrize(
    ("rule", "word"),
    [
        ("", "not a permission rule"),
        ("Bash(", "not a permission rule"),
        ("Bash()", "names nothing"),
        ("Bash(:*)", "names nothing"),
        ("*", "not a permission rule"),
        ("B*", "only tools of an MCP server"),
        ("bash(ls)", "Did you mean Bash?"),
        ("Editt", "Did you mean Edit?"),
        ("Write(src/**)", r"Edit\(src/\*\*\)"),
        ("Glob(src/**)", r"Read\(src/\*\*\)"),
        ("WebFetch(example.com)", "domain:"),
        ("WebSearch(x)", "write WebSearch alone"),
        ("Bash(x\0)", "not a permission rule"),
        ("Bash(" + "x" * 2000 + ")", "not a permission rule"),
    ],
)
def test_what_would_not_mean_what_it_seems_is_refused_with_the_fix(rule, word):
    with pytest.raises(Invalid, match=word):
        p.parse(rule)


@pytest.mark.parametrize(
    ("rule", "command", "matches"),
    [
        ("Bash(npm run test:*)", "npm run test", True),
        ("Bash(npm run test:*)", "npm run test --watch", True),
        ("Bash(npm run test:*)", "npm run tests", False),
        ("Bash(npm run test *)", "npm run test", True),
        ("Bash(ls*)", "lsof", True),
        ("Bash(ls)", "ls -l", False),
        ("Bash(git * main)", "git push main", True),
        ("Bash(git * main)", "git main", False),
        ("Bash(* --version)", "node --version", True),
        ("Bash(a*b*c)", "a b c", True),
        ("Bash(a*bc*c)", "a bc", False),
        ("Bash(ab*ba)", "aba", False),
        ("Bash(npm test)", "npm   test", True),
        ("Bash(npm test)", "FOO=1 npm test", False),
        ("Bash(npm test)", "'npm' test", False),
        ("Edit", "npm test", False),
    ],
)
def test_bash_rules_match_word_by_word(rule, command, matches):
    assert p.matches(rule, "Bash", {"command": command}, workspace=W) is matches


@pytest.mark.parametrize("joint", [" && ", " || ", "; ", " | ", " & ", "\n", " |& "])
def test_every_part_of_a_compound_must_be_allowed_and_one_denied_part_is_enough(joint):
    command = f"npm test{joint}rm -rf /"
    assert not allowed(command, "Bash(npm test *)")
    assert allowed(command, "Bash(npm test *)", "Bash(rm *)")
    assert denied(command, "Bash(rm *)")


@pytest.mark.parametrize(
    "command",
    ["npm test $(rm x)", "npm test `rm x`", 'npm test "$(rm x)"', "npm test <(rm x)", "npm test\nrm x",
    "npm test # ok\nrm x", "npm test <<E\n$(rm x)\nE", "npm test 'a", "npm() { rm x; }; npm test", "PATH=. npm test",
    "PATH=.; npm test", "npm test\x00", "for PATH in .; do npm test; done", "npm test > /etc/passwd", "npm test > $HOME/x",
    "npm test > ../x", "npm test > out", "npm test < ~/.ssh/id", "npm test 2>&1 >.git/hooks/pre-commit",
    "case x in x) npm test;; esac", "n\\pm test; rm x"],
)  # fmt: skip
def test_a_rule_for_one_command_allows_nothing_beside_it(command):
    assert not allowed(command, "Bash(npm test *)", "Bash(npm test)")


@pytest.mark.parametrize(
    "command", ["npm test 2>&1", "npm test > /dev/null", "npm test < in.txt", "(npm test)", "if npm test; then npm test x; fi"]
)
def test_what_adds_no_effect_is_allowed_along(command):
    assert allowed(command, "Bash(npm test *)")


def test_a_redirection_needs_a_rule_that_lets_the_file_be_written():
    assert allowed("npm test > out/log", "Bash(npm test *)", "Edit(out/**)")
    assert allowed("npm test > out/log", "Bash(npm test *)", "Edit")
    assert allowed("npm test > out/log", "Bash")
    assert allowed("npm test > /tmp/log", "Bash(npm test *)", "Edit(//tmp/**)")
    assert not allowed("npm test > /tmp/log", "Bash", "Edit")


@pytest.mark.parametrize("command", ["echo 'a", "f() { a; }", "echo $((1))", "", "case x in x) a;; esac"])
def test_what_cannot_be_read_is_never_allowed_not_even_by_bash_as_a_whole(command):
    assert not allowed(command, "Bash", "Bash(*)", "Bash(echo *)")


@pytest.mark.parametrize("input", [{}, {"command": None}, {"command": 3}, {"command": ["ls"]}])
def test_a_bash_call_without_a_command_is_not_allowed(input):
    assert p.decide("Bash", input, allow=["Bash"], workspace=W).decision is Decision.DEFAULT


@pytest.mark.parametrize(
    "command",
    ["sudo rm x", "/bin/rm x", "'rm' x", "r\\m x", "FOO=1 rm x", "bash -c 'rm x'", "find . -exec rm {} +", "xargs rm",
    "f() { rm x; }", "echo `rm x`", "echo 'open; rm x"[:5] + "; rm x", "eval 'rm x'", "rm", "time rm x"],
)  # fmt: skip
def test_a_denied_program_is_found_behind_every_disguise(command):
    assert denied(command, "Bash(rm *)")


def test_a_program_known_only_at_run_time_is_asked_when_something_is_denied():
    assert allowed("$X -rf /", "Bash")
    assert p.decide("Bash", {"command": "$X -rf /"}, allow=["Bash"], deny=["Bash(rm *)"], workspace=W) == p.Verdict(
        Decision.DEFAULT
    )


def test_deny_beats_ask_beats_allow_and_the_rule_is_named():
    rules = {"allow": ["Bash(git *)"], "ask": ["Bash(git push *)"], "deny": ["Bash(git push --force *)"], "workspace": W}
    assert p.decide("Bash", {"command": "git push --force"}, **rules) == p.Verdict(Decision.DENY, "Bash(git push --force *)")
    assert p.decide("Bash", {"command": "git push"}, **rules) == p.Verdict(Decision.ASK, "Bash(git push *)")
    assert p.decide("Bash", {"command": "git log"}, **rules) == p.Verdict(Decision.ALLOW, "Bash(git *)")
    assert p.decide("Bash", {"command": "ls"}, **rules) == p.Verdict(Decision.DEFAULT)


@pytest.mark.parametrize(
    ("rule", "tool", "input", "matches"),
    [
        ("Edit(src/**)", "Write", {"file_path": "/w/src/a"}, True),
        ("Edit(src/**)", "NotebookEdit", {"notebook_path": "src/a"}, True),
        ("Edit(src/**)", "Edit", {"file_path": "/w/src/../../etc/x"}, False),
        ("Edit(src/**)", "Read", {"file_path": "src/a"}, False),
        ("Edit", "Write", {"file_path": "a"}, True),
        ("Edit", "Write", {"file_path": "/etc/x"}, False),
        ("Edit", "Write", {}, False),
        ("Edit(//etc/**)", "Write", {"file_path": "/etc/x"}, True),
        ("Read(src/**)", "Grep", {"pattern": "x", "path": "src"}, True),
        ("Read", "Glob", {"pattern": "x"}, True),
        ("WebFetch(domain:example.com)", "WebFetch", {"url": "https://EXAMPLE.com/x"}, True),
        ("WebFetch(domain:example.com)", "WebFetch", {"url": "https://example.com@evil.io/"}, False),
        ("WebFetch(domain:example.com)", "WebFetch", {"url": "https://example.com\\@evil.io/"}, False),
        ("WebFetch(domain:example.com)", "WebFetch", {"url": "https://www.example.com/"}, False),
        ("WebFetch(domain:*.example.com)", "WebFetch", {"url": "https://a.example.com/"}, True),
        ("WebFetch(domain:*.example.com)", "WebFetch", {"url": "https://badexample.com/"}, False),
        ("WebFetch(domain:example.com)", "WebFetch", {"url": "file://example.com/x"}, False),
        ("mcp__crew", "mcp__crew__TaskList", {}, True),
        ("mcp__crew__*", "mcp__crew__TaskList", {}, True),
        ("mcp__crew__Task*", "mcp__crew__SendMessage", {}, False),
        ("mcp__crew", "mcp__crewx__TaskList", {}, False),
        ("Agent(explorer)", "Task", {"subagent_type": "explorer"}, True),
        ("Agent(explorer)", "Agent", {"subagent_type": "other"}, False),
        ("TodoWrite(mode:a*)", "TodoWrite", {"mode": "abc"}, True),
        ("TodoWrite(mode:a*)", "TodoWrite", {}, False),
    ],
)
def test_every_kind_of_rule_matches_what_it_names_and_no_more(rule, tool, input, matches):
    assert p.matches(rule, tool, input, workspace=W) is matches


def test_a_denied_file_is_denied_to_commands_too():
    assert denied("cat .env", "Read(.env)")
    assert denied("grep x < conf/.env", "Read(.env)")
    assert denied("echo x > src/a", "Edit(src/**)")
    assert denied("sed -i s/a/b/ src/a", "Edit(src/**)")
    assert denied("echo x | tee src/a", "Edit")
    assert not denied("cat src/a", "Edit(src/**)")
    assert not denied("ls > /dev/null", "Edit")


PARTS = ["npm test", "npm test x", "rm -rf /", "git push", "echo hi", "cat <x"]
JOINTS = [" && ", " || ", "; ", " | ", "\n", " & "]


@given(
    st.lists(
        st.tuples(st.sampled_from(PARTS), st.sampled_from(JOINTS), st.sampled_from(["{}", "({})", "echo hi $({})", "! {}"])),
        min_size=1,
        max_size=5,
    )
)
def test_no_compound_with_an_unmatched_part_is_ever_allowed(pieces):
    command = "".join(shape.format(part) + joint for part, joint, shape in pieces) + "echo hi"
    rules = ["Bash(npm test *)", "Bash(echo hi *)"]
    matched = all(part.startswith(("npm", "echo")) for part, _, _ in pieces)
    assert allowed(command, *rules) == matched


@given(st.text(st.sampled_from("echo rm$(){}`'\"\\<>&|;\n#= "), max_size=30))
def test_whatever_is_allowed_consists_of_allowed_parts_only(tail):
    command = "echo " + tail
    if allowed(command, "Bash(echo *)"):
        read = shell.read(command)
        assert read.exact
        assert all(part.text.startswith("echo") and not part.writes for part in read.parts if part.words)
