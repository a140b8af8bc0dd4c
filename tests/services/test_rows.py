"""What is read by statements written out is what Django reads: every column, of its own type, and the largest not at all."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from django.db import models, transaction

from tasks_app.models import Agent, Decision, Run, Task, Team
from tasks_app.services import rows
from tests import factories

pytestmark = pytest.mark.django_db
AT = datetime(2026, 11, 28, 7, 8, 9, 123_456, tzinfo=UTC)
FULL = {
    models.JSONField: {"ü": [1, None, {"a": "\N{ROCKET}"}]},
    models.DateTimeField: AT,
    models.DecimalField: Decimal("1.250000"),
    models.BooleanField: True,
}


def filled(made, *names):
    """Give the columns of these kinds a value that the database keeps in another form than Python."""
    for column in made._meta.concrete_fields:
        for kind, value in FULL.items():
            if type(column) is kind and column.name not in names:
                setattr(made, column.attname, value)
    made.save()
    return type(made).objects.get(pk=made.pk)


def alike(found, whole, *, without=()):
    for column in whole._meta.concrete_fields:
        if column.name in without:
            assert column.attname in found.get_deferred_fields()
            continue
        there, wanted = found.__dict__[column.attname], getattr(whole, column.attname)
        assert (type(there), there) == (type(wanted), wanted), column.attname


def test_a_run_with_its_task_team_and_agent():
    made = factories.RunFactory()
    run, task, team, agent = filled(made), filled(made.task), filled(made.team, "plan"), filled(made.agent)
    assert (type(run), type(task), type(team), type(agent)) == (Run, Task, Team, Agent)
    found = rows.run(run.pk)
    alike(found, run)
    alike(found.task, task)
    alike(found.agent, agent)
    alike(found.team, team, without=("plan", "rehearsal_script"))
    assert found.team.plan == team.plan, "what was left out is read when it is asked for"


def test_empty_columns_are_none():
    made = factories.RunFactory()
    alike(rows.run(made.pk), Run.objects.get(pk=made.pk))


def test_a_decision_with_its_team_task_run_and_agent():
    made = factories.DecisionFactory()
    whole = filled(made)
    found = rows.decision(made.pk)
    alike(found, whole)
    alike(found.team, Team.objects.get(pk=made.team_id), without=("plan", "rehearsal_script"))
    for name, model in (("task", Task), ("run", Run), ("agent", Agent)):
        alike(getattr(found, name), model.objects.get(pk=getattr(made, f"{name}_id")))


def test_a_decision_of_no_run_has_none():
    made = factories.DecisionFactory(run=None, task=None, agent=None, team=factories.TeamFactory())
    found = rows.decision(made.pk)
    assert (found.run, found.task, found.agent) == (None, None, None)
    alike(found, Decision.objects.get(pk=made.pk))
    assert rows.decision("d00000000") is None


def test_a_team_that_is_locked():
    team = filled(factories.TeamFactory(), "plan")
    with transaction.atomic():
        alike(rows.team_locked(team.pk), team, without=("plan", "rehearsal_script"))


def test_what_is_not_there_is_nothing():
    assert rows.run("r-none") is None
    with transaction.atomic():
        assert rows.team_locked(0) is None


def test_columns_of_the_rows_that_are_as_it_is_said():
    ours, other = factories.TeamFactory(), factories.TeamFactory()
    for team, slugs in ((ours, "ab"), (other, "c")):
        for slug in slugs:
            factories.AgentFactory(team=team, name=f"agent-{slug}")
    wanted = {"team_id": ours.pk, "name": ["agent-b", "agent-c", "nobody"]}
    assert rows.read(Agent, ("name", "team_id"), wanted) == [("agent-b", ours.pk)]
    assert rows.read(Agent, ("name",), {"team_id": [ours.pk, other.pk], "name": "agent-c"}) == [("agent-c",)]
