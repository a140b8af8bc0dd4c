"""A team's page offers what makes sense; an archived team is out of the lists and stays within reach."""

import re

import pytest
from django.urls import reverse
from django.utils import timezone

from tasks_app.domain.statuses import TeamStatus
from tests import factories as make
from tests.dashboard.conftest import html_of, words_of

BUTTONS = ("Pause new work", "Resume", "Stop team…", "Archive", "Restore", "Budget…")


@pytest.fixture
def act(desk):
    """Return a function that presses a button of Atlas and gives the page that comes of it."""
    return lambda do: desk.post(reverse("team-action", args=["atlas"]), {"do": do}, follow=True)


def team_page(client):
    return client.get(reverse("team", args=["atlas"]))


def offered(client):
    html = html_of(team_page(client))
    return [word for word in BUTTONS if f"</svg>{word}</button>" in html or f"</svg>{word}</summary>" in html]


def finished(team):
    make.TaskFactory(team=team, done=True)


def queued(team):
    make.TaskFactory(team=team)


def running(team):
    make.RunFactory(task__team=team, agent__team=team)


@pytest.mark.parametrize(
    ("state", "status", "buttons"),
    [
        (queued, TeamStatus.ACTIVE, ["Pause new work", "Stop team…", "Budget…"]),
        (running, TeamStatus.ACTIVE, ["Pause new work", "Stop team…", "Budget…"]),
        (queued, TeamStatus.PAUSED, ["Resume", "Stop team…", "Budget…"]),
        (queued, TeamStatus.STOPPED, ["Resume", "Archive", "Budget…"]),
        (running, TeamStatus.STOPPED, ["Resume", "Budget…"]),
        (finished, TeamStatus.ACTIVE, ["Archive"]),
        (finished, TeamStatus.PAUSED, ["Archive"]),
        (finished, TeamStatus.STOPPED, ["Archive"]),
    ],
)
def test_a_teams_page_offers_only_what_makes_sense(team, desk, state, status, buttons):
    state(team)
    type(team).objects.update(status=status.value)
    assert offered(desk) == buttons


@pytest.mark.parametrize(("status", "pills"), [("active", ["Queued"]), ("paused", ["Paused"]), ("stopped", ["Stopped"])])
def test_what_waits_in_a_team_that_is_held_is_not_called_queued(team, desk, status, pills):
    queued(team)
    type(team).objects.update(status=status)
    for page in (team_page(desk), desk.get(reverse("overview"))):
        head = html_of(page).split(f'id="t-{team.pk}"', 1)[1].split('class="grow"', 1)[0]
        assert re.findall(r"</svg>(\w+)</span>", head) == pills


def test_an_archived_team_offers_only_to_come_back(team, desk):
    finished(team)
    type(team).objects.update(archived_at=timezone.now())
    assert offered(desk) == ["Restore"]
    assert "it is out of the lists" in words_of(team_page(desk))


def test_a_watcher_is_offered_nothing_and_refused(team, watcher):
    finished(team)
    assert offered(watcher) == []
    assert watcher.post(reverse("team-action", args=["atlas"]), {"do": "archive"}).status_code == 403


def test_archiving_takes_a_team_out_of_the_lists_and_leaves_it_within_reach(team, desk, act):
    finished(team)
    other = make.TeamFactory(name="Other", lead=team.access.get().user)
    queued(other)
    assert "Atlas is archived. The Overview lists it under Archived teams." in words_of(act("archive"))
    overview = desk.get(reverse("overview"))
    assert "Archived teams (1)" in words_of(overview)
    address = reverse("team", args=["atlas"])
    assert html_of(overview).count(f'href="{address}"') == 1, "only under Archived teams"
    assert f'href="{address}"' not in html_of(desk.get(reverse("inbox")))
    assert f'href="{address}"' not in html_of(desk.get(reverse("teams")))
    assert team_page(desk).status_code == 200
    assert ">Atlas</option>" in html_of(desk.get(reverse("history"))), "its log can still be chosen"
    assert "Atlas is back in the lists." in words_of(act("restore"))
    assert "Archived teams" not in words_of(desk.get(reverse("overview")))


def test_a_desk_whose_teams_are_all_archived_says_so(team, desk, act):
    finished(team)
    act("archive")
    assert "Every team is archived. Start one from a plan file." in words_of(desk.get(reverse("overview")))


def test_what_is_still_open_is_said_when_archiving_is_refused(team, act):
    task = make.TaskFactory(team=team, number=7, title="Ship it")
    response = act("archive")
    assert response.status_code == 409
    assert f"{task.label} Ship it is not done." in words_of(response)


def test_nobody_else_sees_an_archived_team(team, stranger):
    finished(team)
    type(team).objects.update(archived_at=timezone.now())
    assert "Atlas" not in words_of(stranger.get(reverse("overview")))
    assert team_page(stranger).status_code == 404


def test_the_api_archives_restores_and_lists(team, desk):
    finished(team)
    names = lambda **query: [one["slug"] for one in desk.get("/api/teams", query).json()["teams"]]  # noqa: E731
    assert desk.post("/api/teams/atlas/archive").json() == {"slug": "atlas", "action": "archive"}
    assert (names(), names(archived="true")) == ([], ["atlas"])
    assert desk.get("/api/teams/atlas").json()["team"]["archived"] is True
    again = desk.post("/api/teams/atlas/archive")
    assert (again.status_code, again.json()["error"]["code"]) == (409, "conflict")
    assert desk.post("/api/teams/atlas/restore").status_code == 200
    assert (names(), names(archived="true")) == (["atlas"], [])
