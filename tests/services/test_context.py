"""Shared context: written by compare-and-set, checked against its schema, and gone when its time is over."""

from datetime import timedelta

import pytest
from django.db.models import F

from tasks_app.domain import shared
from tasks_app.domain.errors import Conflict, Forbidden, Invalid, NotFound, TooLarge
from tasks_app.domain.statuses import Scope
from tasks_app.models import ContextBlob, ContextChunk, ContextEntry, ContextRead, ContextVersion, Team
from tasks_app.selectors import context as reading
from tasks_app.services import blobs, context
from tasks_app.services.context import ANY, Writer
from tests.services import world

ADA, BOB, LEAD = Writer("agent:ada"), Writer("agent:bob"), Writer("user:lead")
PORT = {"type": "object", "properties": {"port": {"type": "integer", "minimum": 1}}, "required": ["port"]}


def share(team, name="port", value=1, by=ADA, **more):
    return context.share(team.pk, name=name, value=value, by=by, **more)


def names(team, **more):
    return [entry.name for entry in reading.of_team(team.pk, **more)]


def age(name: str, *, seconds: float) -> None:
    """Time goes by for an entry: by the database's clock, which no test can move."""
    ContextEntry.objects.filter(name=name).update(expires_at=F("expires_at") - timedelta(seconds=seconds))


@pytest.mark.django_db(transaction=True)
def test_of_many_that_write_the_same_version_one_wins_and_the_others_are_told_by_whom():
    crew = world.make()
    share(crew.team)
    results = world.at_once(6, lambda n: share(crew.team, value=n, by=Writer(f"agent:b{n}"), version=1))
    won = [r for r in results if isinstance(r, ContextEntry)]
    assert len(won) == 1
    who = won[0].author.removeprefix("agent:")
    assert all(isinstance(r, Conflict) and who in str(r) for r in results if r is not won[0]), results
    assert ContextEntry.objects.get().version == 2


@pytest.mark.django_db(transaction=True)
def test_of_many_that_write_a_new_name_with_version_0_one_wins():
    crew = world.make()
    results = world.at_once(6, lambda n: share(crew.team, value=n, by=Writer(f"agent:b{n}"), version=0))
    assert sum(isinstance(r, ContextEntry) for r in results) == 1
    assert sum(isinstance(r, Conflict) for r in results) == 5


@pytest.mark.django_db(transaction=True)
def test_two_that_share_the_same_large_value_at_once_store_it_once():
    crew = world.make()
    big = "x" * 100_000
    results = world.at_once(2, lambda n: share(crew.team, name=f"log-{n}", value=big))
    assert all(isinstance(r, ContextEntry) for r in results), results
    assert ContextBlob.objects.count() == 1
    assert {reading.value(r.pk) for r in results} == {big}


@pytest.mark.django_db
def test_without_a_version_only_ones_own_last_version_is_written_over():
    crew = world.make()
    share(crew.team)
    assert share(crew.team, value=2).version == 2
    with pytest.raises(Conflict, match=r"“port” is at version 2 by ada\. Read it"):
        share(crew.team, value=3, by=BOB)
    assert share(crew.team, value=3, by=LEAD, version=ANY).version == 3


@pytest.mark.django_db
def test_what_has_expired_is_seen_by_nobody_at_once_and_leaves_the_store_with_the_sweep():
    crew = world.make()
    share(crew.team, name="token", value="y" * 100_000, ttl_s=60)
    share(crew.team, name="stays", ttl_s=60)
    assert context.expire_due() == 0
    age("token", seconds=61)
    assert names(crew.team) == ["stays"]
    assert (reading.named(crew.team.pk, "token"), reading.one(ContextEntry.objects.get(name="token").pk)) == (None, None)
    assert context.expire_due() == 1
    assert (ContextEntry.objects.count(), ContextBlob.objects.count(), ContextChunk.objects.count()) == (1, 0, 0)
    assert world.kinds(crew.team)[-1] == "context.expired"


@pytest.mark.django_db
def test_a_name_that_has_gone_is_new_again_but_its_versions_go_on():
    """Else whoever read version 1 of the old entry could write over version 1 of the new one."""
    crew = world.make()
    share(crew.team, ttl_s=60)
    age("port", seconds=61)
    assert share(crew.team, by=BOB, version=0).version == 2
    with pytest.raises(Conflict, match="version 2 by bob, not 1"):
        share(crew.team, version=1)
    context.delete(crew.team.pk, name="port", by=LEAD)
    with pytest.raises(Conflict, match="does not exist"):
        share(crew.team, by=BOB, version=2)
    assert share(crew.team, by=BOB).version == 3


