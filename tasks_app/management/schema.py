"""Whether the database has every table and column of this version: migrations that ran once may have been made anew since."""

from django.apps import apps
from django.db import connection

NAMED = 3


def lacks() -> list[str]:
    """Return what is missing as `table` or `table.column`, in the order of the models; [] where all is there.

    Until the first release the one migration of an app is made anew, and a database that an earlier development version made
    has it recorded as done. Raises `DatabaseError`.
    """
    found = []
    with connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor))
        for model in apps.get_app_config("tasks_app").get_models(include_auto_created=True):
            table = model._meta.db_table
            if table not in tables:
                found.append(table)
                continue
            columns = {each.name for each in connection.introspection.get_table_description(cursor, table)}
            found += [f"{table}.{field.column}" for field in model._meta.local_concrete_fields if field.column not in columns]
    return found


def sentence(missing: list[str]) -> str:
    """Return why a database with these gaps cannot be used; at most `NAMED` of them are named."""
    more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
    return f"it was made by an earlier development version: it lacks {', '.join(missing[:NAMED])}{more}"


FIX = (
    "Before the first release such a database is not carried over: point CREWDESK_HOME (or DATABASE_URL) at a new place, "
    "or move the old one away."
)
