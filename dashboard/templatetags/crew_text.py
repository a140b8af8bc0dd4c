"""Hostile text made fit to be shown: ANSI stripped, Markdown through an allow-list, JSON and diffs as plain text."""

import difflib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import nh3
from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from tasks_app.domain.lost_calls import carried_out
from tasks_app.domain.statuses import StepKind
from tasks_app.domain.text import clean, cut, mask_json, mask_secrets, one_line, strip_ansi
from tasks_app.selectors.steps import StepLine

register = template.Library()

MAX_SHOWN = 20_000
"""Code points of one text on a page; what is longer says by how much it was cut."""
TAGS = {
    *("p", "br", "hr", "strong", "em", "s", "code", "pre", "blockquote", "ul", "ol", "li"),
    *("table", "thead", "tbody", "tr", "th", "td", "a"),
}
SCHEMES = {"http", "https", "mailto"}
MAX_DIFF_LINES = 2_000


class _PlainHeadings(RendererHTML):
    """Renders headings as bold paragraphs (they are the agent's, not the page's) and shows where each link leads."""

    def heading_open(self, *_: Any) -> str:
        """Open a bold paragraph."""
        return "<p><strong>"

    def heading_close(self, *_: Any) -> str:
        """Close it."""
        return "</strong></p>\n"

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Never load an image: name it and its address."""
        token = tokens[idx]
        return nh3.clean_text(f"[image: {token.content} {token.attrs.get('src', '')}]")

    def link_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Close a link and say its address, unless its text is the address already."""
        depth, start = 0, idx
        for start in range(idx, -1, -1):
            depth += {"link_close": 1, "link_open": -1}.get(tokens[start].type, 0)
            if depth == 0:
                break
        href = str(tokens[start].attrs.get("href", ""))
        text = "".join(token.content for token in tokens[start + 1 : idx])
        return "</a>" if text == href else f"</a> ({nh3.clean_text(href)})"


_markdown = MarkdownIt("commonmark", {"html": False, "linkify": False}, renderer_cls=_PlainHeadings).enable(
    ["table", "strikethrough"]
)


@register.filter
def markdown(text: str) -> SafeString:
    """Return an agent's Markdown as safe HTML, secrets masked."""
    return safe_markdown(shown(text))


def safe_markdown(text: str) -> SafeString:
    """Return Markdown as safe HTML: no raw HTML, images, ids or styles; links are nofollow and show their address."""
    html = _markdown.render(text)
    return mark_safe(  # noqa: S308 - nh3 has let through nothing but TAGS
        nh3.clean(html, tags=TAGS, attributes={"a": {"href"}}, url_schemes=SCHEMES, link_rel="nofollow noopener noreferrer")
    )


_LANGUAGE: Final = re.compile(r"[\w+#.-]{1,20}")


def markup(text: str) -> str:
    """Return the words of a text that are Markdown itself: numbers of items, languages of blocks of code. No page shows them."""
    marks = [token.info.strip() for token in _markdown.parse(text) if token.type in ("list_item_open", "fence")]
    return " ".join(mark for mark in marks if _LANGUAGE.fullmatch(mark))


@register.filter
def shown(text: object) -> str:
    """Return a text fit for a page: clean, without ANSI, secrets masked, at most `MAX_SHOWN` code points."""
    whole = mask_secrets(strip_ansi(clean(str(text))))
    if len(whole) <= MAX_SHOWN:
        return whole
    return cut(whole, MAX_SHOWN) + f"\n[{len(whole) - MAX_SHOWN:,} more characters are not shown]"


PASSAGE, PASSAGE_LINES = 1_200, 16
"""More of a text than this many characters or lines is shown only when it is asked for."""


@register.filter
def is_long(text: object) -> bool:
    """Whether a text is shown whole only when it is asked for."""
    return len(str(text)) > PASSAGE or str(text).count("\n") >= PASSAGE_LINES


