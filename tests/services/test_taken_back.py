"""What is taken back from a lost worker, and what somebody did while the sweep waited for the team's lock."""

import pytest

from tasks_app.models import Run
from tasks_app.services import actions, events, recovery
from tests.services import world

pytestmark = pytest.mark.django_db


@pytest.fixture
def meanwhile(monkeypatch):
    """Let something be committed while who asks next for the lock waits for it, as it can be on PostgreSQL."""

    def before_the_lock(act):
        lock = events.lock

        def locked_late(team_id):
            monkeypatch.setattr(events, "lock", lock)
            act()
            return lock(team_id)

        monkeypatch.setattr(events, "lock", locked_late)

    return before_the_lock


@pytest.mark.parametrize(
    ("stop", "held_back"),
    [
        (lambda held: actions.stop_run(held.id, actor="user:ada"), True),
        (lambda held: actions.stop_team(held.team_id, actor="user:ada"), False),
    ],
    ids=["run", "team"],
)
def test_a_stop_that_comes_while_the_sweep_waits_for_the_lock_is_heard(meanwhile, stop, held_back):
    crew = world.make()
    held = crew.claim()
    world.expire_lease(held.id)
    meanwhile(lambda: stop(held))
    assert recovery.take_back_expired() == 1
    run = Run.objects.get()
    assert (run.status, run.reason, run.stop_asked_by) == ("killed", "stopped", "ada")
    assert (crew.task().status, crew.task().held) == ("pending", held_back)
