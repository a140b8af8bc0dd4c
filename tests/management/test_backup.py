"""`manage.py backup`, and the workers that make backups by themselves."""

import asyncio
import datetime as dt
import logging
import threading

import pytest

from tasks_app.domain.errors import Invalid
from tasks_app.execution import backing
from tasks_app.management.commands import backup as command
from tasks_app.models import Backup, Team
from tasks_app.services import backups, checkpoints, workspaces
from tests.management.commands import run, run_json
from tests.services import world
from tests.services.team_files import full

pytestmark = [pytest.mark.django_db, pytest.mark.files]


@pytest.fixture(autouse=True)
def kept(tmp_path, settings, monkeypatch):
    settings.HOME = tmp_path / "home"
    settings.HOME.mkdir(mode=0o700)
    settings.BACKUP_URL = f"file://{tmp_path}/kept"
    monkeypatch.setattr(command.prepare, "everything", lambda: None)
    return tmp_path / "kept"


def test_one_is_made_listed_verified_and_restored(tmp_path):
    full(name="Atlas", slug="atlas", workspace=str(tmp_path / "none"))
    code, said, _ = run("backup", "now")
    name = said.split(":")[0]
    assert (code, said) == (0, f"{name}: 1 team, {said.split()[3]} MB, restored on trial.\n")
    assert run("backup", "list")[:2] == (0, f"{name}\n")
    assert run_json("backup", "list")[1]["tries"][0]["verified"] is True
    code, said, _ = run("backup", "verify", name)
    assert (code, said.splitlines()[-1]) == (0, f"{name} can be restored.")
    assert said.startswith("Atlas: 2 tasks, 1 attempt, ")
    assert run("backup", "restore", name)[1].startswith("Left out: There is a team “Atlas” already.")
    Team.objects.all().delete()
    workspaces.remove("atlas")
    assert run_json("backup", "restore", name) == (0, {"restored": ["atlas"], "refused": []})


def test_teams_whose_addresses_are_not_those_of_their_names_are_backed_up_too(tmp_path):
    """A checkpoint names the address of its team: on trial it must be the same."""
    for name, slug in (("Atlas!", "atlas-2"), ("Atlas", "atlas"), ("Beta", "beta-2")):
        crew = world.make(name=name, slug=slug, workspace=str(tmp_path / "none"))
        checkpoints.save(crew.team.pk, name="before", by="user:ada")
    code, said, err = run("backup", "now")
    assert (code, "3 teams" in said) == (0, True), err


def test_a_store_that_does_not_take_it_is_said_and_nothing_is_left_there(kept, tmp_path):
    kept.write_text("a file where the folder should be")
    code, _, err = run("backup", "now")
    assert (code, "No backup was made: The place of CREWDESK_BACKUP_URL" in err) == (1, True)
    assert Backup.objects.get().error.startswith("The place of CREWDESK_BACKUP_URL does not take or give files")
    assert kept.read_text() == "a file where the folder should be"
    assert [path.name for path in tmp_path.iterdir() if "part" in path.name] == []


def test_a_team_that_is_here_already_is_brought_back_under_another_name(tmp_path):
    """M8"""
    full(name="Atlas", slug="atlas", workspace=str(tmp_path / "none"))
    name = run("backup", "now")[1].split(":")[0]
    said = run("backup", "restore", name)[1]
    command = said.splitlines()[1].strip()
    assert command == f"uv run manage.py backup restore {name} --team atlas --as NAME"
    code, said, _ = run(*command.split()[3:-1], "Atlas before")
    assert (code, said) == (0, "atlas-before is back, paused: uv run manage.py team resume atlas-before\n")
    assert set(Team.objects.values_list("name", flat=True)) == {"Atlas", "Atlas before"}
    code, _, err = run("backup", "restore", name, "--team", "other")
    assert (code, "There is no team “other” in it. There are: atlas." in err) == (2, True)
    assert run("backup", "restore", name, "--as", "X")[0] == 2


@pytest.mark.parametrize("url", ["", "nonsense://x"])
def test_what_is_refused_for_its_setting_is_no_failed_backup(settings, url):
    """M7"""
    settings.BACKUP_URL = url
    code, _, err = run("backup", "now")
    assert (code, "CREWDESK_BACKUP_URL" in err, Backup.objects.count()) == (2, True, 0)


def test_the_list_follows_time_and_ends_with_how_the_last_one_went(settings, monkeypatch):
    def fails(local):
        raise Invalid("It did not come back.")

    names = []
    for hour, try_out in enumerate((lambda local: [], fails, lambda local: [])):
        monkeypatch.setattr(backups, "try_out", try_out)
        monkeypatch.setattr(backups.clock, "now", lambda hour=hour: dt.datetime(2026, 12, 1, hour, 30, tzinfo=dt.UTC))
        names.append(backups.take().name)
    assert run("backup", "list")[1] == f"{names[0]}\n2026-12-01 01:30 UTC failed: It did not come back.\n{names[2]}\n"
    assert run_json("backup", "list")[1]["backups"] == [names[2], names[0]]


def test_without_a_place_or_with_an_unknown_name_it_says_what_to_do(settings):
    assert "There is no backup yet" in run("backup", "list")[1]
    assert run_json("backup", "verify", "crewdesk-none.zip")[0] == 2
    settings.BACKUP_URL = ""
    code, said = run_json("backup", "list")
    assert (code, said["error"]["field"]) == (2, "CREWDESK_BACKUP_URL")


def test_a_worker_makes_one_in_each_interval_and_goes_on_after_a_failure(monkeypatch, caplog):
    tries, third = [], threading.Event()

    def due():
        tries.append(len(tries))
        if len(tries) == 3:
            third.set()
        if len(tries) == 1:
            raise RuntimeError("the database went away")
        return Backup(name="b.zip", error="No space left." if len(tries) == 2 else "")

    monkeypatch.setattr(backups, "take_if_due", due)

    async def look():
        task = asyncio.create_task(backing.look_after(every_s=0.01))
        try:
            assert await asyncio.to_thread(third.wait, 10)
        finally:
            task.cancel()

    with caplog.at_level(logging.ERROR):
        asyncio.run(look())
    said = [record.getMessage() for record in caplog.records]
    assert said[:2] == ["a backup could not be begun; trying again later", "the backup b.zip failed: No space left."]


def test_a_worker_without_a_place_does_not_look(settings, monkeypatch):
    settings.BACKUP_URL = ""
    monkeypatch.setattr(backups, "take_if_due", lambda: pytest.fail("looked"))
    asyncio.run(asyncio.wait_for(backing.look_after(every_s=0), 5))
