"""Backups: every team's file in one archive, in a folder or a store that fsspec knows; kept only when it could be restored."""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import fsspec
from django.conf import settings
from django.db import IntegrityError, transaction

from tasks_app.domain.backup_place import fault
from tasks_app.domain.errors import Conflict, DomainError, Invalid, NotFound, Unavailable
from tasks_app.domain.text import mask_secrets, one_line
from tasks_app.models import Backup, Team
from tasks_app.services import clock, private_files, team_export, team_import
from tasks_app.services.team_reading import DAMAGED

NAME: Final = "crewdesk-{:%Y%m%dT%H%M%SZ}-{}.zip"
PREFIX, LIST = "crewdesk-", "backup.json"
TRIAL_S: Final = 3600
LONGEST: Final = timedelta(hours=12)
"""What has not ended for so long was cut off (its worker died, or nobody heard that it had begun) and is taken again."""
CUT_OFF = "It was cut off before it had ended, and is taken again."
BLOCK = 2**20
NOT_SET = "No place for backups is set. Set CREWDESK_BACKUP_URL, such as file:///var/backups/crewdesk or s3://bucket/crewdesk."


def must_have_a_place() -> None:
    """Raise `Invalid` where CREWDESK_BACKUP_URL is not set, or names no place."""
    url = settings.BACKUP_URL
    wrong = fault(url) if url else ""
    if wrong or not url:
        raise Invalid(f"CREWDESK_BACKUP_URL {wrong}." if wrong else NOT_SET, field="CREWDESK_BACKUP_URL")


@contextmanager
def store() -> Iterator[tuple[Any, str]]:
    """Yield the file system and the folder. Raises `Invalid` for the setting, `Unavailable` where the store does not answer."""
    must_have_a_place()
    try:
        yield fsspec.core.url_to_fs(settings.BACKUP_URL)
    except DomainError:
        raise
    except Exception as error:  # each driver has errors of its own
        reason = one_line(mask_secrets(f"{type(error).__name__}: {error}"), 160)
        words = f"The place of CREWDESK_BACKUP_URL does not take or give files ({reason}). Check address, rights and keys."
        raise Unavailable(words, field="CREWDESK_BACKUP_URL") from None