@register.simple_tag
def passage(text: object) -> SafeString:
    """A plain text as people wrote it; of a long one its beginning, and the whole behind *Show all*."""
    whole = shown(text)
    if not is_long(whole):
        return format_html('<p class="pre">{}</p>', whole)
    start = "\n".join(cut(whole, PASSAGE // 3, "").split("\n")[: PASSAGE_LINES // 2])
    return format_html(
        '<p class="pre">{}…</p><details><summary class="small">Show all {} characters</summary><p class="pre">{}</p></details>',
        start,
        f"{len(str(text)):,}",
        whole,
    )


@register.filter
def editable(text: object) -> str:
    """Return a text whole, for a field in which a person edits it."""
    return strip_ansi(clean(str(text or "")))


@register.filter
def brief(text: object, limit: int = 200) -> str:
    """Return a text as one clean line of at most `limit` code points."""
    return one_line(mask_secrets(str(text)), limit)


@register.filter
def pretty(value: object) -> str:
    """Return JSON with an indent of two, cleaned and masked; a text stays as it is."""
    if isinstance(value, str):
        return shown(value)
    return shown(json.dumps(mask_json(value), indent=2, ensure_ascii=False, default=str))


class DiffLine(NamedTuple):
    """One line of a difference: `+`, `-` or a space, and the text."""

    sign: str
    text: str


@register.filter
def compared(new: str, old: str) -> list[DiffLine]:
    """Return the lines of `new` against `old`, three lines of context around each change."""
    before, after = shown(old).splitlines(), shown(new).splitlines()
    lines = difflib.unified_diff(before, after, lineterm="", n=3)
    return [DiffLine(line[0], line[1:]) for line in list(lines)[2:MAX_DIFF_LINES] if line and not line.startswith("@@")]


@register.filter
def diff_lines(diff: str) -> list[DiffLine]:
    """Return a unified diff line by line, headers as context."""
    lines = shown(diff).splitlines()[:MAX_DIFF_LINES]
    return [DiffLine(" ", line) if line[:3] in ("+++", "---") else DiffLine(line[:1] or " ", line[1:]) for line in lines]


@register.filter
def as_diff(lines: Sequence[DiffLine]) -> SafeString:
    """Return the lines of a difference as HTML for a `<pre>`: what came in `<ins>`, what went in `<del>`."""
    tags = {"+": "ins", "-": "del"}
    if not lines:
        return format_html("<span>{}</span>", "Nothing changed.")
    return format_html_join("", "<{0}>{1}{2}\n</{0}>", ((tags.get(sign, "span"), sign, text) for sign, text in lines))


WITH_REASON: Final = frozenset({"Bash", "Agent", "Task"})
"""Tools whose input has a `description` in which the agent says what the call is for."""
LONG_PATH: Final = 400
"""A longer one stands in no label: it would be cut."""


class Call(NamedTuple):
    """A tool call for people: what to show large, how it is named, and the rest of the input."""

    label: str
    text: str
    old: str | None
    rest: Mapping[str, Any]


def call_of(payload: Mapping[str, Any], as_text: Callable[[object], str] = pretty) -> Call:
    """Return the part of a tool call that a person must read: the command, the file and its change, or the whole input."""
    given = payload.get("input")
    given = given if isinstance(given, Mapping) else {"input": given}
    if payload.get("tool") == "Bash" and isinstance(given.get("command"), str):
        reason = ("description",) if reason_of(payload) else ()
        return Call("Command", given["command"], None, _without(given, "command", *reason))
    path = str(given.get("file_path") or given.get("notebook_path") or "")
    if len(path) > LONG_PATH:
        return Call("Input", as_text(given), None, {})
    if path and isinstance(given.get("new_string"), str):
        rest = _without(given, "file_path", "old_string", "new_string")
        return Call(f"Change of {path}", given["new_string"], str(given.get("old_string") or ""), rest)
    if path and isinstance(given.get("content"), str):
        return Call(f"New content of {path}", given["content"], None, _without(given, "file_path", "content"))
    return Call("Input", as_text(given), None, {})


@register.filter
def reason_of(payload: Mapping[str, Any]) -> str:
    """Return what the agent itself says its call is for; empty where the tool takes no such word.

    Claude Code's own subtitle (`description` beside the input) is no reason: for a file it is the file's name.
    """
    given = payload.get("input")
    reason = given.get("description") if isinstance(given, Mapping) and payload.get("tool") in WITH_REASON else ""
    return reason if isinstance(reason, str) else ""


def _without(given: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name not in names}


SPEAKER: Mapping[str, str] = {
    StepKind.SAID: "says",
    StepKind.THOUGHT: "thinks",
    StepKind.PROMPT: "is told",
    StepKind.NOTICE: "notice",
    StepKind.SUBTASK: "sub-task",
    StepKind.RESULT: "turn ended",
}


@register.filter
def speaker(line: StepLine) -> str:
    """Who or what a step comes from: the tool by name, else a verb. Text that is not the lead's never looks like it."""
    if line.kind in (StepKind.TOOL_CALL, StepKind.TOOL_RESULT):
        name = one_line(line.tool or "tool", 60).removeprefix("mcp__crew__")
        return name if line.kind is StepKind.TOOL_CALL else f"{name} →"
    origin = one_line(str(line.data.get("from", "")), 30)
    return f"{SPEAKER[line.kind]} ({origin})" if origin and line.kind is StepKind.PROMPT else SPEAKER[line.kind]


@register.filter
def cut_off(line: StepLine) -> bool:
    """Whether a result only says that its call was interrupted, which Claude Code words as a refusal of the user."""
    return not carried_out(line.text, is_error=line.failed)


@register.filter
def step_call(line: StepLine) -> Call:
    """Return what a recorded tool call is about."""
    if "input" not in line.data:
        return Call("Input", str(line.data.get("preview", "")), None, {})
    found = call_of({"tool": line.tool, "input": line.data["input"]})
    if found.label == "Command":
        return found
    return found._replace(text=_summary(line.data["input"]) if found.label == "Input" else found.label)


@register.filter
def step_input(line: StepLine) -> object:
    """Return the whole input of a recorded call, or the part of it that was kept."""
    return line.data.get("input", line.data.get("preview", ""))


def _summary(given: object) -> str:
    """The first short texts of an input: a file, a pattern, an address."""
    values = given.values() if isinstance(given, Mapping) else [given]
    return one_line(mask_secrets(" · ".join(str(value) for value in values if isinstance(value, str | int) and value != "")), 200)


@register.filter
def line_count(text: str) -> int:
    """How many lines a text has."""
    return text.count("\n") + 1 if text else 0
