"""One order of locks on PostgreSQL: who changes many runs locks them by their ids, so that no two ever wait for each other."""

import threading
import time

import pytest
from django.db import DatabaseError, connection, transaction

from tasks_app.models import Run
from tasks_app.services import budgets, claims, steps, workers
from tasks_app.services.steps import Batch
from tests.services import world

pytestmark = pytest.mark.django_db(transaction=True)

MANY = {
    "budget": lambda helds: budgets.raise_by(
        "team", team_id=helds[0].team_id, task_id=None, run_id=None, usd="5", tokens=None, actor="user:ada"
    ),
    "claimed": lambda helds: claims.confirmed({held.id: held for held in helds}, worker="w1"),
    "heartbeat": lambda helds: workers.heartbeat("w1", held={held.id: held.fence for held in helds}),
    "steps": lambda helds: steps.record_all([Batch(held.id, held.fence, 0, [world.say()]) for held in helds]),
}


def is_free(run_id):
    try:
        with transaction.atomic():
            return bool(Run.objects.select_for_update(nowait=True).get(pk=run_id))
    except DatabaseError:
        return False


@pytest.mark.parametrize("what", MANY)
def test_who_waits_for_the_first_run_holds_none_of_the_others(what):
    crew = world.make(agents=6, titles=[f"T{n}" for n in range(6)], limits={"parallel": 6})
    by_id = sorted((crew.claim(n, n) for n in range(6)), key=lambda held: held.id)
    Run.objects.update(budget_level="wrap_up")
    stored = Run.objects.order_by("pk").values_list("lease_until", "last_seq", "budget_level")
    before = list(stored)
    with transaction.atomic():
        Run.objects.select_for_update().get(pk=by_id[0].id)
        changing = threading.Thread(target=lambda: world.at_once(1, lambda _: MANY[what](by_id[::-1])))
        changing.start()
        time.sleep(0.5)
        assert changing.is_alive(), "it waits"
        if connection.vendor == "postgresql":  # SQLite locks the whole database
            assert world.at_once(1, lambda _: [is_free(held.id) for held in by_id[1:]]) == [[True] * 5]
    changing.join(20)
    assert all(now != then for now, then in zip(stored.all(), before, strict=True))
