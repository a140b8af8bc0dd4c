"""PostgreSQL is really gone for a while under a running desk: every process serves again as soon as it is back."""

import pytest

from bench import cluster
from tests import early

STORY = "tests.management.postgres_away"
BACK_S = 5.0


@pytest.mark.engine
@pytest.mark.early(STORY)
def test_when_it_is_back_pages_and_worker_go_on_within_five_seconds(request: pytest.FixtureRequest) -> None:
    cluster.binaries()
    found = early.told(request.config, STORY)
    assert found["worker"] < BACK_S
    assert found["web"] < BACK_S
    assert found["same processes"] is True, "nobody had to be started anew for that"
