"""Numbers in addresses: those that a row may have. Beyond them a database does not look, it fails."""

from django.urls.converters import IntConverter

from tasks_app.domain.ids import MAX_PK


class RowNumber(IntConverter):
    """`<row:pk>`: as `int`, but no page has the address of a number that no row can have."""

    def to_python(self, value: str) -> int:
        """Return the number; raises ValueError, which is Django's word for "not this address"."""
        found = super().to_python(value)
        if found > MAX_PK:
            raise ValueError(value)
        return found
