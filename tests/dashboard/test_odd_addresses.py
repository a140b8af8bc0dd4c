"""What no row can be called or numbered is not found, whatever the database: it is no error of ours."""

import json
from urllib.parse import quote

import pytest

from tests import factories as make

NUMBERS = (2**63 - 1, 2**63, 10**30, "9" * 5000)


@pytest.fixture
def crew(team):
    """Atlas with one agent and a task that waits."""
    make.AgentFactory(team=team, name="ada")
    return make.TaskFactory(team=team, number=1)


def send(desk, method, path, body=None):
    return desk.generic(method, path, json.dumps(body), content_type="application/json")


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("path", ["/tasks/{}/", "/tasks/{}/edit/", "/agents/{}/", "/teams/atlas/context/{}/"])
def test_no_page_has_the_address_of_a_number_beyond_all_rows(desk, crew, path, number):
    assert desk.get(path.format(number)).status_code == 404


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(
    ("method", "rest"),
    [("GET", "handover"), ("GET", "messages?run=1"), ("GET", "rewind?run=1&at=1"), ("POST", "complete"), ("POST", "stop")],
)
def test_no_task_of_the_api_has_a_number_beyond_all_rows(desk, crew, method, rest, number):
    assert send(desk, method, f"/api/tasks/{number}/{rest}", {}).status_code in {404, 422}


@pytest.mark.parametrize("name", ["\0", "a\0b", "\x00atlas\ud800"])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/teams/{}"),
        ("GET", "/api/teams/{}/export"),
        ("GET", "/api/decisions/{}"),
        ("GET", "/api/teams/atlas/checkpoints/{}"),
        ("DELETE", "/api/teams/atlas/checkpoints/{}"),
        ("GET", "/api/teams/atlas/context/{}"),
        ("DELETE", "/api/teams/atlas/context/{}"),
        ("POST", "/api/teams/atlas/messages/{}/done"),
    ],
)
def test_nothing_in_the_api_has_a_name_that_no_database_takes(desk, crew, method, path, name):
    assert send(desk, method, path.format(quote(name.encode("utf-8", "surrogatepass")))).status_code == 404


@pytest.mark.parametrize("name", ["\0", "zoe\ud800"])
def test_no_agent_has_such_a_name(desk, crew, name):
    task = f"/api/tasks/{crew.pk}"
    new = {"title": "Build it", "criteria": ["It is there"], "assignee": name}
    refused = [
        send(desk, "POST", "/api/teams/atlas/tasks", new),
        send(desk, "PATCH", task, {"assignee": name}),
        send(desk, "POST", f"{task}/start", {"agent": name}),
        send(desk, "POST", f"{task}/reassign", {"agent": name}),
    ]
    assert [answer.status_code for answer in refused] == [422] * 4
