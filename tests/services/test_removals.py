"""A deleted team leaves no row in any table and no folder that was made for it; everything of others stays."""

import pytest

from tasks_app.domain.errors import Conflict, Invalid
from tasks_app.models import ContextEntry, Run, Team, TranscriptEntry
from tasks_app.services import blobs, removals, team_tables, workspaces
from tests import factories as make
from tests.services import asking, world

pytestmark = pytest.mark.django_db
LEAD = "user:lead"


def rows(team_pk):
    """How many rows of each table belong to a team."""
    return {table.name: table.model.objects.filter(**{table.of: team_pk}).count() for table in team_tables.TABLES}


def full_team():
    """A stopped team with something in most of its tables."""
    crew = world.make(titles=("One", "Two"), agents=2)
    held, _ = asking.opened(crew)
    make.StepFactory(run_id=held.id, seq=1)
    make.MessageFactory(team=crew.team, sender=crew.agents[0], recipient=crew.agents[1])
    make.TaskRuleFactory(task=crew.tasks[0])
    make.ContextEntryFactory(team=crew.team)
    ContextEntry.objects.filter(team=crew.team).update(blob=blobs.keep(crew.team.pk, b"large"))
    session = f"session-{crew.team.pk}"
    type(crew.agents[0]).objects.filter(pk=crew.agents[0].pk).update(session_id=session)
    TranscriptEntry.objects.create(project_key="p", session_id=session, uuid="u", entry="{}", mtime_ms=1)
    return crew, held


def ended(held):
    """Its attempt is over."""
    Run.objects.filter(pk=held.id).update(status="killed", reason="stopped")


def test_every_row_goes_and_those_of_another_team_stay():
    crew, held = full_team()
    other, _ = full_team()
    ended(held)
    before = rows(other.team.pk)
    assert before["steps"] == 1
    assert removals.delete(crew.team.pk, name=f" {crew.team.name} ", actor=LEAD) == crew.team.name
    assert not any(rows(crew.team.pk).values())
    assert rows(other.team.pk) == before
    assert [entry.session_id for entry in TranscriptEntry.objects.all()] == [f"session-{other.team.pk}"]


def test_the_folder_that_was_made_for_it_goes_and_one_used_in_place_stays(settings, tmp_path):
    settings.HOME = tmp_path / "home"
    mine = tmp_path / "mine"
    mine.mkdir()
    for slug, folder in (("made", workspaces.root("made") / "work"), ("placed", mine)):
        workspaces.root(slug).mkdir(parents=True)
        folder.mkdir(exist_ok=True)
        (folder / "a.txt").write_text("a")
        team = make.TeamFactory(slug=slug, workspace=str(folder))
        removals.delete(team.pk, name=slug, actor=LEAD)
        assert not workspaces.root(slug).exists()
    assert (mine / "a.txt").read_text() == "a"


@pytest.mark.parametrize("name", ["", "billing", "x"])
def test_another_name_deletes_nothing(name):
    crew, held = full_team()
    ended(held)
    with pytest.raises(Invalid) as refused:
        removals.delete(crew.team.pk, name=name, actor=LEAD)
    assert refused.value.field == "name"
    assert Team.objects.filter(pk=crew.team.pk).exists()


def test_a_team_in_which_an_attempt_is_open_is_refused_and_names_it():
    crew, _ = full_team()
    with pytest.raises(Conflict, match=r"^builder-1 has an open attempt at T-1\. Stop the team first\.$"):
        removals.delete(crew.team.pk, name=crew.team.name, actor=LEAD)
    assert rows(crew.team.pk)["runs"] == 1