def take_if_due() -> Backup | None:
    """Take the backup of this interval unless somebody has begun it; None where there is nothing to do."""
    slot = int(clock.now_s() // (settings.BACKUP_HOURS * 3600))
    cut_off = Backup.objects.filter(slot=slot, ended_at=None, started_at__lt=clock.now() - LONGEST)
    cut_off.update(slot=None, ended_at=clock.now(), error=CUT_OFF)
    if Backup.objects.filter(slot=slot).exists():
        return None
    try:
        with transaction.atomic():
            record = _begin(slot)
    except IntegrityError:
        return None  # another worker was faster
    return _take(record)


def take() -> Backup:
    """Take a backup now. A failure is on the record that is returned."""
    return _take(_begin(None))


def _begin(slot: int | None) -> Backup:
    now = clock.now()
    return Backup.objects.create(slot=slot, name=NAME.format(now, os.urandom(2).hex()), started_at=now)


def _take(record: Backup) -> Backup:
    try:
        found = _written(record.name)
    except DomainError as error:
        found = {"error": one_line(error.message, 300)}
    except Exception as error:
        found = {"error": one_line(mask_secrets(f"{type(error).__name__}: {error}"), 300)}
    Backup.objects.filter(pk=record.pk).update(ended_at=clock.now(), **found)
    return Backup.objects.get(pk=record.pk)


def _written(name: str) -> dict[str, Any]:
    """Nothing is kept before it was restored; under its own name only when it is there as a whole."""
    with store() as (files, folder), tempfile.TemporaryDirectory(prefix="crewdesk-backup-") as scratch:
        local = Path(scratch) / name
        count = _archive(local, Path(scratch))
        try_out(local)
        private_files.make_folder(files, folder)
        part, target = f"{folder}/.{name}.part", f"{folder}/{name}"
        try:
            private_files.begin(files, part)
            files.put_file(str(local), part)
            files.mv(part, target)
        except BaseException:
            if files.exists(part):
                files.rm(part)
            raise
        _forget_old(files, folder)
        return {"teams": count, "size": local.stat().st_size, "verified": True, "error": ""}


def _archive(target: Path, scratch: Path) -> int:
    teams: dict[str, str] = {}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for pk, slug in list(Team.objects.order_by("pk").values_list("pk", "slug")):
            one = scratch / "team.zip"
            with one.open("w+b") as out:
                team_export.write(pk, out)
            with one.open("rb") as made:
                teams[f"{slug}.zip"] = hashlib.file_digest(made, "sha256").hexdigest()
            archive.write(one, f"{slug}.zip")
        archive.writestr(LIST, json.dumps({"format": "crewdesk-backup", "version": 1, "teams": teams}))
    return len(teams)


def try_out(local: Path) -> list[dict[str, Any]]:
    """Restore every team of a backup into a scratch database and compare it; returns what each has. Raises `Invalid`."""
    with tempfile.TemporaryDirectory(prefix="crewdesk-trial-") as scratch:
        files = [str(path) for path in _unpack(local, Path(scratch)).values()]
        env = {**os.environ, "CREWDESK_HOME": str(Path(scratch) / "home"), "DATABASE_URL": "", "REDIS_URL": ""}
        env["CREWDESK_BACKUP_URL"] = ""
        words = [sys.executable, "manage.py", "backup", "try", "--json", *files]
        done = subprocess.run(words, cwd=settings.BASE_DIR, env=env, capture_output=True, text=True, timeout=TRIAL_S, check=False)
        try:
            found = json.loads(done.stdout)
        except ValueError:
            found = {"error": {"message": one_line(mask_secrets(done.stderr), 200)}}
        if done.returncode or "error" in found:
            raise Invalid(f"The backup could not be restored: {found['error']['message']}", field="backup")
        return list(found["teams"])


def _unpack(local: Path, folder: Path) -> dict[str, Path]:
    """Return the file of each team, by the team's address."""
    try:
        with zipfile.ZipFile(local) as archive:
            listed = json.loads(archive.read(LIST))["teams"]
            made = {}
            for number, (name, digest) in enumerate(sorted(listed.items())):
                path = folder / f"{number}.zip"
                with archive.open(name) as member, path.open("w+b") as out:
                    while part := member.read(BLOCK):
                        out.write(part)
                    out.seek(0)
                    if hashlib.file_digest(out, "sha256").hexdigest() != digest:
                        raise Invalid(f"The backup is damaged: {name} is not what it was.", field="backup")
                made[name.removesuffix(".zip")] = path
    except (*DAMAGED, KeyError, AttributeError, TypeError):
        raise Invalid("This is no backup of Crewdesk, or a damaged one.", field="backup") from None
    return made


def _forget_old(files: Any, folder: str) -> None:
    there = sorted(_names(files, folder), reverse=True)
    private_files.close_to_others(files, (f"{folder}/{name}" for name in there))
    for name in there[settings.BACKUP_KEEP :]:
        files.rm(f"{folder}/{name}")


def _names(files: Any, folder: str) -> list[str]:
    if not files.exists(folder):
        return []
    found = (path.rstrip("/").rsplit("/", 1)[-1] for path in files.ls(folder, detail=False))
    return [name for name in found if name.startswith(PREFIX) and name.endswith(".zip")]


def names() -> list[str]:
    """Return the backups that are there, the newest first."""
    with store() as (files, folder):
        return sorted(_names(files, folder), reverse=True)


@contextmanager
def fetched(name: str) -> Iterator[Path]:
    """Yield a local copy of a backup. Raises `NotFound` that says how to see those that are there."""
    with tempfile.TemporaryDirectory(prefix="crewdesk-backup-") as scratch:
        local = Path(scratch) / "backup.zip"
        with store() as (files, folder):
            if name not in _names(files, folder):
                raise NotFound("There is no backup of that name. See: uv run manage.py backup list", field="name")
            files.get_file(f"{folder}/{name}", str(local))
        yield local


@dataclass(frozen=True)
class Stayed:
    """A team of a backup that was not brought back, by its address there, and why."""

    slug: str
    why: str


def restore(name: str, *, user_id: int | None, actor: str, team: str = "", called: str = "") -> tuple[list[Team], list[Stayed]]:
    """Bring back every team of a backup whose name is free here, paused; returns them, and which others stayed away.

    `team`: only the one of that address, under the name `called` where one is given. Raises `NotFound`.
    """
    back, stayed = [], []
    with fetched(name) as local, tempfile.TemporaryDirectory(prefix="crewdesk-restore-") as scratch:
        found = _unpack(local, Path(scratch))
        if team and team not in found:
            raise NotFound(
                f"There is no team “{one_line(team, 60)}” in it. There are: {', '.join(found) or 'none'}.", field="team"
            )
        for slug, path in found.items():
            if team not in ("", slug):
                continue
            with path.open("rb") as file:
                try:
                    back.append(team_import.load(file, name=called, user_id=user_id, actor=actor, access=True))
                except Conflict as error:
                    stayed.append(Stayed(slug, error.message))
    return back, stayed


def last() -> Backup | None:
    """Return the newest try."""
    return Backup.objects.first()


def tries() -> list[Backup]:
    """Return the newest tries, the newest first."""
    return list(Backup.objects.all()[:20])
