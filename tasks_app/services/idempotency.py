"""Idempotency: a request that is sent again, because nobody knows whether it arrived, makes nothing twice.

A database that goes away at the commit leaves its client without an answer, and a lost answer looks the same as a lost request.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Final, TypeVar

from django.db import models, transaction

from tasks_app.models import KeyedRequest
from tasks_app.services import clock

Made = TypeVar("Made", bound=models.Model)
KEPT: Final = timedelta(days=1)
"""For so long a request is known again."""


def made(key: str) -> str:
    """Return the primary key of what a request has made; "" where it is new or has no key."""
    return str(KeyedRequest.objects.filter(key=key).values_list("made", flat=True).first() or "") if key else ""


def once(key: str, find: Callable[[str], Made], make: Callable[[], Made]) -> Made:
    """Return what `make` makes, or, where a request of this key has made it already, `find` of its primary key.

    One transaction with what is made: both are there, or neither. Of two at once the second waits for the first. Without a key
    (""), it is made.
    """
    with transaction.atomic():
        if not is_first(key):
            return find(made(key))
        new = make()
        KeyedRequest.objects.filter(key=key).update(made=str(new.pk))
        return new


def is_first(key: str, *, makes: object = "") -> bool:
    """Note a request in the transaction that does it, with what it `makes`; False: it was done before. Without a key, True."""
    if not key:
        return True
    return KeyedRequest.objects.get_or_create(key=key, defaults={"made": str(makes), "at": clock.now()})[1]


def forget() -> int:
    """Remove the requests that are too old to come again; returns how many there were."""
    return KeyedRequest.objects.filter(at__lt=clock.now() - KEPT).delete()[0]
