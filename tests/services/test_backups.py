"""Backups: kept only when they could be restored, made once in each interval, never more than were asked for."""

import os
import stat
import zipfile

import pytest
from fsspec.implementations.local import LocalFileSystem

from tasks_app import checks
from tasks_app.domain.errors import Invalid, NotFound
from tasks_app.models import Backup, Team
from tasks_app.services import backups, workspaces
from tests.services import world
from tests.services.team_files import full

pytestmark = [pytest.mark.django_db, pytest.mark.files]


@pytest.fixture(autouse=True)
def home(tmp_path, settings):
    settings.HOME = tmp_path / "home"
    settings.HOME.mkdir(mode=0o700)
    settings.BACKUP_URL = f"file://{tmp_path}/kept"
    return settings


@pytest.fixture
def crew(tmp_path):
    work = tmp_path / "project"
    work.mkdir()
    (work / "a.py").write_text("a = 1\n")
    return full(workspace=str(work), name="Atlas", slug="atlas")


def test_a_backup_is_restored_on_trial_before_it_is_kept_and_can_be_restored(crew, tmp_path):
    made = backups.take()
    assert (made.error, made.teams, made.verified) == ("", 1, True)
    assert backups.names() == [made.name] == os.listdir(tmp_path / "kept")
    Team.objects.all().delete()
    workspaces.remove("atlas")
    back, stayed = backups.restore(made.name, user_id=None, actor="user:lead")
    assert ([t.name for t in back], stayed) == (["Atlas"], [])
    again, stayed = backups.restore(made.name, user_id=None, actor="user:lead")
    assert (again, len(stayed)) == ([], 1), "a team that is here stays as it is"


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o377])
def test_whatever_the_umask_only_its_user_reads_a_backup(crew, tmp_path, monkeypatch, umask):
    monkeypatch.setattr(backups, "try_out", lambda local: [])
    seen = []
    move = LocalFileSystem.mv
    monkeypatch.setattr(LocalFileSystem, "mv", lambda files, part, *rest: seen.append(mode(part)) or move(files, part, *rest))
    before = os.umask(umask)
    try:
        made = backups.take()
    finally:
        os.umask(before)
    assert made.error == ""
    assert (mode(tmp_path / "kept"), mode(tmp_path / "kept" / made.name), seen) == (0o700, 0o600, [0o600])


def test_backups_of_an_older_version_are_closed_and_a_folder_that_was_there_stays_as_its_owner_wants_it(
    crew, tmp_path, monkeypatch
):
    monkeypatch.setattr(backups, "try_out", lambda local: [])
    kept = tmp_path / "kept"
    kept.mkdir()
    kept.chmod(0o750)
    for name in ("crewdesk-20260101T000000Z-abcd.zip", "theirs.zip"):
        (kept / name).write_bytes(b"PK")
        (kept / name).chmod(0o644)
    assert backups.take().error == ""
    assert mode(kept) == 0o750
    assert mode(kept / "crewdesk-20260101T000000Z-abcd.zip") == 0o600
    assert mode(kept / "theirs.zip") == 0o644


def test_a_share_with_modes_of_its_own_takes_backups(crew, monkeypatch):
    def refuse(*args, **words):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(backups, "try_out", lambda local: [])
    monkeypatch.setattr(os, "chmod", refuse)
    monkeypatch.setattr(os, "fchmod", refuse)
    made = [backups.take() for _ in range(2)]
    assert [one.error for one in made] == ["", ""]
    assert set(backups.names()) == {one.name for one in made}


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def test_what_could_not_be_restored_is_not_kept_and_says_so(crew, monkeypatch):
    def fails(local):
        raise Invalid("It did not come back.")

    monkeypatch.setattr(backups, "try_out", fails)
    made = backups.take()
    assert (made.verified, made.error, backups.names()) == (False, "It did not come back.", [])


def test_only_so_many_are_kept(settings, monkeypatch):
    settings.BACKUP_URL, settings.BACKUP_KEEP = "memory://kept", 2
    monkeypatch.setattr(backups, "try_out", lambda local: [])
    made = [backups.take().name for _ in range(4)]
    assert len(backups.names()) == 2
    assert set(backups.names()) <= set(made)


@pytest.mark.django_db(transaction=True)
def test_of_workers_that_find_it_due_at_once_one_makes_it(monkeypatch):
    monkeypatch.setattr(backups, "try_out", lambda local: [])
    found = world.at_once(4, lambda n: backups.take_if_due())
    assert sum(isinstance(one, Backup) for one in found) == 1
    assert found.count(None) == 3
    assert backups.take_if_due() is None


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("", "Set CREWDESK_BACKUP_URL"),
        ("/var/backups", "is no address"),
        ("nonsense://x", "fsspec does not know"),
        ("gcs://bucket", "driver is not installed"),
        ("file:///proc/nobody/may", "Check address, rights and keys"),
    ],
)
def test_a_wrong_place_is_said_with_the_setting_and_what_to_do(settings, url, says):
    settings.BACKUP_URL = url
    made = backups.take()
    assert says in made.error
    assert "CREWDESK_BACKUP_URL" in made.error


def test_a_wrong_place_has_a_code(settings):
    settings.BACKUP_URL = "nonsense://x"
    assert [str(message.id) for message in checks.crewdesk(None)] == ["crewdesk.E009"]


def test_a_damaged_backup_is_found_out_and_an_unknown_one_is_not_there(crew, tmp_path):
    name = backups.take().name
    with zipfile.ZipFile(tmp_path / "kept" / name, "a") as archive:
        archive.writestr("backup.json", '{"teams": {"atlas.zip": "00"}}')
    with backups.fetched(name) as local, pytest.raises(Invalid, match="damaged"):
        backups.try_out(local)
    (tmp_path / "kept" / name).write_bytes(b"PK")
    with backups.fetched(name) as local, pytest.raises(Invalid, match="no backup"):
        backups.try_out(local)
    with pytest.raises(NotFound), backups.fetched("../../etc/passwd"):
        pass
