"""Fixed words that are written into a statement, so that SQLite can tell that a partial index holds all that is asked for.

It compares an index's condition with the text of a statement: a parameter tells it nothing, and it reads the whole table.
"""

from enum import StrEnum
from typing import Any

from django.db.models import CharField, Value

from tasks_app.domain.statuses import OPEN_RUN


class Written(Value):
    """A word of an enum as a literal and not as a parameter. Raises ValueError for what is no plain word."""

    def __init__(self, word: StrEnum) -> None:
        if not word.value.isidentifier():
            raise ValueError(f"{word.value!r} is no plain word")
        super().__init__(word.value, output_field=CharField())

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[str | int, ...]]:
        """Return the quoted word."""
        return f"'{self.value}'", ()


OPEN_RUNS = [Written(status) for status in OPEN_RUN]
"""For `status__in`: the runs of the indexes `one_open_run_per_agent` and `one_open_run_per_task`."""
