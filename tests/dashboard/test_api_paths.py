"""The API can be walked with nothing but what it answers itself: no number is known only to the database."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from tasks_app.services import checkpoints
from tests import factories as make
from tests.services.forking import tried


@pytest.fixture
def api(lead: Any, browser_of: Any, tmp_path: Path) -> Client:
    """Anna leads one team: an attempt that failed, a request, a checkpoint, a message and a shared value."""
    one = tried(tmp_path / "work", slug="atlas", lead=lead)
    make.DecisionFactory(run=make.RunFactory(task=one.crew.tasks[-1], agent=one.crew.agents[-1], attempt=5))
    checkpoints.save(one.crew.team.pk, name="Before", by="user:anna")
    make.MessageFactory(team=one.crew.team, sender=one.crew.agents[0], recipient=None)
    make.ContextEntryFactory(team=one.crew.team)
    return browser_of(lead)


def got(client: Client, path: str) -> Any:
    answer = client.get(f"/api/{path}")
    assert answer.status_code == 200, (path, answer.content)
    return answer.json()


def test_every_name_in_a_path_is_in_an_answer(api: Client) -> None:
    slug = got(api, "teams")["teams"][0]["slug"]
    team = got(api, f"teams/{slug}")
    task = next(one for one in team["tasks"] if one["id"] == "T-1")
    assert got(api, f"tasks/{task['pk']}/handover")["guidance"] == ""
    assert got(api, f"tasks/{task['pk']}/messages?run=1")["messages"]
    assert api.get("/api/tasks/T-1/handover").status_code == 422
    for root, name in (("checkpoints", "checkpoints"), ("context", "entries")):
        (found,) = got(api, f"teams/{slug}/{root}")[name]
        assert got(api, f"teams/{slug}/{root}/{found['id' if name == 'checkpoints' else 'name']}")
    (message,) = got(api, f"teams/{slug}/messages")["messages"]
    assert api.post(f"/api/teams/{slug}/messages/{message['id']}/done").status_code == 200


def test_a_request_an_event_and_an_agent_lead_to_their_task_and_attempt(api: Client) -> None:
    (waiting,) = got(api, "decisions")["decisions"]
    team = got(api, f"teams/{waiting['team']}")
    assert got(api, f"decisions/{waiting['id']}")["version"]
    assert [(one["id"], one["task_pk"]) for one in team["decisions"]] == [(waiting["id"], waiting["task_pk"])]
    pks = {one["id"]: one["pk"] for one in team["tasks"]}
    assert waiting["task_pk"] == pks[waiting["task"]]
    (run,) = [one["run"] for one in team["agents"] if one["task"] == waiting["task"]]
    assert got(api, f"tasks/{waiting['task_pk']}/messages?run={run}") == got(api, f"tasks/{waiting['task_pk']}/messages?run=5")
    events = [one for one in got(api, f"teams/{waiting['team']}/events")["events"] if one["task"]]
    assert events
    assert all(one["task_pk"] == pks[one["task"]] for one in events)


def test_a_new_task_names_its_number(api: Client) -> None:
    body = json.dumps({"title": "Write it", "criteria": ["It is there."]})
    made = api.post("/api/teams/atlas/tasks", body, content_type="application/json").json()
    assert "Write it" in got(api, f"tasks/{made['pk']}/handover")["text"]
