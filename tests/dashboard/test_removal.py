"""Deleting a team: archiving is offered first, the name is typed, and only an administrator may."""

import pytest
from django.urls import reverse

from tasks_app.models import Team
from tests import factories as make
from tests.dashboard.conftest import html_of, words_of


@pytest.fixture
def admin(db, browser_of):
    return browser_of(make.UserFactory(username="root", is_superuser=True))


def press(client, name):
    return client.post(reverse("team-delete", args=["atlas"]), {"name": name}, follow=True)


def test_the_page_offers_to_archive_first_and_says_what_goes_and_what_stays(admin, team):
    make.TaskFactory(team=team, done=True)
    Team.objects.update(workspace="/srv/atlas")
    page = admin.get(reverse("team-removal", args=["atlas"]))
    words = words_of(page)
    assert words.index("Archive it instead") < words.index("What goes for good") < words.index("Type Atlas to delete it")
    assert "1 task, 0 attempts with 0 steps and their transcripts" in words
    assert "The folder it works in stays as it is: /srv/atlas" in words
    assert 'value="archive"' in html_of(page)


def test_it_is_deleted_by_its_name_alone(admin, team):
    refused = press(admin, "atlas-2")
    assert refused.status_code == 422
    assert 'value="atlas-2"' in html_of(refused)
    assert 'id="error-name"' in html_of(refused)
    assert "Atlas is deleted with its history." in words_of(press(admin, "Atlas"))
    assert not Team.objects.exists()
    assert admin.get(reverse("team", args=["atlas"])).status_code == 404


def test_while_an_attempt_is_open_nothing_can_be_typed(admin, team):
    make.RunFactory(task__team=team, agent__team=team)
    assert "1 attempt of it is open. Stop the team first." in words_of(admin.get(reverse("team-removal", args=["atlas"])))
    assert press(admin, "Atlas").status_code == 409
    assert Team.objects.exists()


def test_only_an_administrator_sees_the_page_and_may_delete(desk, watcher, stranger, admin, team):
    assert reverse("team-removal", args=["atlas"]) in html_of(admin.get(reverse("team", args=["atlas"])))
    assert reverse("team-removal", args=["atlas"]) not in html_of(desk.get(reverse("team", args=["atlas"])))
    for client, status in ((desk, 403), (watcher, 403), (stranger, 404)):
        assert client.get(reverse("team-removal", args=["atlas"])).status_code == status
        assert press(client, "Atlas").status_code == status
        assert client.delete("/api/teams/atlas", {"name": "Atlas"}, content_type="application/json").status_code == status
    assert Team.objects.exists()


def test_the_api_deletes_by_the_name_as_well(admin, team):
    def delete(name):
        return admin.delete("/api/teams/atlas", {"name": name}, content_type="application/json")

    assert delete("other").json()["error"]["field"] == "name"
    assert delete("Atlas").json() == {"deleted": "Atlas"}
    assert not Team.objects.exists()
