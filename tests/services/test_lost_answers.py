"""A commit is done and its answer is lost, or a worker dies at once after it: what comes next goes by what is stored."""

from contextlib import contextmanager, nullcontext
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from django.utils import timezone

from tasks_app.management import lead, scripted
from tasks_app.models import Backup, Decision, Event, Team
from tasks_app.services import backups, checkpoints, decisions, oncall, removals, rewinds, workspaces
from tests.services import world
from tests.services.forking import tried

pytestmark = pytest.mark.django_db
AWAY = OperationalError("the answer of the commit was lost")


@pytest.fixture
def crew() -> world.World:
    return world.make()


def test_the_last_try_to_tell_on_call_is_made_again_once_where_nothing_was_heard_of_it(crew: world.World) -> None:
    held = crew.claim()
    decision = decisions.open_for_run(held.id, held.fence, world.ask())
    Decision.objects.update(opened_at=timezone.now() - timedelta(hours=1), notify_tries=oncall.TRIES - 1)
    numbers = []
    for _ in range(3):
        if notice := oncall.claim(after_min=1, origin=""):
            numbers.append(notice.number)
        Decision.objects.exclude(notify_next_at=None).update(notify_next_at=timezone.now() - timedelta(seconds=1))
    assert numbers == [oncall.TRIES, oncall.TRIES + 1]
    Decision.objects.update(notify_tries=oncall.TRIES - 1, notify_next_at=None)
    last = oncall.claim(after_min=1, origin="")
    assert last is not None
    oncall.failed(last, why="no answer")
    decision.refresh_from_db()
    assert decision.notify_next_at is None, "no other try is announced"
    assert oncall.claim(after_min=1, origin="") is None


def test_a_backup_that_nobody_knows_to_have_begun_is_taken_in_the_same_interval(
    crew: world.World, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.BACKUP_HOURS = 24
    monkeypatch.setattr(backups, "_take", lambda record: record)
    with monkeypatch.context() as broken:
        broken.setattr(backups.transaction, "atomic", nullcontext)
        begin = backups._begin

        def begun(slot: int) -> None:
            begin(slot)
            raise AWAY

        broken.setattr(backups, "_begin", begun)
        with pytest.raises(OperationalError):
            backups.take_if_due()
    assert backups.take_if_due() is None, "it may be under way"
    Backup.objects.update(started_at=timezone.now() - backups.LONGEST - timedelta(seconds=1))
    again = backups.take_if_due()
    assert again is not None
    assert Backup.objects.exclude(pk=again.pk).get().error == backups.CUT_OFF


@pytest.mark.parametrize("broken", [True, False])
def test_a_checkpoint_that_breaks_the_transaction_of_its_caller_is_no_checkpoint_that_only_failed(
    crew: world.World, monkeypatch: pytest.MonkeyPatch, broken: bool
) -> None:
    """The caller would believe that all is stored; where only the checkpoint failed, it is."""

    def fail(*_: Any, **__: Any) -> None:
        raise OperationalError("the connection broke")

    def no_way_back(_: str) -> None:
        raise OperationalError("the connection broke")

    with monkeypatch.context() as away:
        away.setattr(checkpoints.reading, "capture", fail)
        if broken:
            away.setattr(connection, "_savepoint_rollback", no_way_back)
        with transaction.atomic(), pytest.raises(OperationalError) if broken else nullcontext():
            Team.objects.update(goal="Stored.")
            found = checkpoints.at_boundary(crew.team.pk, name="done")
            assert found is None
            transaction.set_rollback(False)
    if not broken:
        assert Team.objects.get().goal == "Stored."


def test_the_folder_of_a_team_that_was_deleted_goes_though_nobody_heard_that_it_was(
    crew: world.World, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def atomic() -> Any:
        with transaction.atomic():
            yield
        raise AWAY

    workspaces.claim(crew.team.slug)
    monkeypatch.setattr(removals, "transaction", SimpleNamespace(atomic=atomic, on_commit=transaction.on_commit))
    with pytest.raises(OperationalError):
        removals.delete(crew.team.pk, name=crew.team.slug, actor="user:ada")
    assert not Team.objects.exists()
    assert crew.team.slug not in workspaces.taken()


@pytest.mark.files
def test_a_rewind_that_is_sent_again_leaves_the_first_to_be_undone(tmp_path: Path) -> None:
    one = tried(tmp_path / "work")
    (one.folder / "a.txt").write_text("by hand")
    for _ in range(2):
        rewinds.rewind(one.run.pk, at=1, actor="user:ada")
    assert Event.objects.filter(kind="files.rewound").count() == 1
    rewinds.undo(one.crew.team.pk, actor="user:ada")
    assert (one.folder / "a.txt").read_text() == "by hand"


def test_the_answer_of_a_scripted_lead_is_given_when_the_database_is_back(
    crew: world.World, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = crew.claim()
    decision = decisions.open_for_run(held.id, held.fence, world.ask())
    monkeypatch.setattr(lead, "reply", lambda *_, **__: SimpleNamespace(after_s=0, choice="allow", note="", data=None))
    person = scripted.ScriptedLead(None, crew.team.pk, print, lambda: 1.0)  # type: ignore[arg-type]
    person.look()
    with monkeypatch.context() as away:
        away.setattr(scripted.actions, "answer", lambda *_, **__: (_ for _ in ()).throw(AWAY))
        with pytest.raises(OperationalError):
            person.act()
    assert person.busy
    person.act()
    decision.refresh_from_db()
    assert (decision.status, person.busy) == ("answered", False)
