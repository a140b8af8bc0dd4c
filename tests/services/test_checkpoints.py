"""Checkpoints: saved by people, agents and at boundaries; the newest automatic ones are kept, with the values they hold."""

import pytest

from tasks_app.domain.errors import Invalid, NotFound
from tasks_app.models import Checkpoint, ContextBlob
from tasks_app.services import actions, checkpoints, context, restores
from tasks_app.services.context import Writer
from tests.services import world

ADA = Writer("agent:builder-1")
LEAD = "user:lead"


@pytest.fixture
def crew(tmp_path, settings):
    settings.HOME = tmp_path / "home"
    made = world.make(slug="atlas")
    world.workspace(made.team, tmp_path / "work")
    return made


@pytest.mark.django_db(transaction=True)
def test_automatic_checkpoints_come_at_boundaries_are_apart_and_only_the_newest_are_kept(crew, monkeypatch):
    assert checkpoints.at_boundary(crew.team.pk, name="one") is not None
    context.share(crew.team.pk, name="x", value=1, by=ADA)
    assert checkpoints.at_boundary(crew.team.pk, name="too soon") is None
    actions.pause_team(crew.team.pk, actor=LEAD)
    assert list(Checkpoint.objects.order_by("at").values_list("name", flat=True)) == ["one", "paused by the lead"]
    assert checkpoints.at_boundary(crew.team.pk, name="nothing new", always=True) is None
    mine = checkpoints.save(crew.team.pk, name="mine", by=LEAD)
    monkeypatch.setattr(checkpoints, "KEPT", 2)
    context.share(crew.team.pk, name="log", value="x" * 50_000, by=ADA)
    for n in range(4):
        checkpoints.save(crew.team.pk, name=f"auto {n}", by="system", automatic=True)
        context.share(crew.team.pk, name="log", value=f"{n}" * 50_000, by=ADA)
    assert list(Checkpoint.objects.order_by("at").values_list("name", flat=True)) == ["mine", "auto 2", "auto 3"]
    context.delete(crew.team.pk, name="log", by=ADA)
    assert ContextBlob.objects.count() == 2
    checkpoints.delete(crew.team.pk, mine.pk, actor=LEAD)
    for row in Checkpoint.objects.all():
        checkpoints.delete(crew.team.pk, row.pk, actor=LEAD)
    assert ContextBlob.objects.count() == 0


@pytest.mark.django_db
def test_a_checkpoint_of_one_team_is_not_found_from_another(crew):
    saved = checkpoints.save(crew.team.pk, name="start", by=LEAD)
    other = world.make()
    with pytest.raises(NotFound):
        restores.preview(other.team.pk, saved.pk)
    with pytest.raises(Invalid, match="needs a name"):
        checkpoints.save(crew.team.pk, name=" ", by=LEAD)
