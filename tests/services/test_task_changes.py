"""The lead changes the plan of a running team: a new task, what one that waits says, what it waits for."""

from dataclasses import replace
from decimal import Decimal

import pytest
from django.utils import timezone

from tasks_app.domain.errors import Conflict, Invalid, NotFound
from tasks_app.models import Dependency, Event, Run, Task
from tasks_app.selectors import journal, sentences
from tasks_app.services import actions, drafts, task_edits
from tasks_app.services.tasks import Draft
from tests.services import world

pytestmark = pytest.mark.django_db
BY = "user:ada"
GOOD = Draft(title="Add the export of bills", criteria=("It is there.",), role="builder")


def last_sentence(team):
    return sentences.text(journal.entries(team.pk, after=Event.objects.filter(team=team).count() - 1, limit=9)[-1])


def test_a_cancelled_blocker_has_a_way_out_and_the_task_starts_at_once():
    crew = world.make(titles=("Build", "Ship"), chain=True)
    first, second = crew.tasks
    actions.cancel(first.pk, actor=BY)
    assert not Run.objects.filter(task=second).exists()
    task_edits.remove_dependency(second.pk, needs=first.pk, actor=BY)
    assert last_sentence(crew.team) == "Ada let T-2 Ship no longer wait for T-1"
    task_edits.add_dependencies(second.pk, needs=[first.pk], actor=BY)
    assert last_sentence(crew.team) == "Ada let T-2 Ship wait for T-1"
    actions.unblock(second.pk, needs=first.pk, actor=BY)
    assert Run.objects.filter(task=second).exists()


def test_what_it_does_not_wait_for_cannot_be_removed():
    crew = world.make(titles=("Build", "Ship"))
    with pytest.raises(Conflict, match="T-2 does not depend on T-1"):
        task_edits.remove_dependency(crew.tasks[1].pk, needs=crew.tasks[0].pk, actor=BY)
    with pytest.raises(NotFound, match="no such task in this team"):
        task_edits.remove_dependency(crew.tasks[1].pk, needs=world.make(role="other").tasks[0].pk, actor=BY)


def test_a_task_that_waits_is_changed_in_everything_that_a_plan_says_of_it():
    crew = world.make()
    given = {"title": "Build it", "criteria": ("A", {"check": "true"}), "role": "", "assignee_id": crew.agents[1].pk,
             "priority": 2, "expected_min": 1.0, "expected_max": 9.0, "description": "In a.py"}  # fmt: skip
    task = task_edits.change(crew.tasks[0].pk, given, actor=BY)
    assert {name: getattr(task, name) for name in drafts.EDITABLE} == {**given, "criteria": list(given["criteria"])}
    count = Event.objects.filter(team=crew.team).count()
    task_edits.change(task.pk, given, actor=BY)
    assert Event.objects.filter(team=crew.team).count() == count, "nothing has changed, so nothing is told"


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"title": " "}, "title"),
        ({"criteria": ()}, "criteria"),
        ({"criteria": ({"judge": "zoe", "text": "fine"},)}, "criteria"),
        ({"role": "nobody"}, "role"),
        ({"assignee_id": 10**9}, "assignee"),
        ({"priority": 10}, "priority"),
        ({"expected_min": 30.0, "expected_max": 5.0}, "minutes"),
        ({"expected_max": float("inf")}, "minutes"),
        ({"expected_max": float("nan")}, "minutes"),
    ],
)
def test_what_a_plan_would_refuse_is_refused_and_names_its_field(given, field):
    crew = world.make()
    with pytest.raises(Invalid) as refused:
        task_edits.change(crew.tasks[0].pk, given, actor=BY)
    assert {one.path.split("[")[0] for one in refused.value.problems} == {field}
    assert crew.task().title == "Build"


@pytest.mark.parametrize("whose", ["budget", "run_budget"])
@pytest.mark.parametrize(
    ("unit", "amount"),
    [("usd", 1e9), ("usd", float("inf")), ("usd", Decimal("0.00001")), ("usd", 0), ("tokens", 10**30), ("tokens", 0)],
)
def test_a_new_task_has_no_budget_that_a_plan_would_refuse(whose, unit, amount):
    crew = world.make()
    with pytest.raises(Invalid) as refused:
        actions.add_task(crew.team.pk, replace(GOOD, **{f"{whose}_{unit}": amount}), actor=BY)
    assert refused.value.problems[0].path == unit
    fine = actions.add_task(crew.team.pk, replace(GOOD, budget_usd=0.01, budget_tokens=10**12, run_budget_usd=10**6), actor=BY)
    assert (fine.budget_usd, fine.run_budget_tokens) == (0.01, None)


def test_one_that_is_under_way_or_over_is_refused_with_what_to_do():
    crew = world.make()
    crew.claim()
    with pytest.raises(Conflict, match=r"in progress\. Send its agent a message"):
        task_edits.change(crew.tasks[0].pk, {"title": "X"}, actor=BY)
    actions.cancel(crew.tasks[0].pk, actor=BY)
    with pytest.raises(Conflict, match="Reopen it"):
        task_edits.change(crew.tasks[0].pk, {"title": "X"}, actor=BY)


def test_a_new_task_needs_criteria_and_starts_as_soon_as_somebody_is_free():
    crew = world.make()
    with pytest.raises(Invalid, match="at least one acceptance criterion"):
        actions.add_task(crew.team.pk, Draft("More"), actor=BY)
    with pytest.raises(Invalid, match="no type of task"):
        actions.add_task(crew.team.pk, Draft("More", criteria=("A",), type="magic"), actor=BY)
    assert Run.objects.filter(task=actions.add_task(crew.team.pk, GOOD, actor=BY)).exists()


def test_the_reviewer_of_task_design_says_what_could_be_written_better():
    found = {one.code.value for one in drafts.findings(Draft("Fix things", criteria=("It works well",)))}
    assert {"vague_title", "no_description", "untestable"} <= found


def test_a_task_that_joins_a_team_is_read_beside_the_unfinished_ones():
    crew = world.make(titles=("Build", "Ship"))
    first, done = crew.tasks[0], crew.tasks[1]
    Task.objects.filter(pk__in=[first.pk, done.pk]).update(description="Change billing/page.py.")
    Task.objects.filter(pk=done.pk).update(status="completed", completed_at=timezone.now())
    new = Draft("Show the total", "Show it in billing/page.py.", ("GET /page shows 3.00",))
    (found,) = drafts.findings(new, team_id=crew.team.pk)
    assert (found.code.value, found.path) == ("hidden_dependency", "depends_on")
    assert f"as “{first.label}” does" in found.says
    assert drafts.findings(replace(new, depends_on=(first.pk,)), team_id=crew.team.pk) == ()
    made = actions.add_task(crew.team.pk, new, actor=BY)
    assert len(drafts.findings(new, task_id=made.pk)) == 1
    Dependency.objects.create(task=first, needs=made)
    assert drafts.findings(new, task_id=made.pk) == ()
