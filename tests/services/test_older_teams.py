"""What a version before this one left in a team: it stops no backup and no import, and decides nothing."""

import pytest

from tasks_app.domain.errors import Invalid
from tasks_app.models import Event, Task
from tasks_app.selectors import journal, sentences
from tasks_app.services import backups, task_edits
from tests.services.team_files import changed, edit, export, full, load, rows

pytestmark = [pytest.mark.django_db, pytest.mark.files]
ODD = {"review": "wanted by ann", "split_of": "T-1", "split_depth": -50}


@pytest.fixture(autouse=True)
def home(tmp_path, settings):
    settings.HOME = tmp_path / "home"
    settings.HOME.mkdir(mode=0o700)
    settings.BACKUP_URL = f"file://{tmp_path}/kept"


@pytest.fixture
def crew(tmp_path):
    work = tmp_path / "project"
    work.mkdir()
    (work / "a.py").write_text("a = 1\n")
    crew = full(workspace=str(work), name="Atlas", slug="atlas")
    Task.objects.filter(pk=crew.tasks[1].pk).update(metadata={**ODD, "area": "ui"})
    return crew


def test_a_task_with_odd_marks_keeps_no_backup_from_being_made(crew):
    made = backups.take()
    assert (made.error, made.verified) == ("", True)


def test_an_import_leaves_them_out_and_says_so(crew, caplog):
    team = load(export(crew.team), "Copy")
    assert [task.metadata for task in team.tasks.order_by("number")] == [{}, {"area": "ui"}]
    assert "without metadata that Crewdesk cannot have written, of T-2" in caplog.text
    assert Event.objects.get(team=team, kind="team.imported").data["left_out"] == "T-2"
    said = sentences.text(journal.entries(team.pk, after=team.last_seq - 1)[-1])
    assert "without notes of T-2 that only Crewdesk may write" in said


def test_an_import_with_nothing_odd_says_nothing_of_it(crew, caplog):
    Task.objects.update(metadata={"area": "ui"})
    team = load(export(crew.team), "Copy")
    assert "cannot have written" not in caplog.text
    assert sentences.text(journal.entries(team.pk, after=team.last_seq - 1)[-1]).endswith("from a file; it is paused")


def test_an_odd_key_can_be_taken_away_but_not_set(crew):
    task = crew.tasks[1]
    with pytest.raises(Invalid, match="review"):
        task_edits.edit(task.pk, actor="user:ann", metadata={"review": "again"})
    task_edits.edit(task.pk, actor="user:ann", metadata=dict.fromkeys(ODD))
    task.refresh_from_db()
    assert task.metadata == {"area": "ui"}


@pytest.mark.parametrize("key", ["split_of", "split_depth"])
def test_what_crewdesk_has_written_stays(crew, key):
    marks = {"split_of": "T-1", "split_depth": 1}
    Task.objects.filter(pk=crew.tasks[1].pk).update(metadata=marks)
    with pytest.raises(Invalid, match=key):
        task_edits.edit(crew.tasks[1].pk, actor="agent:ada", metadata={key: None})
    crew.tasks[1].refresh_from_db()
    assert crew.tasks[1].metadata == marks


def test_the_log_names_tasks_as_the_copy_does_and_one_of_an_older_version_says_nothing_of_its_keys(crew):
    def made_of(file, name):
        team = load(file, name)
        return [sentences.text(one) for one in journal.entries(team.pk, after=0) if one.kind == "task.created"]

    first, second = (row for row in rows(export(crew.team), "events") if row["kind"] == "task.created")
    assert (first["data"]["waits_for"], second["data"]["waits_for"]) == ([], ["T-1"])
    assert made_of(export(crew.team), "Copy")[1].endswith("T-2 Check, to start after T-1")
    older = {"title": "Check", "depends_on": [crew.tasks[0].pk]}
    file = changed(export(crew.team), edit("events", second["seq"] - 1, data=older))
    assert made_of(file, "Older")[1].endswith("T-2 Check")
