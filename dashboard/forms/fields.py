"""Reads single fields of a posted form; what cannot be taken is refused with the field's name."""

from decimal import Decimal, InvalidOperation

from django.http import QueryDict

from tasks_app.domain.budget import MAX_TOKENS, MAX_USD, MIN_USD
from tasks_app.domain.errors import Invalid, TooLarge
from tasks_app.domain.ids import MAX_PK
from tasks_app.domain.text import clean

MAX_TEXT = 20_000


def text(post: QueryDict, name: str, limit: int = MAX_TEXT, *, needed: str = "") -> str:
    """Return a text, cleaned, with line ends as \\n and trimmed. `needed` is what to say when it is empty.

    Raises `TooLarge` (413) beyond `limit` code points.
    """
    value = clean(post.get(name, "")).replace("\r\n", "\n").strip()
    if len(value) > limit:
        raise TooLarge(f"The text has {len(value):,} characters; at most {limit:,} are taken.", field=name)
    if needed and not value:
        raise Invalid(needed, field=name)
    return value


def money(post: QueryDict, name: str) -> Decimal | None:
    """Return an amount in US dollars from a cent on, or None where the field is empty."""
    value = post.get(name, "").strip().lstrip("$").replace(",", ".")[:30]
    if not value:
        return None
    try:
        amount = Decimal(value)
    except InvalidOperation:
        raise Invalid("The amount is not a number. Write 12.50.", field=name) from None
    if not amount.is_finite() or not MIN_USD <= amount <= MAX_USD:
        raise Invalid(f"The amount must be above 0: from ${MIN_USD} to ${MAX_USD:,}.", field=name)
    return amount


def count(post: QueryDict, name: str, most: int = MAX_TOKENS) -> int | None:
    """Return a whole number above 0, or None where the field is empty; `2 000 000` and `2,000,000` are taken."""
    value = "".join(post.get(name, "").split()).replace(",", "").replace("_", "")[:30]
    if not value:
        return None
    if not (value.isascii() and value.isdigit()) or not 0 < int(value) <= most:
        raise Invalid(f"That is not a whole number from 1 to {most:,}.", field=name)
    return int(value)


def pk(post: QueryDict, name: str) -> int | None:
    """Return the number of a row, or None where the field is empty."""
    return count(post, name, MAX_PK)
