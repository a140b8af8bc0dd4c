"""A dependency whose task is gone: it cannot be deleted from under those who wait, and what was cancelled is said everywhere."""

import json
import re

import pytest
from django.db.models import RestrictedError
from django.urls import reverse

from tasks_app.domain.errors import Invalid
from tasks_app.management import prepare
from tasks_app.models import Dependency, Task, Team
from tasks_app.selectors.tasks import of_teams
from tasks_app.services import actions, checkpoints, removals, restores, scheduling, task_edits, tasks
from tests.dashboard.conftest import html_of, words_of
from tests.management.commands import run, run_json
from tests.services import team_files, world
from tests.tools.calls import bad, caller

pytestmark = pytest.mark.django_db
ME = "user:lead"
PLAN = """\
team: Billing
agents:
  - {name: ada, role: backend}
tasks:
  - {key: page, title: Page, criteria: [It shows.]}
  - {key: test, title: Test, criteria: [They pass.], depends_on: [page, schema]}
"""
NOT_THERE = 'There is no task "schema".'


@pytest.fixture
def crew(tmp_path, settings):
    settings.HOME = tmp_path / "home"
    made = world.make(titles=("Schema", "API", "Docs"), chain=True, slug="atlas", name="Atlas")
    world.workspace(made.team, tmp_path / "work")
    return made


def page(browser, task):
    return re.sub(r" ([,.])", r"\1", words_of(browser.get(reverse("task", args=[task.pk]))))


# -- one task is never deleted


def test_no_way_in_deletes_a_task(crew, anna):
    browser, me = anna(crew), caller(crew)
    before = world.frozen(crew.team)
    assert "Only the lead removes tasks" in bad(me, "TaskUpdate", taskId="T-1", status="deleted")
    assert browser.delete(f"/api/tasks/{crew.tasks[0].pk}").status_code in (404, 405)
    assert browser.post(reverse("task-action", args=[crew.tasks[0].pk]), {"do": "delete"}).status_code >= 400
    with pytest.raises(Exception, match="unrecognized arguments: --delete"):
        run("task", "atlas", "T-1", "--delete")
    assert world.frozen(crew.team) == before


def test_a_row_that_others_wait_for_cannot_be_removed_and_a_team_goes_whole(crew):
    with pytest.raises(RestrictedError):
        Task.objects.get(pk=crew.tasks[0].pk).delete()
    assert [task.label for task in tasks.open_blockers(crew.tasks[1].pk)] == ["T-1"]
    removals.delete(crew.team.pk, name="Atlas", actor=ME)
    assert (Task.objects.count(), Dependency.objects.count()) == (0, 0)


# -- a task that was cancelled


def test_what_waits_for_a_cancelled_task_says_so_everywhere_and_a_way_out_frees_it(crew, anna):
    actions.cancel(crew.tasks[0].pk, why="not needed", actor=ME)
    scheduling.tick(crew.team.pk)
    assert not crew.task(1).runs.exists()
    browser = anna(crew)
    assert "Blocked by T-1 Schema, which was cancelled. It will not start by waiting." in page(browser, crew.tasks[1])
    assert "can never start: T-1 was cancelled" in page(browser, crew.tasks[2])
    team = reverse("team", args=["atlas"])
    assert "T-1, which was cancelled" in words_of(browser.get(team)).replace(" ,", ",")
    graph = html_of(browser.get(f"{team}?view=graph"))
    for task, state in ((0, "Cancelled"), (1, "Blocked"), (2, "Blocked")):
        node = graph.split(f'id="node-{crew.tasks[task].pk}"')[1].split("</article>")[0]
        assert state in node
    assert graph.count("<path d=") == 2, "both lines are still drawn"
    listed = {one["id"]: one for one in browser.get("/api/teams/atlas").json()["tasks"]}
    assert listed["T-2"]["state"] == "blocked"
    assert "T-1" in str(listed["T-2"]["blocked_by"])
    _, status = run_json("team", "status", "atlas")
    assert "cancelled" in next(one["reason"] for one in status["tasks"] if one["id"] == "T-2").lower()

    assert (
        browser.post(reverse("task-action", args=[crew.tasks[1].pk]), {"do": "unblock", "needs": crew.tasks[0].pk}).status_code
        == 302
    )
    assert crew.task(1).runs.exists(), "it starts at once"


# -- plans, files, checkpoints


def test_a_plan_that_names_a_task_it_has_not_is_refused_with_its_line(crew, anna, tmp_path, monkeypatch):
    monkeypatch.setattr(prepare, "everything", lambda: None)  # the test's database is prepared, and stays open
    (tmp_path / "plan.yaml").write_text(PLAN)
    code, out, err = run("team", "check", str(tmp_path / "plan.yaml"))
    assert (code, NOT_THERE in err + out, "6" in err + out) == (2, True, True)
    browser = anna(crew)
    answer = browser.post(reverse("team-create"), {"plan": PLAN, "base": str(tmp_path), "rehearsal": "1", "do": "check"})
    assert answer.status_code == 422
    assert "schema" in words_of(answer)
    assert Team.objects.count() == 1


def test_a_file_whose_dependency_leads_to_no_task_is_refused_whole(crew):
    def point_elsewhere(members):
        name = "rows/dependencies.jsonl"
        found = [json.loads(line) for line in members[name].splitlines()]
        found[0]["needs_id"] = 99
        members[name] = b"".join(json.dumps(row).encode() + b"\n" for row in found)

    file = team_files.changed(team_files.export(crew.team), point_elsewhere)
    before = (Team.objects.count(), Task.objects.count())
    with pytest.raises(Invalid, match=r"line 1: rows/dependencies.jsonl: needs_id: It names no row of tasks"):
        team_files.load(file, "Copy")
    assert (Team.objects.count(), Task.objects.count()) == before


@pytest.mark.files
@pytest.mark.django_db(transaction=True)
def test_a_checkpoint_that_holds_a_task_which_is_gone_is_refused_whole(crew):
    saved = checkpoints.save(crew.team.pk, name="here", by=ME)
    Task.objects.get(pk=crew.tasks[2].pk).delete()  # by hand, in the database: nobody waits for it
    before = world.frozen(crew.team)
    for act in (restores.preview, lambda *given: restores.restore(*given, seen=before["seq"], actor=ME)):
        with pytest.raises(Invalid, match=r"holds T-3, which the team does not have\. Nothing was changed"):
            act(crew.team.pk, saved.pk)
    assert world.frozen(crew.team) == before


@pytest.mark.files
@pytest.mark.django_db(transaction=True)
def test_a_restore_leaves_dependencies_alone_and_says_what_waits_for_a_task_made_since(crew):
    saved = checkpoints.save(crew.team.pk, name="here", by=ME)
    late = tasks.create(crew.team.pk, tasks.Draft(title="Late", criteria=("x",)), actor=ME)
    task_edits.add_dependencies(crew.tasks[0].pk, needs=[late.pk], actor=ME)
    task_edits.remove_dependency(crew.tasks[1].pk, needs=crew.tasks[0].pk, actor=ME)
    restores.restore(crew.team.pk, saved.pk, seen=Team.objects.get().last_seq, actor=ME)
    cards = {card.number: card for card in of_teams([crew.team.pk])[crew.team.pk]}
    assert cards[4].state == "cancelled", "made since"
    assert cards[1].state == "blocked"
    assert tasks.open_blockers(crew.tasks[1].pk) == [], "what was taken away stays away"
    code, out, _ = run("task", "atlas", "T-1")
    assert (code, "T-4" in out, "cancelled" in out) == (0, True, True)
