"""What a team shares, through the API: by the same rules as on the page and by the tools."""

import json

from tasks_app.services import context
from tasks_app.services.context import Writer
from tests import factories as make

ADA = Writer("agent:ada")
ROOT = "/api/teams/atlas/context"


def put(client, path, **body):
    return client.put(path, data=json.dumps(body), content_type="application/json")


def test_a_value_is_written_read_and_deleted_by_a_name_of_any_letters(desk, team):
    address = f"{ROOT}/api/v1%20%F0%9F%9A%80"
    assert put(desk, address, value={"port": 80}, version=0).json() == {"name": "api/v1 🚀", "version": 1}
    assert put(desk, address, value={"port": 81}, version=1, ttl_s=60).json()["version"] == 2
    found = desk.get(address).json()
    assert (found["value"], found["author"], found["scope"]) == ({"port": 81}, "user:anna", "team")
    assert [one["version"] for one in found["versions"]] == [2, 1]
    assert desk.get(f"{address}?version=1").json()["value"] == {"port": 80}
    assert "There are: 2, 1." in desk.get(f"{address}?version=7").json()["error"]["message"]
    assert [one["name"] for one in desk.get(f"{ROOT}?prefix=api/").json()["entries"]] == ["api/v1 🚀"]
    assert desk.get(f"{ROOT}?prefix=x").json() == {"entries": []}
    assert desk.delete(f"{address}?version=1").status_code == 409
    assert desk.delete(f"{address}?version=2").status_code == 200
    assert desk.get(address).status_code == 404


def test_a_large_value_is_in_the_list_by_its_beginning_and_whole_by_its_name(desk, team):
    value = "漢" * 50_000
    context.share(team.pk, name="log", value=value, by=ADA)
    (listed,) = desk.get(ROOT).json()["entries"]
    assert "value" not in listed
    assert len(listed["start"]) < 2_100
    assert desk.get(f"{ROOT}/log").json()["value"] == value


def test_refusals_have_the_shape_and_status_of_every_error(desk, team):
    context.share(team.pk, name="port", value=80, by=ADA, schema={"type": "integer"})
    stale = put(desk, f"{ROOT}/port", value=81, version=3)
    assert (stale.status_code, stale.json()["error"]["code"]) == (409, "conflict")
    unfit = put(desk, f"{ROOT}/port", value={"a": 1}, version=1)
    assert (unfit.status_code, unfit.json()["error"]["problems"][0]["path"]) == (422, "value")
    assert put(desk, f"{ROOT}/port", value=1, version=1, task="x").status_code == 422
    assert put(desk, f"{ROOT}/port", value=1, version=1, task="T-9").status_code == 404
    assert put(desk, f"{ROOT}/port", value=1, colour="red").status_code == 422
    assert put(desk, f"{ROOT}/{'x' * 121}", value=1).status_code == 422


def test_a_schema_is_set_and_removed(desk, team):
    address = "/api/teams/atlas/context-schemas/port"
    assert put(desk, address, schema={"type": "integer"}).status_code == 200
    assert put(desk, f"{ROOT}/port", value="x").status_code == 422
    assert put(desk, address, schema=None).status_code == 200
    assert put(desk, f"{ROOT}/port", value="x").status_code == 200
    assert put(desk, address, schema={"type": 5}).json()["error"]["field"] == "schema.type"


def test_who_may_only_watch_reads_and_a_stranger_finds_nothing(watcher, stranger, team):
    context.share(team.pk, name="port", value=80, by=ADA)
    assert watcher.get(f"{ROOT}/port").json()["value"] == 80
    assert (put(watcher, f"{ROOT}/port", value=1).status_code, watcher.delete(f"{ROOT}/port").status_code) == (403, 403)
    assert (stranger.get(ROOT).status_code, stranger.get(f"{ROOT}/port").status_code) == (404, 404)


def test_who_has_read_an_entry_is_listed(desk, team):
    entry = context.share(team.pk, name="port", value=80, by=ADA)
    run = make.RunFactory(task__team=team, task__number=7, agent__team=team)
    context.note_reads(team.pk, context.reading.of_team(team.pk), reader="bob", run_id=run.pk, agent_id=run.agent_id, how="tool")
    (found,) = desk.get(f"{ROOT}/{entry.name}").json()["reads"]
    assert (found["reader"], found["run"], found["task"], found["version"], found["how"]) == ("bob", run.pk, "T-7", 1, "tool")
