"""Locks on many rows: whoever changes several takes them in the order of their ids, so that no two wait for each other."""

from typing import Any

from django.db import connection
from django.db.models import QuerySet


def in_order(found: QuerySet[Any]) -> None:
    """Lock these rows by their ids, to be changed in the transaction in which it is called. SQLite has one writer anyway."""
    if connection.features.has_select_for_update:
        list(found.order_by("pk").select_for_update(no_key=True).values_list("pk"))
