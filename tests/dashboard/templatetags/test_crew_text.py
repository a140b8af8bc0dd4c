"""Hostile text stays text, whatever an agent, a tool or a file name says."""

from html.parser import HTMLParser

import pytest

from dashboard.templatetags import crew_text as text
from tasks_app.domain.statuses import StepKind
from tasks_app.selectors.steps import StepLine
from tests.factories import ago


class Elements(HTMLParser):
    """Collects what a browser would make elements of."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def line(kind=StepKind.TOOL_CALL, tool="Bash", **words):
    facts = {"seq": 1, "kind": kind, "text": "", "data": {}, "tool": tool, "nested": False, "failed": False, "at": ago()}
    return StepLine(**(facts | words))


def test_markdown_shows_structure_without_the_pages_own_headings():
    html = text.markdown("# Plan\n\n1. **Add** `x`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")
    assert "<p><strong>Plan</strong></p>" in html
    assert "<ol>" in html
    assert "<strong>Add</strong> <code>x</code>" in html
    assert "<td>1</td>" in html
    assert "<h1" not in html


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "![x](http://evil.example/x.png)",
        "[x](javascript:alert(1))",
        "<a href='/' hx-post='/teams/1/action/' id='main' style='position:fixed'>x</a>",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "```html\n<script>alert(1)</script>\n```",
        '[x](https://e.example/" onmouseover="alert(1))',
    ],
)
def test_nothing_hostile_in_markdown_becomes_an_element(hostile):
    parsed = Elements()
    parsed.feed(text.markdown(hostile))
    assert parsed.found
    for tag, attributes in parsed.found:
        assert tag in text.TAGS
        assert set(attributes) <= ({"href", "rel"} if tag == "a" else set())
        assert attributes.get("href", "https:").startswith(("http:", "https:", "mailto:"))


def test_a_link_shows_where_it_leads_and_gives_nothing_away():
    html = text.markdown("[the docs](https://example.org/docs)")
    assert 'rel="nofollow noopener noreferrer"' in html
    assert ">the docs</a> (https:&#x2F;&#x2F;example.org&#x2F;docs)" in html or ">the docs</a> (https://example.org/docs)" in html
    assert "(" not in text.markdown("<https://example.org>").split("</a>")[1]


def test_ansi_surrogates_and_secrets_do_not_reach_the_page():
    assert text.shown("\x1b[31mred\x1b[0m \ud99c \x00 sk-ant-api03-abcdefghijklmnop") == "red \ufffd  sk-ant-api03-***"


def test_a_megabyte_is_cut_and_says_by_how_much():
    shown = text.shown("🚀é漢" * 400_000)
    assert len(shown) < text.MAX_SHOWN + 100
    assert shown.endswith("[1,180,000 more characters are not shown]")


@pytest.mark.parametrize(
    ("payload", "label", "body"),
    [
        ({"tool": "Bash", "input": {"command": "rm -rf build/"}}, "Command", "rm -rf build/"),
        ({"tool": "Edit", "input": {"file_path": "/a.py", "old_string": "1", "new_string": "2"}}, "Change of /a.py", "2"),
        ({"tool": "Write", "input": {"file_path": "/a.py", "content": "x"}}, "New content of /a.py", "x"),
        ({"tool": "WebFetch", "input": {"url": "https://x"}}, "Input", '{\n  "url": "https://x"\n}'),
        ({"tool": "Bash", "input": "not a mapping"}, "Input", '{\n  "input": "not a mapping"\n}'),
        ({"tool": "Bash"}, "Input", '{\n  "input": null\n}'),
    ],
)
def test_a_call_shows_what_a_person_must_read(payload, label, body):
    call = text.call_of(payload)
    assert (call.label, call.text) == (label, body)


def test_what_else_is_in_a_call_is_kept_to_be_opened():
    assert text.call_of({"tool": "Bash", "input": {"command": "ls", "timeout": 5}}).rest == {"timeout": 5}


def test_a_change_is_shown_line_by_line():
    assert [tuple(one) for one in text.compared("a\nc\n", "a\nb\n")] == [(" ", "a"), ("-", "b"), ("+", "c")]
    assert text.compared("same", "same") == []


def test_the_lines_of_a_diff_keep_their_sign_and_headers_do_not_count_as_changes():
    found = text.diff_lines("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new")
    assert [one.sign for one in found] == [" ", " ", "@", "-", "+"]


def test_only_a_call_is_named_by_its_tool_and_nobody_else_looks_like_the_lead():
    assert text.speaker(line(tool="mcp__crew__TaskUpdate")) == "TaskUpdate"
    assert text.speaker(line(StepKind.TOOL_RESULT)) == "Bash →"
    assert text.speaker(line(StepKind.NOTICE, data={"from": "lead"})) == "notice"
    assert text.speaker(line(StepKind.PROMPT, data={"from": "message"})) == "is told (message)"


def test_a_recorded_call_is_summed_up_by_its_file_command_or_first_texts():
    assert text.step_call(line(data={"input": {"command": "ls"}})).text == "ls"
    assert text.step_call(line(tool="Edit", data={"input": {"file_path": "/a", "new_string": "x"}})).text == "Change of /a"
    assert text.step_call(line(tool="TaskGet", data={"input": {"taskId": "3"}})).text == "3"
    assert text.step_call(line(data={"preview": "{cut"})).text == "{cut"
