"""Words written into statements, and what SQLite makes of them."""

from enum import StrEnum

import pytest
from django.db import connection

from tasks_app.models import Run
from tasks_app.selectors.written import OPEN_RUNS, Written
from tests import factories as make


class Odd(StrEnum):
    """What no status is called."""

    QUOTED = "it's"


def test_only_a_plain_word_is_written_into_a_statement():
    with pytest.raises(ValueError, match="no plain word"):
        Written(Odd.QUOTED)


@pytest.mark.django_db
def test_open_runs_are_found_by_their_index_and_not_among_all_runs():
    open_, ended = make.RunFactory(), make.RunFactory(ended=True)
    found = Run.objects.filter(agent__in=[open_.agent, ended.agent], status__in=OPEN_RUNS)
    assert list(found) == [open_]
    if connection.vendor == "sqlite":  # PostgreSQL is given no parameters, and reads a table this small whole
        assert "one_open_run_per_agent" in found.explain()
