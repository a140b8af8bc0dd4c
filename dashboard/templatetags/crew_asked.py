"""What is asked of a person on its card: every character of it to be seen, and said what is left out, and how much."""

import difflib
import html
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from django import template
from django.utils.safestring import SafeString, mark_safe

from dashboard.templatetags.crew_text import Call, DiffLine, call_of, markup, safe_markdown
from tasks_app.domain import asked
from tasks_app.domain.text import clean

register = template.Library()


@register.filter(name="asked")
def as_code(text: object) -> str:
    """Return a text as it would run, its beginning where it is long, with the number of characters that are left."""
    return _whole_or_head(clean(str(text)))


@register.filter
def asked_words(text: object) -> str:
    """Return words for people in the same way."""
    return _whole_or_head(clean(str(text or "")), prose=True)


@register.filter
def as_written(text: object) -> str:
    """Return words for people whole, for a field in which a person changes them."""
    return asked.visible(clean(str(text or "")), prose=True)


def _whole_or_head(text: str, *, prose: bool = False) -> str:
    start, left = asked.head(text)
    found = asked.visible(start, prose=prose)
    return f"{found}\n{asked.left_out(left)}" if left else found


@register.filter
def asked_line(text: object, limit: int = 200) -> str:
    """Return a text as one line of at most `limit` characters; it says how many more there are."""
    return asked.whole_line(clean(str(text)), limit)


@register.filter
def asked_call(payload: Mapping[str, Any]) -> Call:
    """Return the call that is asked for: what must be read, and the rest of its input."""
    return call_of(payload, asked.pretty)


@register.filter
def asked_input(rest: object) -> str:
    """Return the rest of an input as JSON."""
    return _whole_or_head(asked.pretty(rest))


@register.filter
def size(text: str) -> str:
    """Return how long a text is, as its label says it: `12 lines`; nothing for a short one."""
    lines = text.count("\n") + 1
    return f"{lines:,} lines" if lines > 1 else ""


@register.filter
def asked_diff(new: object, old: object) -> Sequence[DiffLine]:
    """Return the lines of `new` against `old`, three lines of context around each change; it says what is left out."""
    (before, less), (after, left) = (asked.head(clean(str(text or ""))) for text in (old, new))
    was, now = (asked.visible(text).split("\n") for text in (before, after))
    lines = list(difflib.unified_diff(was, now, lineterm="", n=3))[2:]
    found = [
        DiffLine(" ", "⋮") if line.startswith("@@") else DiffLine(line[0], line[1:])
        for line in lines
        if not line.startswith("@@ -1,")
    ]
    return [*found, *([DiffLine(" ", asked.left_out(less + left))] if less + left else [])]


@register.filter
def asked_patch(patch: object) -> Sequence[DiffLine]:
    """Return a patch line by line, headers as context."""
    lines = asked_words(patch).split("\n")
    return [DiffLine(" ", line) if line[:3] in ("+++", "---", "[") else DiffLine(line[:1] or " ", line[1:]) for line in lines]


class Formatted(NamedTuple):
    """Markdown as HTML, as it was written, and how many words of it the HTML does not show."""

    html: SafeString
    written: str
    hides: int


@register.filter
def formatted(text: object) -> Formatted:
    """Return an agent's Markdown both ways: formatting may leave out a link's title, a cell too many, a reference."""
    written = asked_words(text)
    drawn = asked.visible(safe_markdown(written), prose=True)
    return Formatted(mark_safe(drawn), written, _hides(written, drawn))  # noqa: S308 - `safe_markdown`, and `visible` adds no tag


_WORD: Final = re.compile(r"[^\W_]+")
_TAG: Final = re.compile(r"<[^>]*>")
_ENTITY: Final = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_INTERNATIONAL: Final = re.compile(r"xn--([A-Za-z0-9-]{1,59})")


def _hides(written: str, drawn: str) -> int:
    shown = _decoded(html.unescape(_TAG.sub(" ", drawn)))

    def meant(entity: re.Match[str]) -> str:
        found = html.unescape(entity[0])
        # what is not to be seen stays in letters, and is missed; code shows it in letters, too
        return found if found in shown and entity[0] not in shown else entity[0]

    said = Counter(_WORD.findall(_decoded(_ENTITY.sub(meant, written))))
    return (said - Counter(_WORD.findall(shown)) - Counter(_WORD.findall(markup(written)))).total()


def _decoded(text: str) -> str:
    """Addresses as people write them, on both sides alike: a page has them encoded."""
    return _INTERNATIONAL.sub(_label, unquote(text))


def _label(found: re.Match[str]) -> str:
    try:
        return found[1].encode().decode("punycode")
    except UnicodeError:
        return found[0]
