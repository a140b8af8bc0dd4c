"""Attempts side by side: what differs, and what does not."""

import datetime as dt
from decimal import Decimal

import pytest

from tasks_app.models import Task
from tasks_app.selectors import attempts, comparison
from tests import factories as make

pytestmark = pytest.mark.django_db
CHECK = {"number": 2, "proof": "check", "met": True, "says": "exit code 0", "exit_code": 0, "tail": "", "seconds": 1.0, "by": ""}


def test_criteria_met_size_cost_and_time_are_compared_and_what_is_the_same_is_named():
    task = make.TaskFactory()
    Task.objects.filter(pk=task.pk).update(criteria=["It works", {"check": "pytest"}])
    agent = make.AgentFactory(team=task.team, name="ada")
    now = make.ago(minutes=60)
    for number, proofs, report in ((1, [{**CHECK, "met": False}], None), (2, [CHECK], {"evidence": {"1": "tried"}})):
        make.RunFactory(
            task=task, team=task.team, agent=agent, attempt=number, failed=True, proofs=proofs, report=report, reason="reported",
            started_at=now, ended_at=now + dt.timedelta(minutes=number), cost_usd=Decimal(number),
            dossier={"diff": {"files": [], "summary": f"{number} files changed", "patch": "-a\n+b", "cut": False}},
        )  # fmt: skip
    found = comparison.compare(attempts.of_task(task.pk))
    lines = {line.name: line.values for line in found.different}
    assert lines["Criteria met"] == ((0, 2), (2, 2))
    assert lines["Changed"] == ("1 files changed", "2 files changed")
    assert lines["Working time"] == (60.0, 120.0)
    assert [usd for usd, _ in lines["Cost"]] == [Decimal(1), Decimal(2)]
    assert {"Agent", "How it ended", "Started from"} <= {line.name for line in found.same}
    assert attempts.of_task(task.pk)[0].patch == "-a\n+b"


def test_one_attempt_is_compared_with_nothing():
    run = make.RunFactory(failed=True)
    assert comparison.compare(attempts.of_task(run.task_id)) is None


def test_only_the_newest_stand_side_by_side():
    task = make.TaskFactory()
    agent = make.AgentFactory(team=task.team)
    for number in range(1, attempts.MOST + 3):
        make.RunFactory(task=task, team=task.team, agent=agent, attempt=number, failed=True)
    found = comparison.compare(attempts.of_task(task.pk))
    assert [one.number for one in found.attempts] == [3, 4, 5, 6, 7, 8]
