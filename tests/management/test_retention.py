"""`manage.py retention`: counted or removed, and only where a rule is set."""

import pytest

from tasks_app.models import Step
from tests import factories as make
from tests.factories import ago
from tests.management.commands import run, run_json

pytestmark = pytest.mark.django_db


@pytest.fixture
def old_steps(settings):
    settings.KEEP_STEPS_DAYS = 30
    attempt = make.RunFactory(ended=True, ended_at=ago(days=31))
    return [make.StepFactory(run=attempt), make.StepFactory(run=attempt)]


def test_a_dry_run_counts_and_removes_nothing(old_steps):
    code, out, _ = run("retention", "--dry-run")
    assert (code, out) == (0, "steps: 2 rows older than 30 days would be removed\n")
    assert Step.objects.count() == 2


def test_now_removes_what_was_counted(old_steps):
    assert run_json("retention", "--now") == (0, {"removed": {"steps": 2}})
    assert run_json("retention", "--now") == (0, {"removed": {"steps": 0}})
    assert Step.objects.count() == 0


def test_without_a_rule_it_says_which_can_be_set():
    code, _, err = run("retention", "--now")
    assert code == 2
    assert "CREWDESK_KEEP_STEPS_DAYS" in err
