"""Small drawn parts: icons, pills and bars. Bars are SVG attributes, for the content policy forbids inline style."""

import datetime as dt
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django import template
from django.conf import settings
from django.templatetags.static import static
from django.urls import get_script_prefix, reverse
from django.utils import timezone
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

from dashboard.templatetags.crew_format import bar, context_level, lasting, minutes, span, span_s
from dashboard.templatetags.crew_words import Look, look
from tasks_app.selectors.agents import AgentCard
from tasks_app.selectors.states import AgentState, ContextUse
from tasks_app.selectors.worktime import Worktime

register = template.Library()


@register.simple_tag
@lru_cache(maxsize=256)  # a page has hundreds, of a few dozen kinds
def icon(name: str, css: str = "") -> SafeString:
    """An icon of the sprite; hidden from screen readers, for a word always stands beside it."""
    return format_html(
        '<svg class="i{}" aria-hidden="true"><use href="{}#{}"/></svg>', f" {css}" if css else "", static("icons.svg"), name
    )


@register.simple_tag
def to(name: str, *keys: object) -> SafeString:
    """The address of a page, as `url` gives it; for what stands on a page many times."""
    return _address(get_script_prefix(), name, keys)


@lru_cache(maxsize=4096)
def _address(prefix: str, name: str, keys: tuple[object, ...]) -> SafeString:
    return conditional_escape(reverse(name, args=keys))


@register.simple_tag
@cache
def inline_svg(name: str) -> str:
    """A small drawing as an address that holds it: what every page shows at once costs no request of its own."""
    drawing = Path(f"{settings.BASE_DIR}/static/{name}").read_text()
    return f"data:image/svg+xml,{quote(drawing.strip(), safe=' =:/')}"


@register.simple_tag
@lru_cache(maxsize=256)
def pill(state: str, family: str, word: str = "") -> SafeString:
    """A state as icon and word on its colour."""
    found: Look = look(state, family)
    spin = "spin" if found.icon == "loader-circle" else ""
    return format_html('<span class="pill {}">{}{}</span>', found.css, icon(found.icon, spin), word or found.word)


MARKS = mark_safe('<rect class="mark" x="80" width=".6" height="8"/><rect class="mark" x="90" width=".6" height="8"/>')
HATCH = mark_safe('<path class="hatch" d="M0 8 8 0M12 8 20 0M24 8 32 0M36 8 44 0M48 8 56 0M60 8 68 0M72 8 80 0M84 8 92 0"/>')


@register.simple_tag
def context_meter(use: ContextUse | None, name: str) -> SafeString:
    """How full a context is, with ticks at 80 and 90 %; hatched while it is unknown."""
    percent = use.percent if use else None
    if percent is None:
        return format_html(
            '<svg class="meter" role="img" aria-label="{} context not reported" viewBox="0 0 100 8" '
            'preserveAspectRatio="none">{}</svg>',
            name,
            HATCH,
        )
    level = context_level(use)
    words = f"{percent} percent" + {"warn": ", warning", "crit": ", critical"}.get(level, "")
    return format_html(
        '<svg class="meter" role="meter" aria-label="{} context" aria-valuemin="0" aria-valuemax="100" aria-valuenow="{}" '
        'aria-valuetext="{}" viewBox="0 0 100 8" preserveAspectRatio="none"><rect class="{}" width="{}" height="8"/>{}</svg>',
        name,
        bar(percent),
        words,
        level,
        bar(percent),
        MARKS,
    )


@register.simple_tag
def working(time: Worktime, low: float, high: float, state: str = "open") -> SafeString:
    """`27 min 42 s of 5–30 min`; past it `33 min 12 s · over by 3 min 12 s`.

    `ended` with a result, but early: `2 min 10 s · short, check result`.

    Working time: it stands still while the agent waits. Ticks while it works.
    """
    seconds = time.worked_s
    shown, past_s = _lasting(seconds, time.working), seconds - high * 60
    css, words = "muted", f"of {minutes(low)}–{minutes(high)} min"
    if past_s > 0:
        css, words = "t-fail", f"· over by {_lasting(past_s, time.working)}"
    elif state == "ended" and seconds < low * 60:
        words = "· short, check result"
    return mark_safe(f'{shown} <span class="{css}">{words}</span>')  # noqa: S308 - numbers and our own words


@register.simple_tag
def waited(time: Worktime) -> SafeString | str:
    """` · 12 min waiting for you`, over `waited for you`; nothing where it never waited. Ticks while it waits."""
    if time.waited_s < 1 and not time.waiting:
        return ""
    word = "waiting" if time.waiting else "waited"
    return format_html(' <span class="muted">· {} {} for you</span>', _lasting(time.waited_s, time.waiting), word)


MUTED_S, QUIET_S = 120, 300


@register.filter
def quiet(card: AgentCard) -> str:
    """How long a working agent has been silent, as a CSS class: nothing, `muted` after two minutes, `t-wait` after five.

    Who waits for the lead, or has nothing to do, is silent for a reason that is said already.
    """
    if card.state is not AgentState.WORKING or card.last_event_at is None:
        return ""
    silent_s = span_s(card.last_event_at)
    return "t-wait" if silent_s > QUIET_S else "muted" if silent_s > MUTED_S else ""


@register.simple_tag
def worked(time: Worktime) -> SafeString:
    """`27 min 42 s`; ticks while it works."""
    return _lasting(time.worked_s, time.working)


def _lasting(seconds: float, ticks: bool) -> SafeString:
    return lasting(seconds) if ticks else mark_safe(f'<span class="n">{span(seconds)}</span>')  # noqa: S308 - numbers


@register.simple_tag
def window_bar(time: Worktime, low: float, high: float) -> SafeString:
    """Working time against the expected window: the whole bar is 1.5 times the upper limit."""
    whole = max(high * 1.5, 0.01)
    spent = time.worked_s / 60
    x, width = low * 100 / whole, (high - low) * 100 / whole
    css = "over" if spent > high else "early" if spent < low else "at"
    return mark_safe(  # noqa: S308 - numbers and our own words
        f'<svg class="meter win" role="img" '
        f'aria-label="{round(spent)} minutes worked; expected {minutes(low)} to {minutes(high)}" '
        f'viewBox="0 0 100 12" preserveAspectRatio="none"><rect class="band" x="{x:.1f}" width="{width:.1f}" height="12"/>'
        f'<rect class="{css}" width="{min(spent * 100 / whole, 100):.1f}" height="5" y="3.5"/>'
        f'<rect class="mark" x="{x:.1f}" width=".6" height="12"/>'
        f'<rect class="mark" x="{x + width:.1f}" width=".6" height="12"/></svg>'
    )


@register.filter
def get(mapping: object, key: str) -> Any:
    """Return a value by a key that a template holds in a variable; None where there is no such thing."""
    return mapping.get(key) if isinstance(mapping, Mapping) else None


@register.filter
def pairs(mapping: object) -> list[tuple[Any, Any]]:
    """Return key and value of each entry (`.items` would find a key of that name first)."""
    return list(mapping.items()) if isinstance(mapping, Mapping) else []


@register.filter
def is_list(value: object) -> bool:
    """Whether a value is a list."""
    return isinstance(value, list | tuple)


@register.filter
def is_past(moment: dt.datetime | None) -> bool:
    """Whether a moment has come."""
    return moment is not None and moment <= timezone.now()
