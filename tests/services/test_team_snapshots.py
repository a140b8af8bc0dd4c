"""What names a snapshot goes to git: nothing but the id of a commit is taken, from no row and from no file."""

import pytest

from tasks_app.domain.commit_ids import commit_id, is_commit_id
from tasks_app.domain.errors import Conflict, Invalid
from tasks_app.models import Event, Run, Step, Team
from tasks_app.services import differences, pruning, restores, snapshots, team_snapshots, team_tables, workspaces
from tests import factories as make
from tests.services.team_files import changed, export, full, load
from tests.services.test_team_import import edit

pytestmark = [pytest.mark.django_db, pytest.mark.files]
ID = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def crew(tmp_path, settings):
    settings.HOME = tmp_path / "home"
    settings.HOME.mkdir(mode=0o700)
    work = tmp_path / "project"
    work.mkdir()
    (work / "a.py").write_text("a = 1\n")
    crew = full(workspace=str(work), name="Atlas", slug="atlas")
    make.StepFactory(run=Run.objects.get(), kind="prompt", data={"files": ID})
    Event.objects.filter(seq=1).update(kind="files.rewound", data={"before": ID, "to": ID})
    return crew


def options(tmp_path):
    return (
        f"--output={tmp_path}/written",
        "-x",
        "HEAD",
        "main",
        "a..b",
        "0123456",
        ID.upper(),
        f"{ID}\n",
        f" {ID}",
        f"{ID}0",
        ID + "^",
    )


@pytest.mark.parametrize("value", ["", None, 7, [ID], ID[:-1], ID.upper(), f"{ID}\n", f"-{ID[1:]}", "--output=/etc/x"])
def test_nothing_else_is_an_id(value):
    assert not is_commit_id(value)


def test_an_id_is_one_in_either_length():
    assert [commit_id(ID), commit_id("a" * 64)] == [ID, "a" * 64]


def test_git_is_given_no_other_word(crew, tmp_path, monkeypatch):
    slug, work = "atlas", crew.team.workspace
    good = snapshots.take(slug, work)
    for bad in options(tmp_path):
        for act in (
            lambda bad: snapshots.restore(slug, work, bad, ["a.py"]),
            lambda bad: snapshots.tree(slug, bad),
            lambda bad: snapshots.changed(slug, bad, good),
            lambda bad: snapshots.changed(slug, good, bad),
            lambda bad: snapshots.changes(slug, work, bad),
            lambda bad: snapshots.mixed(slug, bad, good, work, ["a.py"]),
            lambda bad: snapshots.mixed(slug, good, bad, work, ["a.py"]),
            lambda bad: snapshots.rewind(slug, work, good, bad),
            lambda bad: snapshots.put_back(slug, work, due=lambda: bad, done=print),
            lambda bad: differences.diff(slug, bad, good),
            lambda bad: differences.diff(slug, good, bad),
            lambda bad: differences.differing(slug, good, bad),
        ):
            with pytest.raises(Conflict):
                act(bad)
        assert not snapshots.holds(slug, bad)
    assert not (tmp_path / "written").exists()


def test_what_a_row_owes_that_is_no_snapshot_is_never_given_to_git(crew, tmp_path):
    Team.objects.update(workspace_due=f"--output={tmp_path}/w"[:64])
    with pytest.raises(Conflict):
        restores.finish(crew.team.pk)
    assert restores.finish_due() == 1, "the others are not kept from theirs"


@pytest.mark.parametrize(
    ("table", "place", "values", "says"),
    [
        ("team", 0, {"workspace_due": "--output=/etc/x"}, "line 1: rows/team.jsonl: workspace_due"),
        ("runs", 0, {"workspace_commit": "-x"}, "line 1: rows/runs.jsonl: workspace_commit"),
        ("runs", 0, {"dossier": {"workspace_end": "HEAD"}}, "line 1: rows/runs.jsonl: dossier.workspace_end"),
        ("runs", 0, {"dossier": [1]}, "line 1: rows/runs.jsonl: dossier"),
        ("steps", 2, {"data": {"files": ["x"]}}, "line 3: rows/steps.jsonl: data.files"),
        ("steps", 2, {"data": []}, "line 3: rows/steps.jsonl: data"),
        ("checkpoints", 0, {"data": {"workspace": "main"}}, "rows/checkpoints.jsonl: data.workspace"),
        ("checkpoints", 0, {"data": {"runs": [{}, {"workspace_commit": 7}]}}, "data.runs[1].workspace_commit"),
        ("checkpoints", 0, {"data": {"runs": [7]}}, "rows/checkpoints.jsonl: data.runs[0]"),
        ("checkpoints", 0, {"data": {"runs": "x"}}, "rows/checkpoints.jsonl: data.runs[0]"),
        ("checkpoints", 0, {"data": "x"}, "rows/checkpoints.jsonl: data"),
        ("events", 0, {"data": {"before": "--all", "to": ID}}, "line 1: rows/events.jsonl: data.before"),
        ("events", 0, {"data": {"before": ID, "to": "@"}}, "line 1: rows/events.jsonl: data.to"),
    ],
)
def test_a_file_that_names_no_commit_is_refused_with_the_place(crew, table, place, values, says):
    file = changed(export(crew.team), edit(table, place, **values))
    with pytest.raises(Invalid) as refused:
        load(file, "Copy")
    assert says in refused.value.message
    assert (refused.value.field, Team.objects.count()) == ("file", 1)
    assert not workspaces.root("copy").exists()


def test_the_same_file_with_ids_is_taken_and_pruned(crew):
    team = load(export(crew.team), "Copy")
    assert Step.objects.get(run__team=team, kind="prompt").data["files"] == ID
    assert list(pruning._named(team.pk)).count(ID) == 3


def test_every_place_of_a_row_that_pruning_spares_is_looked_at(crew):
    """`pruning` knows what names a snapshot; a table that it reads is one that is read here."""
    assert set(team_snapshots.FIND) == {"team", "runs", "steps", "events", "checkpoints"}
    assert set(team_snapshots.FIND) <= {table.name for table in team_tables.ALL}
