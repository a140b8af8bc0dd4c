"""ShareContext, ReadContext and what a completed task exports, as agents call them."""

import json
from datetime import timedelta

import pytest

from tasks_app.domain.shared import READ_AT_ONCE
from tasks_app.models import Checkpoint, ContextEntry, ContextRead, Dependency, Run
from tasks_app.selectors import checkpoints
from tasks_app.selectors import context as reading
from tasks_app.services import context, stored_values
from tasks_app.services.context import Writer
from tests.services import world
from tests.tools.calls import bad, caller, good

pytestmark = pytest.mark.django_db
DONE = {"taskId": "1", "status": "completed", "evidence": ["saw it", "42 passed"]}


def read(me, **arguments):
    return json.loads(good(me, "ReadContext", **arguments))


def test_context_is_shared_by_version_and_read_by_name(me, crew):
    assert "version 1" in good(me, "ShareContext", name=" api.url ", value={"a": ["漢\ud800\0", 1.5]}, version=0)
    assert "version 2" in good(me, "ShareContext", name="api.url", value="x", version=1)
    assert "is at version 2 by builder-1, not 1" in bad(me, "ShareContext", name="api.url", value="y", version=1)
    assert "is at version 2 by builder-1, not 0" in bad(me, "ShareContext", name="api.url", value="y", version=0)
    assert read(me, name="api.url") == [{"name": "api.url", "version": 2, "owner": "builder-1", "value": "x"}]
    assert good(me, "ReadContext", name="nothing") == "There is nothing of that name."
    good(me, "ShareContext", name="key", value={"api_key": "abcdef123456"})
    assert ContextEntry.objects.get(name="key").value == {"api_key": "***"}


def test_entries_are_read_all_together_or_by_prefix_and_it_is_known_who_read_them(me, crew):
    assert good(me, "ReadContext") == "Nothing is shared yet."
    for name in ("api.url", "api.port", "db"):
        good(me, "ShareContext", name=name, value=name)
    assert [one["name"] for one in read(me)] == ["db", "api.port", "api.url"]
    assert [one["name"] for one in read(me, prefix="api.")] == ["api.port", "api.url"]
    assert set(ContextRead.objects.values_list("entry__name", "reader", "how")) == {
        (name, "builder-1", "tool") for name in ("api.url", "api.port", "db")
    }
    assert world.kinds(crew.team).count("context.read") == 2


def test_a_large_value_is_shortened_among_others_and_read_whole_part_by_part(me):
    value = "漢🚀" * 40_000
    good(me, "ShareContext", name="log", value=value)
    (short,) = read(me)
    assert "read it whole with name" in short["part"]
    assert len(short["value"]) < 2_100
    text, offset = "", 0
    while offset < len(value) + 2:
        (part,) = read(me, name="log", offset=offset)
        text, offset = text + part["value"], offset + READ_AT_ONCE
    assert json.loads(text) == value


def test_more_entries_than_fit_are_named(me):
    for number in range(30):
        good(me, "ShareContext", name=f"n{number}", value="x" * 1_900)
    shown, _, rest = good(me, "ReadContext").partition("\nNot shown: ")
    assert len(json.loads(shown)) + rest.count(",") + 1 == 30
    assert ContextRead.objects.count() == len(json.loads(shown))


def test_what_is_shared_with_a_task_is_seen_by_those_that_depend_on_it_only(me, crew):
    good(me, "ShareContext", name="table", value="invoice", scope="task")
    other = caller(crew, 1, 1)
    assert good(other, "ReadContext", name="table") == "There is nothing of that name."
    assert "belongs to T-1" in bad(other, "ShareContext", name="table", value="bill", version=1)
    Dependency.objects.create(task=crew.tasks[1], needs=crew.tasks[0])
    assert [one["value"] for one in read(other, name="table")] == ["invoice"]


def test_a_completed_task_exports_to_those_that_depend_on_it(me, crew):
    assert "Shared with the tasks after yours: table, port. Reported" in good(
        me, "TaskUpdate", **DONE, export_to_context={"table": "invoice", "port": 8000}
    )
    found = {one.name: (one.seen_by, one.author) for one in reading.of_team(crew.team.pk)}
    assert found == dict.fromkeys(("table", "port"), ("T-1 and what depends on it", "agent:builder-1"))


def test_what_a_refused_completion_would_export_is_not_shared(me):
    arguments = {**DONE, "evidence": ["saw it"], "export_to_context": {"table": "invoice"}}
    assert "2. Tests pass." in bad(me, "TaskUpdate", **arguments)
    assert (ContextEntry.objects.count(), Run.objects.get().report) == (0, None)


def test_a_schema_comes_with_the_first_value_and_holds_for_every_agent(me, crew):
    good(me, "ShareContext", name="port", value=8000, schema={"type": "integer"})
    other = caller(crew, 1, 1)
    assert "value: 'x' is not of type 'integer'." in bad(other, "ShareContext", name="port", value="x", version=1)
    assert "has a schema already" in bad(other, "ShareContext", name="port", value="x", version=1, schema={"type": "string"})
    assert "version 2" in good(other, "ShareContext", name="port", value=8001, version=1)


def test_a_checkpoint_holds_large_values_whole_and_none_that_has_expired(me, crew):
    good(me, "ShareContext", name="log", value="漢" * 50_000, scope="task")
    good(me, "ShareContext", name="over", value=1, ttl_s=60)
    ContextEntry.objects.filter(name="over").update(expires_at=world.now() - timedelta(days=1))
    good(me, "SaveCheckpoint", name="now")
    (kept,) = Checkpoint.objects.get().data["context"]
    assert (kept["name"], kept["scope"], kept["task_number"], kept["json_text"]) == ("log", "task", 1, None)
    context.delete(crew.team.pk, name="log", by=Writer("user:lead"))
    saved = Checkpoint.objects.get()
    assert stored_values.of(crew.team.pk, checkpoints.content(saved)) == {"log": "漢" * 50_000}
