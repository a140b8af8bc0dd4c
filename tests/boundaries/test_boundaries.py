"""What lies on the boundary is sent by every way in: it is refused in words, and nothing is written."""

from datetime import timedelta
from typing import Any

import pytest

from tasks_app.models import Checkpoint, ContextEntry, Message
from tasks_app.services import checkpoints, context, task_edits
from tasks_app.services.context import Writer
from tests.boundaries import table
from tests.boundaries.conftest import stored
from tests.boundaries.ways import WAYS, Heard
from tests.services import world

pytestmark = pytest.mark.django_db
ME, OTHER = "user:lead", "agent:builder-2"
every_way = pytest.mark.parametrize("way", WAYS, indirect=True)
EMOJI = "🚀" * 262_144
"""1 MB of UTF-8."""


def name_of(way: Any) -> str:
    return next(name for name, kind in WAYS.items() if isinstance(way, kind))


def refused(boundary: str, way: Any, heard: Heard) -> None:
    assert heard.refused, heard.words
    assert table.cell(boundary, name_of(way)) in heard.words, heard.words[:600]


@every_way
def test_a_value_that_breaks_its_schema(crew: world.World, way: Any) -> None:
    context.set_schema(crew.team.pk, name="port", schema={"type": "integer"}, by=Writer(ME))
    before = stored(crew)
    refused("bad schema", way, way.share("port", "x"))
    assert stored(crew) == before


@every_way
def test_a_value_that_has_expired(crew: world.World, way: Any) -> None:
    context.share(crew.team.pk, name="port", value=1, by=Writer(OTHER), ttl_s=60)
    ContextEntry.objects.update(expires_at=world.now() - timedelta(days=1))
    before = stored(crew)
    refused("expired", way, way.share("port", 2, version=1))
    assert stored(crew) == before


@every_way
def test_a_version_that_somebody_else_has_overtaken(crew: world.World, way: Any) -> None:
    context.share(crew.team.pk, name="port", value=1, by=Writer(ME))
    context.share(crew.team.pk, name="port", value=2, by=Writer("agent:builder-2"), version=1)
    before = stored(crew)
    refused("conflicting versions", way, way.share("port", 3, version=1))
    assert stored(crew) == before


@every_way
def test_a_megabyte_of_emoji(crew: world.World, way: Any) -> None:
    before = stored(crew)
    refused("1 MB of emoji", way, way.message("builder-1", EMOJI))
    assert stored(crew) == before
    heard = way.share("large", EMOJI[:100_000])
    assert not heard.refused, heard.words[:300]
    assert context.reading.value(ContextEntry.objects.get().pk) == EMOJI[:100_000], "what is within the limit comes back exactly"


@every_way
def test_lone_surrogates(crew: world.World, way: Any) -> None:
    for heard in (way.message("builder-1", "half \ud99c end"), way.share("port", ["half \ud99c end"])):
        assert not heard.refused, heard.words
    for kept in (Message.objects.get().body, ContextEntry.objects.get().value[0]):
        assert kept.replace("\ufffd", "") == "half  end"
        assert "\ufffd" in kept
        kept.encode()


@every_way
def test_a_dependency_that_closes_a_cycle(crew: world.World, way: Any) -> None:
    task_edits.add_dependencies(crew.tasks[2].pk, needs=[crew.tasks[1].pk], actor=ME)
    task_edits.add_dependencies(crew.tasks[1].pk, needs=[crew.tasks[0].pk], actor=ME)
    before = stored(crew)
    refused("cycle", way, way.depend(0, "T-3"))
    assert stored(crew) == before


@every_way
def test_a_dependency_on_a_task_that_is_gone(crew: world.World, way: Any) -> None:
    before = stored(crew)
    refused("deleted dependency", way, way.depend(1, "T-9"))
    assert stored(crew) == before


@every_way
def test_a_message_to_an_agent_that_nobody_knows(crew: world.World, way: Any) -> None:
    before = stored(crew)
    refused("unknown agent", way, way.message("bulder-1", "Hello."))
    assert stored(crew) == before


@pytest.mark.files
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("way", table.WORDS["two restores at once"], indirect=True)
def test_two_restores_at_once(crew: world.World, way: Any) -> None:
    saved = checkpoints.save(crew.team.pk, name="here", by=ME)
    task_edits.edit(crew.tasks[0].pk, actor=ME, title="Other")
    crew.team.refresh_from_db()
    seq = crew.team.last_seq
    found = world.at_once(2, lambda _: way.restore(saved.pk, seq))
    assert sorted(one.refused for one in found) == [False, True], found
    refused("two restores at once", way, next(one for one in found if one.refused))
    assert world.kinds(crew.team).count("checkpoint.restored") == 1
    assert Checkpoint.objects.filter(automatic=True).count() == 1, "the refused one saved none"
