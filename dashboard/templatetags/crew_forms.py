"""Forms that post: their addresses and hidden fields, the one way a button looks, and what is wrong, said at its field."""

import secrets
from collections.abc import Iterator, Mapping
from typing import Any

from django import template
from django.template import Context
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from dashboard.idempotency import FIELD
from dashboard.templatetags.crew_parts import icon
from tasks_app.domain.errors import DomainError, Invalid

register = template.Library()


@register.simple_tag
def posts(url_name: str, *keys: Any) -> SafeString:
    """Return the attributes of a form that posts to a page of ours, by htmx where there are scripts.

    Where the server fails, or takes no request as large as this one, the form stays with what was written in it.
    """
    form = 'method="post" action="{0}" hx-post="{0}" hx-status:5xx="swap:none" hx-status:413="swap:none"'
    return format_html(form, reverse(url_name, args=keys))


@register.simple_tag(takes_context=True)
def hidden(context: Context, given: Mapping[str, object] | None = None, **fields: object) -> SafeString:
    """Return the hidden fields of a form. A block that comes through the socket has no token: there htmx sends it."""
    token = context.get("csrf_token")
    named: Mapping[str, object] = {**({"csrfmiddlewaretoken": token} if token else {}), **(given or {}), **fields}
    return format_html_join("", '<input type="hidden" name="{}" value="{}">', named.items())


@register.simple_tag(takes_context=True)
def new_request(context: Context) -> SafeString | str:
    """Return the hidden field that makes a form, sent again from the page of an error, the same request.

    For forms of which twice is one too many. A page that answers a form, such as the preview of a plan, goes on with its key.
    What comes through the socket has none: there static/js/desk.js sends it.
    """
    if "csrf_token" not in context:
        return ""
    given = context["request"].POST.get(FIELD, "")[:40] if "request" in context else ""
    return format_html('<input type="hidden" name="{}" value="{}">', FIELD, given or secrets.token_urlsafe(12))


@register.simple_tag
def press(
    word: str, *, value: str = "", name: str = "choice", sign: str = "", css: str = "", about: str = "", key: str = ""
) -> SafeString:
    """Return a button that sends its form: a word, an icon (`sign`) before it, `primary`, `danger` or `quiet` as `css`.

    With a `value` it says which of several was pressed. `about` is read to who cannot see what the button stands beside.
    `key` presses it (static/js/keys.js).
    It is off while the page may be out of date, for it answers to what the page shows.
    """
    attributes = {"class": f"btn {css}".strip(), "type": "submit", **({"name": name, "value": value} if value else {})}
    return format_html(
        "<button{} data-needs-live{}>{}{}{}{}</button>",
        format_html_join("", ' {}="{}"', attributes.items()),
        keyed(key) if key else "",
        icon(sign) if sign else "",
        word,
        format_html('<span class="vh"> {}</span>', about) if about else "",
        key_cap(key) if key else "",
    )


@register.simple_tag
def keyed(key: str) -> SafeString:
    """Return the attributes of what a key presses."""
    return format_html(' data-key="{0}" aria-keyshortcuts="{0}"', key)


@register.simple_tag
def key_cap(key: str | int) -> SafeString:
    """Return the drawing of a key beside what it presses, shown where there are keys and they are on."""
    word = {"Control+Enter": "Ctrl ↵"}.get(str(key), str(key).upper())
    return format_html(' <kbd class="key" aria-hidden="true">{}</kbd>', word)


@register.inclusion_tag("parts/act.html", takes_context=True)
def act(
    context: Context, url_name: str, key: object, word: str, *, sign: str = "", css: str = "", about: str = "", **fields: object
) -> dict[str, Any]:
    """Return a form that is one button: `do` and other `fields` go with it; `about` is read to who cannot see what it is for."""
    look = {"word": word, "sign": sign, "css": css, "about": about}
    return {**look, "url_name": url_name, "key": key, "fields": fields, "csrf_token": context.get("csrf_token")}


@register.simple_tag(takes_context=True)
def error(context: Context, field: str) -> SafeString | str:
    """Return what is wrong with a field of the form that was just refused, or nothing."""
    said = next(_said(context.get("problem"), field), "")
    return format_html('<p class="error" id="{}" role="alert">{}</p>', _id(field), said) if said else ""


@register.simple_tag(takes_context=True)
def invalid(context: Context, field: str) -> SafeString | str:
    """Return the attributes of an input whose field was refused: marked as wrong, and described by the error."""
    wrong = any(_said(context.get("problem"), field))
    return format_html(' aria-invalid="true" aria-describedby="{}"', _id(field)) if wrong else ""


def places(problem: DomainError) -> frozenset[str]:
    """Return the fields that a problem is about, without places in them: `answers[0]` is `answers`; empty: none is known."""
    named = [one.path for one in problem.problems] if isinstance(problem, Invalid) else [problem.field]
    return frozenset(path.split("[")[0] for path in named) if all(named) else frozenset()


def _said(problem: DomainError | None, field: str) -> Iterator[str]:
    if isinstance(problem, Invalid):
        yield from (f"{one.message} {one.fix}".strip() for one in problem.problems if one.path == field)
    elif problem is not None and problem.field == field:
        yield problem.message


def _id(field: str) -> str:
    return "error-" + "".join(letter if letter.isalnum() else "-" for letter in field)
