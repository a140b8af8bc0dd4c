"""Who decides what: the page, the API and the command; and what the inbox says of a request that the lead agent has."""

import json

import pytest
from django.core.management import call_command
from django.urls import reverse

from tasks_app.domain.deciders import Settings, Subject
from tasks_app.models import Event, Team
from tasks_app.selectors import inbox
from tasks_app.services import deciding
from tests import factories as make
from tests.dashboard.conftest import words_of


@pytest.fixture
def ada(team):
    return make.AgentFactory(team=team, name="ada", role="lead")


def of(team):
    return Settings.of(Team.objects.get(pk=team.pk).decides)


def test_the_page_shows_the_lead_agent_what_it_did_and_changes_a_setting(desk, team, ada):
    run = make.RunFactory(task__team=team)
    make.DecisionFactory(
        run=run, kind="escalation", answered=True, choice="answer", answered_by="lead agent ada", answer={"option": "Mock it"}
    )
    make.DecisionFactory(run=run, kind="question", handed_why="It is about money.")
    text = words_of(desk.get(reverse("deciders", args=["atlas"])))
    for words in ("ada is woken when", "decided: answered: Mock it", "handed on: It is about money."):
        assert words in text
    page = desk.post(reverse("deciders-settings", args=["atlas"]), {"question": "human", "wait_minutes": "2.5"}, follow=True)
    assert "Who decides what is set." in words_of(page)
    assert (of(team).by[Subject.QUESTION], of(team).wait_minutes) == ("human", 2.5)
    assert Event.objects.get(kind="team.decides").data == {"question": "human", "wait_minutes": 2.5}


@pytest.mark.parametrize(
    ("name", "value"), [("plan", "policy"), ("wait_minutes", "soon"), ("wakes_per_hour", "0"), ("review", "x")]
)
def test_a_bad_setting_is_refused_and_changes_nothing(desk, team, name, value):
    page = desk.post(reverse("deciders-settings", args=["atlas"]), {name: value, "question": "human"})
    assert page.status_code == 422
    assert of(team) == Settings()


def test_who_may_only_watch_changes_nothing(client, team):
    client.force_login(make.TeamAccessFactory(team=team, level="viewer").user)
    assert client.post(reverse("deciders-settings", args=["atlas"]), {"question": "human"}).status_code == 403
    assert client.get(reverse("deciders", args=["atlas"])).status_code == 200


def test_who_may_act_sees_the_people_of_the_team_and_how_to_change_them(desk, team, watcher):
    make.UserFactory(username="boss", admin=True)
    text = words_of(desk.get(reverse("deciders", args=["atlas"])))
    assert "anna (leads), boss (administrator), will (views)" in text
    assert "account shut-out NAME atlas" in text
    assert "(administrator)" not in words_of(watcher.get(reverse("deciders", args=["atlas"])))


def test_the_api_reads_and_changes_it(desk, team, ada):
    url = "/api/teams/atlas/decides"
    assert desk.get(url).json()["lead_agent"]["name"] == "ada"
    put = desk.put(url, json.dumps({"settings": {"permission": "policy"}}), content_type="application/json")
    assert put.json()["settings"]["permission"] == "policy"
    bad = desk.put(url, json.dumps({"settings": {"budget": "policy"}}), content_type="application/json")
    assert (bad.status_code, bad.json()["error"]["field"]) == (422, "budget")


def test_the_command_shows_and_changes_it(team, ada, capsys):
    call_command("decides", "atlas", "--set", "stall=human")
    said = capsys.readouterr().out
    assert "Lead agent: ada" in said
    assert "stall       human" in said
    assert deciding.settings(team.pk).by[Subject.STALL] == "human"


def test_the_card_says_that_the_lead_agent_has_it_and_can_still_be_answered(desk, team, ada):
    run = make.RunFactory(task__team=team)
    one = make.DecisionFactory(run=run, kind="question", decider="lead", subject="question", lead_until=make.ago(minutes=-5))
    text = words_of(desk.get(reverse("inbox-detail", args=[one.pk])))
    assert "The lead agent is looking at it" in text
    assert "Handed on" not in text
    assert "with the lead agent" in words_of(desk.get(reverse("inbox")))
    assert inbox.waiting([team.pk]).count == 0, "it does not wait for you"
    assert len(inbox.open_items([team.pk])) == 1
