"""A team as one file by page and API: who may, what is refused, that nothing is half made; the last backup on the Overview."""

import asyncio
import io
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import AsyncClient
from django.urls import reverse

from tasks_app.models import Backup, Team
from tests import factories as make
from tests.dashboard.conftest import html_of, words_of
from tests.services.team_files import export, full


@pytest.fixture(autouse=True)
def home(settings, tmp_path):
    settings.HOME = tmp_path
    return tmp_path


@pytest.fixture
def file(home, lead):
    """The file of a team in the middle of its work, which is gone afterwards."""
    crew = full(name="Borealis", slug="borealis", workspace=str(home / "none"))
    found = export(crew.team)
    Team.objects.filter(pk=crew.team.pk).update(name="Elsewhere", slug="elsewhere")
    return found.getvalue()


@pytest.fixture
def admin(browser_of, db):
    return browser_of(make.UserFactory(username="root", is_superuser=True))


def upload(client, raw, name=""):
    given = {"name": name} | ({"file": SimpleUploadedFile("b.zip", raw)} if raw is not None else {})
    return client.post(reverse("team-import-file"), given)


@pytest.mark.django_db(transaction=True)
def test_a_lead_downloads_the_team_as_one_file_and_nothing_of_it_is_left(lead, team, home):
    client = AsyncClient()
    client.force_login(lead)

    async def fetched():
        answer = await client.get(reverse("team-export", args=["atlas"]))
        return answer, b"".join([block async for block in answer])

    answer, raw = asyncio.run(fetched())
    assert answer.status_code == 200
    assert int(answer["Content-Length"]) == len(raw)
    assert answer["Content-Disposition"].startswith('attachment; filename="atlas-')
    assert "manifest.json" in zipfile.ZipFile(io.BytesIO(raw)).namelist()
    assert [path for path in home.iterdir() if path.is_file()] == []


@pytest.mark.parametrize("url", ["/teams/atlas/export/", "/api/teams/atlas/export"])
def test_who_only_watches_or_sees_nothing_gets_no_file(watcher, stranger, url):
    assert (watcher.get(url).status_code, stranger.get(url).status_code) == (403, 404)


def test_the_board_offers_the_export_to_its_leads_alone(desk, watcher):
    page = reverse("team", args=["atlas"])
    assert reverse("team-export", args=["atlas"]) in html_of(desk.get(page))
    assert reverse("team-export", args=["atlas"]) not in html_of(watcher.get(page))


def test_an_administrator_brings_a_team_from_its_file_and_it_is_paused(admin, file):
    assert reverse("team-import") in html_of(admin.get(reverse("team-new")))
    answer = upload(admin, file)
    assert answer.status_code == 302, words_of(answer)
    assert answer["Location"] == reverse("team", args=["borealis"])
    assert Team.objects.get(slug="borealis").status == "paused"
    assert "Borealis is here, paused" in words_of(admin.get(answer["Location"]))


def test_the_same_by_the_api(admin, file):
    answer = admin.post("/api/teams/import", {"file": SimpleUploadedFile("b.zip", file), "name": "Second"})
    assert (answer.status_code, answer.json()) == (201, {"slug": "second", "name": "Second", "status": "paused"})
    again = admin.post("/api/teams/import", {"file": SimpleUploadedFile("b.zip", file), "name": "second"})
    assert (again.status_code, again.json()["error"]["field"]) == (409, "name")
    assert admin.post("/api/teams/import", {"name": "x"}).status_code == 422


def test_a_name_in_use_is_said_at_the_field_with_a_free_one(admin, file):
    make.TeamFactory(name="Borealis", slug="borealis")
    answer = upload(admin, file)
    assert answer.status_code == 409
    assert "Give this one another name, such as" in words_of(answer)
    assert 'id="name"' in html_of(answer)
    assert 'aria-invalid="true"' in html_of(answer)
    assert Team.objects.filter(name="Borealis").count() == 1


@pytest.mark.parametrize(
    ("raw", "says"), [(b"no zip", "no zip file"), (None, "Choose the file"), (b"", "no zip file"), ("cut", "file")]
)
def test_what_is_no_team_file_is_refused_at_the_field_and_nothing_is_made(admin, file, raw, says):
    before = Team.objects.count()
    answer = upload(admin, file[: len(file) // 2] if raw == "cut" else raw)
    assert answer.status_code == 422
    assert says in words_of(answer)
    assert 'aria-invalid="true"' in html_of(answer)
    assert Team.objects.count() == before


@pytest.mark.parametrize("url", ["/teams/import/file/", "/api/teams/import"])
def test_a_file_that_is_too_large_is_413_before_it_is_stored(admin, settings, url):
    settings.IMPORT_MB = 1
    answer = admin.post(url, {"file": SimpleUploadedFile("b.zip", b"x" * (2**20 + 1))})
    assert answer.status_code == 413


@pytest.mark.parametrize("url", ["/teams/import/file/", "/api/teams/import"])
def test_a_limit_of_gigabytes_is_said_in_whole_megabytes(admin, settings, url):
    settings.IMPORT_MB = 2048
    answer = admin.post(url, b"x", content_type="application/zip", CONTENT_LENGTH=str(3 * 2**30))
    assert (answer.status_code, "At most 2,048 MB can be sent at once." in answer.content.decode()) == (413, True)
    assert "At most 2,048 MB. It is looked at whole" in words_of(admin.get("/teams/import/"))


def test_other_forms_take_no_large_files(desk):
    answer = desk.post(reverse("team-create"), {"file": SimpleUploadedFile("plan.yaml", b"x" * (3 * 2**20))})
    assert answer.status_code == 413


def test_only_administrators_may_import(desk, file):
    assert "Only an administrator may import a team" in words_of(desk.get(reverse("team-import")))
    assert upload(desk, file).status_code == 403
    assert desk.post("/api/teams/import", {"file": SimpleUploadedFile("b.zip", file)}).status_code == 403


def test_the_overview_says_to_administrators_how_the_last_backup_went(admin, desk, settings):
    shown = lambda client=admin: words_of(client.get("/"))  # noqa: E731
    assert "No backups are made" in shown()
    settings.BACKUP_URL = "file:///var/backups?key=s3cret"
    assert "No backup has been made yet" in shown()
    last = Backup.objects.create(name="b.zip", started_at=make.ago(hours=1))
    assert "A backup is being made since" in shown()
    Backup.objects.filter(pk=last.pk).update(ended_at=make.ago(minutes=50), teams=2, size=3 * 2**20, verified=True)
    assert "2 teams, 3.0" in shown()
    assert "restored on trial" in shown()
    Backup.objects.filter(pk=last.pk).update(ended_at=make.ago(hours=49))
    assert "It should be newer" in shown()
    Backup.objects.filter(pk=last.pk).update(error="No space left.")
    assert "failed: No space left." in shown()
    assert "s3cret" not in shown()
    assert "backup" not in shown(desk).lower()