@pytest.mark.django_db
def test_a_team_reads_its_own_only():
    crew, other = world.make(), world.make()
    share(crew.team)
    assert (names(other.team), reading.named(other.team.pk, "port")) == ([], None)


@pytest.mark.django_db
def test_a_task_sees_what_is_shared_with_all_its_own_and_what_its_dependencies_yield():
    crew = world.make(titles=("A", "B", "C"), chain=True)
    apart = world.make(titles=("D",))
    for number, task in enumerate(crew.tasks, 1):
        share(crew.team, name=f"t{number}", by=Writer("agent:ada", task_number=task.number), scope=Scope.TASK)
    share(crew.team, name="all")
    assert reading.sees(crew.team.pk, 3) == {1, 2, 3}
    assert names(crew.team, sees=reading.sees(crew.team.pk, 1)) == ["all", "t1"]
    assert names(crew.team, sees=reading.sees(crew.team.pk, 3)) == ["all", "t3", "t2", "t1"]
    assert names(apart.team, sees=reading.sees(apart.team.pk, 1)) == []
    assert [one.name for one in reading.of_task(crew.team.pk, 1)] == ["all", "t1"]
    assert [one.name for one in reading.of_task(crew.team.pk, 3)] == ["all", "t3", "t2", "t1"]


@pytest.mark.django_db
def test_what_a_task_depends_on_is_read_only_where_something_is_not_for_everybody(django_assert_num_queries):
    crew = world.make(titles=("A", "B"), chain=True)
    share(crew.team, name="all")
    with django_assert_num_queries(2):
        assert [one.name for one in reading.of_task(crew.team.pk, 2)] == ["all"]
    assert reading.of_task(world.make().team.pk, 1) == []


@pytest.mark.django_db
def test_what_another_task_shares_with_few_while_it_is_looked_is_not_shown(monkeypatch):
    crew = world.make(titles=("A", "B"))
    read = reading.of_team

    def late(team_id, **more):
        share(crew.team, by=Writer("agent:ada", task_number=1), scope=Scope.TASK)
        return read(team_id, **more)

    monkeypatch.setattr(reading, "of_team", late)
    assert reading.of_task(crew.team.pk, 2) == []


@pytest.mark.django_db
def test_a_name_of_a_task_that_one_may_not_see_is_not_written_over():
    crew = world.make(titles=("A", "B"))
    share(crew.team, by=Writer("agent:ada", task_number=1), scope=Scope.TASK)
    with pytest.raises(Forbidden, match="belongs to T-1"):
        share(crew.team, by=Writer("agent:bob", task_number=2, sees={2}), version=1)


@pytest.mark.django_db
def test_an_entry_of_a_task_needs_a_task_that_exists():
    crew = world.make()
    with pytest.raises(Invalid, match="Name the task"):
        share(crew.team, by=LEAD, scope=Scope.TASK)
    with pytest.raises(NotFound, match="no task T-9"):
        share(crew.team, by=LEAD, scope=Scope.TASK, task_number=9)
    assert reading.named(crew.team.pk, share(crew.team, by=LEAD, scope=Scope.TASK, task_number=1).name).seen_by == (
        "T-1 and what depends on it"
    )


@pytest.mark.django_db
def test_a_value_that_breaks_its_schema_is_refused_with_the_path_and_nothing_is_written():
    crew = world.make()
    share(crew.team, value={"port": 80}, schema=PORT)
    before = world.frozen(crew.team)
    for value, path in (({"port": "80"}, "value.port"), ({}, "value"), ({"port": 0}, "value.port")):
        with pytest.raises(Invalid) as refused:
            share(crew.team, value=value)
        assert [one.path for one in refused.value.problems] == [path]
    assert world.frozen(crew.team) == before


@pytest.mark.django_db
def test_a_schema_is_registered_once_and_only_the_lead_changes_it():
    crew = world.make()
    share(crew.team, value={"port": 80}, schema=PORT)
    assert share(crew.team, value={"port": 81}, schema=PORT).version == 2
    with pytest.raises(Conflict, match="has a schema already"):
        share(crew.team, value=1, schema={"type": "integer"})
    with pytest.raises(Invalid, match="does not fit"):
        context.set_schema(crew.team.pk, name="port", schema={"type": "integer"}, by=LEAD)
    context.set_schema(crew.team.pk, name="port", schema=None, by=LEAD)
    assert share(crew.team, value=1).version == 3
    with pytest.raises(Invalid, match="cannot be registered"):
        context.set_schema(crew.team.pk, name="other", schema={"type": "number of wheels"}, by=LEAD)


