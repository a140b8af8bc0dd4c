"""Who may see and do what."""

import pytest
from django.contrib.auth.models import AnonymousUser

from dashboard.access import NOBODY, require_team, viewer_for
from dashboard.live.identity import viewer_of
from tasks_app.domain.errors import Forbidden, NotFound
from tests.factories import TeamFactory, UserFactory

pytestmark = pytest.mark.django_db


def test_a_lead_sees_and_acts_on_their_team_and_no_other() -> None:
    user = UserFactory()
    mine, other = TeamFactory(lead=user), TeamFactory()
    viewer = viewer_for(user)
    assert (viewer.team_ids, viewer.lead_of) == ({mine.pk}, {mine.pk})
    assert viewer.actor == f"user:{user.username}"
    require_team(viewer, mine.pk, act=True)
    with pytest.raises(NotFound):
        require_team(viewer, other.pk)


def test_a_viewer_may_watch_but_not_act_and_is_told_whom_to_ask() -> None:
    user = UserFactory()
    team = TeamFactory(viewer=user)
    viewer = viewer_for(user)
    require_team(viewer, team.pk)
    with pytest.raises(Forbidden, match="Ask its lead"):
        require_team(viewer, team.pk, act=True)


def test_an_unknown_level_gives_sight_only() -> None:
    user = UserFactory()
    team = TeamFactory(viewer=user)
    team.access.update(level="owner")
    viewer = viewer_for(user)
    assert viewer.can_see(team.pk)
    assert not viewer.can_act(team.pk)


def test_a_superuser_leads_every_team() -> None:
    teams = {TeamFactory().pk for _ in range(3)}
    viewer = viewer_for(UserFactory(admin=True))
    assert viewer.superuser
    assert viewer.team_ids == viewer.lead_of == teams


def test_nobody_and_an_inactive_person_see_nothing() -> None:
    user = UserFactory(admin=True, is_active=False)
    TeamFactory(lead=user)
    assert viewer_for(AnonymousUser()) == NOBODY
    assert viewer_for(user) == NOBODY


def test_a_team_that_is_not_there_and_one_of_others_sound_the_same() -> None:
    viewer, other = viewer_for(UserFactory()), TeamFactory()
    with pytest.raises(NotFound) as hidden:
        require_team(viewer, other.pk)
    with pytest.raises(NotFound) as missing:
        require_team(viewer, other.pk + 1000)
    assert hidden.value.message == missing.value.message


def test_a_session_says_who_is_there_until_it_ends(client) -> None:  # type: ignore[no-untyped-def]
    user = UserFactory()
    team = TeamFactory(lead=user)
    client.force_login(user, "django.contrib.auth.backends.ModelBackend")
    key = client.cookies["crewdesk_session"].value
    viewer = viewer_of(key)
    assert viewer
    assert viewer.team_ids == {team.pk}
    client.logout()
    assert viewer_of(key) is None


@pytest.mark.parametrize("key", ["", "x", "\x00", "é" * 40, "x" * 5000])
def test_a_key_that_is_no_session_is_nobody(key: str) -> None:
    assert viewer_of(key) is None


def test_a_changed_password_or_a_blocked_person_ends_the_session(client) -> None:  # type: ignore[no-untyped-def]
    for change in ({"password": "pbkdf2_sha256$1$other$x"}, {"is_active": False}):
        user = UserFactory()
        client.force_login(user, "django.contrib.auth.backends.ModelBackend")
        key = client.cookies["crewdesk_session"].value
        assert viewer_of(key)
        type(user).objects.filter(pk=user.pk).update(**change)
        assert viewer_of(key) is None
