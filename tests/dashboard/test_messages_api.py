"""Messages through the API: by the same rules as on the page and by the tools."""

import json

import pytest
from django.utils import timezone

from tasks_app.models import Message, Team
from tasks_app.services import messages
from tests import factories as make

ROOT = "/api/teams/atlas"


@pytest.fixture
def agents(team):
    return [make.AgentFactory(team=team, name=name, role="builder") for name in ("ada", "ben")]


def send(client, method="post", path="messages", **body):
    return getattr(client, method)(f"{ROOT}/{path}", data=json.dumps(body), content_type="application/json")


def test_a_message_is_written_listed_with_receipts_and_counted(desk, team, agents):
    made = send(desk, to="all", message="Frozen.", no_reply=True).json()
    assert [one["to"] for one in made["sent"]] == ["ada", "ben"]
    send(desk, to="ada", message="Stop.", priority="interrupt")
    found = desk.get(f"{ROOT}/messages?who=ada&priority=interrupt").json()["messages"]
    assert [(one["from"], one["to"], one["message"], one["receipt"]) for one in found] == [("lead", "ada", "Stop.", "queued")]
    assert desk.get(f"{ROOT}/messages?state=acted+on").json() == {"messages": []}
    assert [(one["recipient"], one["count"]) for one in desk.get(f"{ROOT}/message-pairs").json()["pairs"]] == [
        ("ada", 2),
        ("ben", 1),
    ]
    assert desk.get(f"{ROOT}/messages?limit=0").status_code == 422


def test_mail_and_settings(desk, team, agents):
    assert send(desk, "put", "messaging", mode="hub", per_minute=3, chain=2).json()["mode"] == "hub"
    assert send(desk, "put", "messaging", mode="hub", per_minute=0, chain=2).json()["error"]["field"] == "per_minute"
    assert desk.get(f"{ROOT}/messaging").json() == {"mode": "hub", "per_minute": 3, "chain": 2}
    mail = messages.send(team.pk, sender_agent_id=agents[0].pk, to="ben", body="Port 81.", actor="agent:ada")
    assert desk.post(f"{ROOT}/messages/{mail.pk}/pass-on").json()["to"] == "ben"
    assert desk.post(f"{ROOT}/messages/{mail.pk}/done").status_code == 409
    assert desk.post(f"{ROOT}/messages/m00000000/done").status_code == 404
    assert Message.objects.filter(recipient=agents[1], sender=agents[0]).exists()
    assert send(desk, to="ada", message="x", reply_to="m00000000").json()["error"]["field"] == "reply_to"


def test_who_may_only_watch_reads_and_a_stranger_sees_nothing(watcher, stranger, team, agents):
    for client, reads, writes in ((watcher, 200, 403), (stranger, 404, 404)):
        assert {client.get(f"{ROOT}/{path}").status_code for path in ("messages", "message-pairs", "messaging")} == {reads}
        assert send(client, to="ada", message="x").status_code == writes
        assert send(client, "put", "messaging", mode="hub", per_minute=3, chain=2).status_code == writes
        assert client.post(f"{ROOT}/messages/m00000000/done").status_code == writes


def test_what_is_sent_to_a_finished_team_says_why_it_waits(desk, team, agents):
    assert send(desk, to="ada", message="Go on.").json()["held_up"] is None
    Team.objects.filter(pk=team.pk).update(ended_at=timezone.now())
    made = send(desk, to="all", message="Go on.").json()
    assert made["held_up"] == made["sent"][1]["held_up"] == "the team has finished: it is read when a task is reopened or added"
    assert desk.get(f"{ROOT}/messages?who=ben").json()["messages"][0]["held_up"].startswith("the team has finished")
