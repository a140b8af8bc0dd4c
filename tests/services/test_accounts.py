"""What changes an account or its access: guarded, in one transaction, and open pages hear of it."""

import pytest
from django.contrib.auth import get_user_model
from django.db import IntegrityError

from tasks_app import wake
from tasks_app.domain.errors import Conflict, NotFound
from tasks_app.models import TeamAccess
from tasks_app.selectors import accounts as reading
from tasks_app.services import accounts, keys
from tests.factories import PASSWORD, TeamAccessFactory, TeamFactory, UserFactory
from tests.services.world import at_once


@pytest.mark.django_db(transaction=True)
def test_of_two_administrators_who_disable_each_other_at_once_one_stays():
    both = [UserFactory(admin=True).pk for _ in range(2)]

    first, second = at_once(2, lambda number: accounts.disable(both[number]))
    refused = first or second
    assert isinstance(refused, Conflict)
    assert "is the last administrator who may sign in" in refused.message
    assert None in (first, second)
    assert get_user_model().objects.filter(is_active=True).count() == 1


@pytest.mark.django_db(transaction=True)
def test_every_change_of_rights_has_open_pages_ask_again_once_it_is_stored(monkeypatch):
    heard = []
    monkeypatch.setattr(wake, "browsers", lambda team, seq, names: heard.append((team, set(names))))
    user, team = UserFactory(), TeamFactory()
    UserFactory(admin=True)
    changes = (
        lambda: accounts.let_in(user.pk, team.pk, level="viewer"),
        lambda: accounts.let_in(user.pk, team.pk, level="lead"),
        lambda: accounts.shut_out(user.pk, team.pk),
        lambda: accounts.set_password(user.pk, PASSWORD),
        lambda: accounts.disable(user.pk),
        lambda: accounts.enable(user.pk),
    )
    for number, change in enumerate(changes, start=1):
        change()
        assert len(heard) == number
    assert all(team > 0 and keys.TEAMS in names for team, names in heard)
    with pytest.raises(Conflict):
        accounts.enable(user.pk)
    assert len(heard) == len(changes)


@pytest.mark.django_db
def test_a_name_that_another_command_took_in_the_same_moment_is_taken(monkeypatch):
    def taken(*_, **__):
        raise IntegrityError("duplicate key")

    monkeypatch.setattr(type(get_user_model().objects), "create", taken)
    with pytest.raises(Conflict, match="There is an account “ada” already"):
        accounts.add("ada", password=None)


@pytest.mark.django_db
def test_who_or_what_is_gone_is_said():
    user, team = UserFactory(), TeamFactory()
    with pytest.raises(NotFound, match="The account is gone"):
        accounts.disable(user.pk + 1_000)
    with pytest.raises(NotFound):
        accounts.let_in(user.pk, team.pk + 1_000, level="lead")
    assert not TeamAccess.objects.exists()


@pytest.mark.django_db
def test_the_people_of_a_team_are_those_who_may_sign_in_and_see_it():
    team = TeamFactory(lead=UserFactory(username="ada"), viewer=UserFactory(username="ben"))
    TeamAccessFactory(team=team, user=UserFactory(username="cleo", is_active=False))
    TeamAccessFactory(user=UserFactory(username="dora"))
    boss = UserFactory(username="boss", admin=True)
    TeamAccessFactory(team=team, user=boss, level="viewer")
    people = [(person.name, person.leads, person.admin) for person in reading.people_of(team.pk)]
    assert people == [("ada", True, False), ("ben", False, False), ("boss", True, True)]
