"""Steps of several runs in one commit: the same as one after another, and what one of them has lost is its own."""

from decimal import Decimal

import pytest
from django.db import DataError, connection
from django.test.utils import CaptureQueriesContext

from tasks_app.domain.errors import LeaseLost
from tasks_app.models import Agent, Event, MessageUsage, Run, Step, Task, Team
from tasks_app.services import steps
from tasks_app.services.steps import Batch, Recorded
from tests.services import world

pytestmark = pytest.mark.django_db


def crew_of(count, **limits):
    crew = world.make(agents=count, titles=[f"T{n}" for n in range(count)], limits={"parallel": count, **limits})
    return crew, [crew.claim(n, n) for n in range(count)]


def spending(held, name):
    """Two steps; the second has used something."""
    return Batch(held.id, held.fence, 0, [world.say(), world.say(usage=world.usage(name), cost=world.cost(name, 0.5))])


def stored():
    """All that recording changes, without ids and moments."""
    rows = [
        Step.objects.order_by("run__task__number", "seq").values_list("run__task__number", "seq", "fence", "kind", "text"),
        Run.objects.order_by("task__number").values_list("last_seq", "output_tokens", "cost_usd", "crashes", "cost_due"),
        Task.objects.order_by("number").values_list("used_tokens", "used_usd"),
        Agent.objects.order_by("position").values_list("used_tokens", "used_usd", "now_text", "cost_known"),
        Team.objects.values_list("used_tokens", "used_usd", "cost_known"),
        MessageUsage.objects.order_by("message_id").values_list("message_id", "output_tokens"),
    ]
    return [list(found) for found in rows]


def test_it_stores_what_one_after_another_would():
    _, helds = crew_of(3)
    batches = [spending(held, f"m{n}") for n, held in enumerate(helds)]
    assert [found.last for found in steps.record_all(batches)] == [2, 2, 2]
    together, lines = stored(), list(Event.objects.filter(kind="run.steps").order_by("seq").values_list("run_id", "data", "keys"))
    assert [line[:2] for line in lines] == [(run_id, {"first": 1, "last": 2}) for run_id in sorted(h.id for h in helds)]
    seqs = list(Event.objects.order_by("seq").values_list("seq", flat=True))
    assert seqs == list(range(1, Team.objects.get().last_seq + 1))
    Team.objects.all().delete()
    _, helds = crew_of(3)
    for n, held in enumerate(helds):
        steps.record(held.id, held.fence, after=0, drafts=spending(held, f"m{n}").drafts)
    assert stored() == together


def test_it_takes_the_lock_counts_and_appends_once_for_all():
    _, helds = crew_of(8)
    with CaptureQueriesContext(connection) as alone:
        steps.record_all([Batch(helds[0].id, helds[0].fence, 0, [world.say()])])
    with CaptureQueriesContext(connection) as all_of_them:
        steps.record_all([Batch(held.id, held.fence, 0, [world.say()]) for held in helds[1:]])
    shared = [one["sql"] for one in all_of_them if "tasks_app_event" in one["sql"] or "FOR UPDATE" in one["sql"]]
    assert len(shared) == (2 if connection.features.has_select_for_update else 1)
    assert len(all_of_them) < 5 * len(alone)


def test_a_life_that_is_over_or_gone_changes_nothing_and_keeps_nobody_else_from_it():
    crew, helds = crew_of(3)
    batches = [spending(held, f"m{n}") for n, held in enumerate(helds)]
    Run.objects.filter(pk=helds[1].id).update(fence=2)
    gone = Batch("a00000000", 1, 0, [world.say()])
    kinds = [type(found) for found in steps.record_all([batches[0], batches[1], gone, batches[2]])]
    assert kinds == [Recorded, LeaseLost, LeaseLost, Recorded]
    assert [crew.task(n).used_tokens > 0 for n in range(3)] == [True, False, True]
    assert set(Step.objects.values_list("run_id", flat=True)) == {helds[0].id, helds[2].id}
    assert [type(found) for found in steps.record_all([gone])] == [LeaseLost]


@pytest.mark.parametrize("order", [1, -1])
def test_of_two_lives_of_one_run_only_the_one_that_holds_it_is_stored(order):
    _, [held] = crew_of(1)
    old = Batch(held.id, held.fence, 0, [world.say("old"), world.say("older")])
    now = world.next_life(held)
    new = Batch(now.id, now.fence, 0, [world.say("new")])
    kinds = [type(found) for found in steps.record_all([old, new][::order])]
    assert kinds == [LeaseLost, Recorded][::order]
    assert list(Step.objects.values_list("seq", "fence", "text")) == [(1, now.fence, "new")]


def test_a_repeated_call_changes_nothing_where_one_of_them_is_new():
    _, helds = crew_of(2)
    first = spending(helds[0], "m0")
    steps.record_all([first])
    before = Event.objects.count()
    assert [found.last for found in steps.record_all([first, spending(helds[1], "m1")])] == [2, 2]
    assert (Step.objects.count(), Event.objects.count()) == (4, before + 1)
    assert Team.objects.get().used_usd == Decimal(1)


def test_what_the_others_have_used_in_the_same_commit_brakes_too():
    crew, helds = crew_of(2)
    Team.objects.filter(pk=crew.team.pk).update(budget_tokens=200_000)
    found = steps.record_all([Batch(h.id, h.fence, 0, [world.say(usage=world.usage(f"m{n}"))]) for n, h in enumerate(helds)])
    used = Team.objects.get().used_tokens
    assert used > 100_000
    assert [(one.budget.scope, one.budget.used) for one in found] == [("team", used)] * 2


def test_any_other_error_undoes_them_all(monkeypatch):
    _, helds = crew_of(2)

    def broken(*_, **__):
        raise DataError("no such text")

    monkeypatch.setattr(steps.events, "append_all", broken)
    with pytest.raises(DataError):
        steps.record_all([Batch(held.id, held.fence, 0, [world.say()]) for held in helds])
    assert not Step.objects.exists()
