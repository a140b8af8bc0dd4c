"""How numbers, times and states are written: the exact words of the pages, and nothing else."""

import datetime as dt
from decimal import Decimal, InvalidOperation

from django import template
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe

from tasks_app.domain import budget, spans
from tasks_app.domain.context import Level
from tasks_app.selectors.states import ContextUse

register = template.Library()

SAID_LEVELS = (Level.WARN, Level.CRITICAL)
COMPACTED_NEWS_S = 600
"""For so long after a compaction the fresh percentage says that it comes from one."""


@register.filter
def tokens(value: float | str | None) -> str:
    """`950`, `412 k`, `1.84 M`; for None and what is no number `tokens not reported`."""
    if not isinstance(value, int | float):
        return "tokens not reported"
    if value < 1_000:
        return str(round(value))
    if value < 999_500:
        return f"{round(value / 1_000)} k"
    return f"{value / 1_000_000:.2f} M"


@register.filter
def usd(value: Decimal | float | str | None) -> str:
    """`$4.62`, `<$0.01`, `$1,204.00`; None: `cost not reported`. Never $0.00 for what is unknown."""
    if value is None or value == "":
        return budget.spent("")
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        return budget.spent("")
    return "<$0.01" if 0 < amount < Decimal("0.01") else f"${amount:,.2f}"


@register.filter
def over(used: Decimal | float | None, limit: Decimal | float | None) -> float:
    """How far `used` is above `limit`; 0, which is false, where it is not or one of them is not known."""
    return budget.over(*(float(value) if isinstance(value, int | float | Decimal) else None for value in (used, limit)))


COST_PARTIAL = "A process ended before it reported what its last turn cost. Its tokens are counted, its cost is not."


@register.filter
def cost(value: Decimal | None, partial: bool) -> str:
    """`$4.62`, or `at least $4.62` where a process ended before it could report what its last turn cost."""
    return _least("at least ", value) if partial and value is not None else usd(value)


@register.simple_tag
def spent(value: Decimal | None, partial: bool, limit: Decimal | float | None) -> str:
    """A cost against its budget, where there is one: `$4.62 of $5.00`, `cost not reported (budget $5.00)`."""
    return budget.spent(cost(value, partial) if value is not None else "", usd(limit) if limit is not None else "")


@register.filter
def cost_short(value: Decimal | None, partial: bool) -> str:
    """The same where there is little room: `≥ $4.62`."""
    return _least("≥ ", value) if partial and value is not None else usd(value)


def _least(word: str, value: Decimal) -> str:
    """Less than a cent is said to a tenth of one: "at least less than a cent" says nothing."""
    return f"{word}${max(value, Decimal('0.001')):.3f}" if 0 < value < Decimal("0.01") else f"{word}{usd(value)}"


@register.filter
def cost_hint(partial: bool) -> str:
    """Why a cost is only the least it can be; nothing where it is whole."""
    return COST_PARTIAL if partial else ""


@register.filter
def amount(value: Decimal | float | str | None) -> str:
    """An amount of money in a field: `5`, `4.50`, `0.0125`; nothing for None and for what a template does not find."""
    if value is None or value == "":
        return ""
    text = f"{Decimal(str(value)).normalize():f}"
    return f"{text}0" if text[-2:-1] == "." else text


@register.filter
def usd_short(value: Decimal | float | None) -> str:
    """A budget: `$60`, or `$4.50` where cents matter."""
    if value is None:
        return "no budget"
    return f"${value:,.0f}" if value == int(value) else f"${value:,.2f}"


@register.filter
def usd_whole(value: Decimal | None) -> str:
    """An estimate: `$58`; small ones keep their cents."""
    return "unknown" if value is None else f"${value:,.0f}" if value >= 10 else usd(value)


@register.filter
def span(seconds: float | str | None) -> str:
    """How long: `4 min 12 s`, `2 h 31 min`; a dash for None and for what is no number."""
    return spans.span(seconds) if isinstance(seconds, int | float) else "–"


@register.filter
def minutes(value: float) -> str:
    """Minutes without needless decimals: `5`, `7.5`."""
    return f"{value:g}"