@pytest.mark.django_db
def test_the_newest_versions_are_kept_with_their_authors_and_the_blobs_of_older_ones_go():
    crew = world.make()
    for number in range(shared.HISTORY + 3):
        entry = share(crew.team, value=f"{number} " * 20_000)
    found = reading.versions(entry.pk)
    assert [one.number for one in found] == list(range(shared.HISTORY + 3, 2, -1))
    assert {one.author for one in found} == {"agent:ada"}
    assert ContextBlob.objects.count() == shared.HISTORY + 1
    assert reading.value(entry.pk, 3) == "2 " * 20_000
    assert reading.text(entry.pk, 1) is None
    context.delete(crew.team.pk, name="port", by=LEAD)
    assert (ContextBlob.objects.count(), ContextVersion.objects.count()) == (0, 0)


@pytest.mark.django_db
def test_a_delete_names_the_version_that_was_looked_at():
    crew = world.make()
    share(crew.team)
    with pytest.raises(Conflict, match="at version 1 now, not 2"):
        context.delete(crew.team.pk, name="port", version=2, by=LEAD)
    with pytest.raises(NotFound):
        context.delete(crew.team.pk, name="prt", by=LEAD)


@pytest.mark.django_db
def test_a_megabyte_of_emoji_comes_back_exactly_and_lone_surrogates_are_replaced():
    """N20"""
    crew = world.make()
    emoji = "👩‍👩‍👧‍👦🚀" * 35_000
    entry = share(crew.team, value={"text": emoji, "half": "현\ud99c\0"})
    assert len(emoji.encode()) > 1_000_000
    assert reading.value(entry.pk) == {"text": emoji, "half": "현\ufffd"}
    assert (entry.value, entry.preview[-1]) == (None, "…")
    assert len(entry.preview) <= shared.PREVIEW
    assert reading.text(entry.pk).startswith(entry.preview[:-1])
    assert entry.size == ContextBlob.objects.get().size == sum(len(bytes(c.data)) for c in ContextChunk.objects.all())
    assert ContextChunk.objects.count() == -(-entry.size // blobs.CHUNK)


@pytest.mark.django_db
def test_what_is_too_large_is_refused(monkeypatch):
    crew = world.make()
    with pytest.raises(TooLarge, match="larger than 10 MB"):
        share(crew.team, value="x" * shared.MOST)
    monkeypatch.setattr(blobs, "MOST_OF_TEAM", 150_000)
    share(crew.team, value="x" * 100_000)
    with pytest.raises(TooLarge, match="of large values already"):
        share(crew.team, value="y" * 100_000)
    monkeypatch.setattr(shared, "MAX_ENTRIES", 1)
    with pytest.raises(TooLarge, match="1 entries already"):
        share(crew.team, name="one more")


@pytest.mark.django_db
def test_secrets_are_masked_before_they_are_stored_inside_and_outside_the_row():
    crew = world.make()
    key = "sk-ant-api03-abcdefghijklmnop"
    for padding in ("", "x" * 100_000):
        entry = share(crew.team, value=[key, padding])
        assert reading.value(entry.pk) == ["sk-ant-api03-***", padding]
        assert key not in entry.preview


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["", "  ", "x" * 121, "two\nlines", "red\x1b[31m", "gap  gap"])
def test_a_name_is_one_line_of_plain_text(name):
    crew = world.make()
    with pytest.raises(Invalid, match="The name must"):
        share(crew.team, name=name)


@pytest.mark.django_db
def test_who_was_given_which_version_is_known_once_with_the_last_time():
    crew = world.make()
    share(crew.team)
    entry = reading.named(crew.team.pk, "port")
    for how in ("prompt", "tool", "tool"):
        context.note_reads(crew.team.pk, [entry], reader="bob", run_id="r1", agent_id=crew.agents[1].pk, how=how)
    found = reading.reads(entry.pk)
    assert sorted((r.reader, r.run_id, r.version, r.how) for r in found) == [("bob", "r1", 1, "prompt"), ("bob", "r1", 1, "tool")]
    share(crew.team, value=2)
    context.note_reads(crew.team.pk, [reading.named(crew.team.pk, "port")], reader="bob", run_id="r1", agent_id=1, how="tool")
    assert ContextRead.objects.count() == 3


@pytest.mark.django_db
def test_a_team_that_is_removed_takes_its_shared_values_along():
    crew = world.make()
    for _ in range(2):
        share(crew.team, value="x" * 100_000)
    Team.objects.filter(pk=crew.team.pk).delete()
    assert (ContextEntry.objects.count(), ContextBlob.objects.count()) == (0, 0)
