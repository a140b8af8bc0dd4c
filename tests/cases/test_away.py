"""N26: web, Valkey and the database are really gone for 30 s while a permission request is in flight, and come back."""

import pytest

from bench import cluster
from tests import early

STORY = "tests.cases.away_beside"


@pytest.mark.engine
@pytest.mark.early(STORY)
def test_what_is_asked_while_the_approval_service_is_away_never_runs_unapproved_and_nobody_is_locked(
    request: pytest.FixtureRequest,
) -> None:
    cluster.binaries()
    found = early.told(request.config, STORY)
    assert found["away"] >= 30
    assert found["ran meanwhile"] is False
    assert found["in flight"] == "allow", "it was asked again, and its answer arrived"
    for moment in ("too long", "not to be asked"):
        assert "approval service" in found[moment].lower()
        assert "den" in found[moment], "it says that nobody denied it"
    assert found["denied"] == ["deny", "No."], "a person's no is another answer"
    assert found["back"] == "allow", "the agent goes on as before"
    assert found["kept"]["too-long"] == "open", "the request is still the lead's to answer"
    assert "never" not in found["kept"]