@register.filter
def minutes_about(value: float) -> str:
    """Minutes of an estimate: `7.5` under ten, `0.1` where it is less, else whole ones."""
    return f"{max(value, 0.1):.1f}".removesuffix(".0") if value < 9.95 else f"{value:.0f}"


def span_s(since: dt.datetime | None, until: dt.datetime | None = None) -> float:
    """Return the seconds from `since` to `until` (now), never negative; 0 where nothing has begun."""
    return max(((until or timezone.now()) - since).total_seconds(), 0.0) if since else 0.0


@register.filter
def ago(since: dt.datetime | None) -> SafeString | str:
    """How long since: a `<time>` that the page's script keeps ticking; `4 min 12 s`, `2 h 5 min`, `3 days 4 h`."""
    if not since:  # also "": what a template finds where the request it speaks of was answered between two reads
        return "–"
    return _time(since, spans.span(span_s(since)), "since")


@register.filter
def left(until: dt.datetime | None) -> SafeString | str:
    """How long until: a `<time>` that counts down; `5 min 48 s`, `0 s` once it is past."""
    if until is None:
        return "–"
    return _time(until, spans.span((until - timezone.now()).total_seconds()), "until")


@register.filter
def at(moment: dt.datetime | None) -> SafeString | str:
    """When, to the second: `10:44:31`, on another day with the date; a `<time>`."""
    if not moment:
        return "–"
    local = timezone.localtime(moment)
    text = local.strftime("%H:%M:%S") if local.date() == timezone.localtime().date() else f"{local.day} {local:%b %H:%M:%S}"
    return _time(moment, text, "")


def lasting(seconds: float) -> SafeString:
    """So many seconds, and one more with each that passes: a `<time>` that keeps ticking, for what began at no one moment.

    To the second: drawn again a moment later it is to be the same, or whatever it stands in would seem to have changed.
    """
    began = timezone.now() - dt.timedelta(seconds=seconds - 0.5)
    return _time(began.replace(microsecond=0), spans.span(seconds), "since", hint=False)


def _time(moment: dt.datetime, text: str, ticking: str, *, hint: bool = True) -> SafeString:
    stamp = moment.isoformat()
    attribute = f' data-{ticking}="{stamp}"' if ticking else ""
    title = f' title="{stamp}"' if hint else ""
    return mark_safe(f'<time class="n" datetime="{stamp}"{title}{attribute}>{text}</time>')  # noqa: S308 - digits and our words


@register.filter
def context_text(use: ContextUse | None) -> str:
    """`63%`, `81% · warn`, `92% · critical`, `>100% · critical`, `context not reported`, `context not reported · compacted`."""
    if use is None or use.percent is None:
        return "context not reported" + (" · compacted" if use and use.compacted_at else "")
    text = ">100%" if use.reading.over else f"{use.percent}%"
    return f"{text} · {use.level.value}" if use.level in SAID_LEVELS else text


@register.filter
def context_compacted(use: ContextUse | None) -> bool:
    """Whether the percentage is news because the context was compacted a short while ago."""
    return bool(use and use.compacted_at and use.percent is not None and span_s(use.compacted_at) < COMPACTED_NEWS_S)


@register.filter
def context_tokens(use: ContextUse | None) -> str:
    """`162 k of 200 k`, or nothing while it is unknown."""
    return f"{tokens(use.tokens)} of {tokens(use.window)}" if use and use.percent is not None else ""


@register.filter
def context_level(use: ContextUse | None) -> str:
    """The CSS class of a context: `crit`, `warn` or nothing."""
    return {Level.CRITICAL: "crit", Level.WARN: "warn"}.get(use.level, "") if use else ""


@register.filter
def bar(percent: int | None) -> int:
    """The width of a bar of 100: never outside of it."""
    return max(0, min(100, percent or 0))


@register.filter
def plural(count: int, word: str) -> str:
    """`1 task`, `2 tasks`."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


@register.filter
def actor(name: str) -> str:
    """Who, for people: `user:anna` -> `anna`, `agent:builder-1` -> `builder-1`, `system` -> `Crewdesk`."""
    return "Crewdesk" if name in ("system", "") else name.partition(":")[2] or name
