"""How a team does, drawn and in words: shares as bars, and what is not known yet said as such."""

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from dashboard.templatetags.crew_format import bar
from tasks_app.domain.how_it_goes import Figures

register = template.Library()
UNKNOWN = "not known yet"


@register.filter
def known(value: float | None) -> str:
    """`3`, `2.5`; None: `not known yet`. Never 0 for what is unknown."""
    return UNKNOWN if value is None else f"{value:g}"


@register.filter
def known_percent(value: int | None) -> str:
    """`42%`; None: `not known yet`."""
    return UNKNOWN if value is None else f"{value}%"


@register.simple_tag
def share_bar(percent: int | None, label: str) -> SafeString | str:
    """A share as a bar; nothing where it is not known."""
    return "" if percent is None else _bar(f"{label}: {percent}%", [("r", 0.0, float(bar(percent)))])


@register.simple_tag
def window_share_bar(figures: Figures, label: str) -> SafeString | str:
    """How many tasks ended short, within and after their window, as one bar; nothing where no time is known."""
    if not figures.timed:
        return ""
    parts, x = [], 0.0
    for css, count in (("d", figures.within), ("q", figures.short), ("f", figures.over)):
        width = count * 100 / figures.timed
        parts += [(css, x, width)] if count else []
        x += width
    return _bar(f"{label}: {figures.within} within, {figures.short} short, {figures.over} over", parts)


def _bar(label: str, parts: list[tuple[str, float, float]]) -> SafeString:
    drawn = format_html_join(
        "", '<rect class="{}" x="{}" width="{}" height="8"/>', ((css, f"{x:.2f}", f"{width:.2f}") for css, x, width in parts)
    )
    return format_html(
        '<svg class="meter seg" role="img" aria-label="{}" viewBox="0 0 100 8" preserveAspectRatio="none">{}</svg>', label, drawn
    )
