"""Shared context: written by compare-and-set, and gone when its time is over."""

from datetime import timedelta

import pytest
import time_machine

from tasks_app.domain.errors import Conflict
from tasks_app.models import ContextEntry
from tasks_app.services import context
from tests.services import world


@pytest.mark.django_db(transaction=True)
def test_of_many_that_write_the_same_version_one_wins_and_the_others_are_told_by_whom():
    crew = world.make()
    context.share(crew.team.pk, name="port", value=1, owner="a")
    results = world.at_once(6, lambda n: context.share(crew.team.pk, name="port", value=n, owner=f"b{n}", version=1))
    won = [r for r in results if isinstance(r, ContextEntry)]
    assert len(won) == 1
    assert all(isinstance(r, Conflict) and won[0].owner in str(r) for r in results if r is not won[0]), results
    assert ContextEntry.objects.get().version == 2


@pytest.mark.django_db(transaction=True)
def test_of_many_that_write_a_new_name_with_version_0_one_wins():
    crew = world.make()
    results = world.at_once(6, lambda n: context.share(crew.team.pk, name="port", value=n, owner=f"b{n}", version=0))
    assert sum(isinstance(r, ContextEntry) for r in results) == 1
    assert sum(isinstance(r, Conflict) for r in results) == 5


@pytest.mark.django_db
def test_what_has_expired_is_not_read_and_its_name_is_new_again():
    crew = world.make()
    context.share(crew.team.pk, name="token", value=1, owner="a", ttl_s=60)
    assert [e.value for e in context.read(crew.team.pk)] == [1]
    with time_machine.travel(world.now() + timedelta(seconds=61)):
        assert context.read(crew.team.pk) == []
        assert context.share(crew.team.pk, name="token", value=2, owner="b", version=0).version == 1


@pytest.mark.django_db
def test_a_team_reads_its_own_only():
    crew, other = world.make(), world.make()
    context.share(crew.team.pk, name="x", value=1, owner="a")
    assert context.read(other.team.pk, name="x") == []
