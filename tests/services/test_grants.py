"""What the process of a run may cost: a share of what nobody else holds, and no further than to the next level."""

from decimal import Decimal

import pytest

from tasks_app.domain.errors import LeaseLost
from tasks_app.domain.statuses import Reason, StepKind
from tasks_app.models import Decision, Event, Run, Task, Team
from tasks_app.runners.port import Cost, StepDraft
from tasks_app.services import budgets, endings, events, grants, overruns, recovery, runs, steps
from tests.services import world

pytestmark = pytest.mark.django_db


def crew_of(agents, **changes):
    titles = [f"Task {n}" for n in range(agents)]
    return world.make(agents=agents, titles=titles, limits={"parallel": agents}, rehearsal=False, **changes)


def spends(held, usd, *, process="p"):
    """Its process ends a turn and says what it has cost so far."""
    cost = Cost(f"{held.id}:{held.fence}:{process}", usd)
    after = Run.objects.get(pk=held.id).last_seq
    return steps.record(held.id, held.fence, after=after, drafts=[StepDraft(StepKind.RESULT, "", cost=cost)]).budget


def test_one_alone_gets_what_is_left_until_the_next_level():
    held = crew_of(1, budget_usd=Decimal(10)).claim()
    given = []
    for used in (0, 5, 8, 9, 9.5, 9.9):
        Team.objects.update(used_usd=used)
        given.append(round(grants.give(held.id, held.fence), 4))
    assert given == [8, 3, 1.5, 0.5, 0.5, 0.1]


def test_what_several_are_granted_at_once_is_no_more_than_the_budget():
    crew = crew_of(5, budget_usd=Decimal(20))
    helds = [crew.claim(n, n) for n in range(5)]
    first = [grants.give(held.id, held.fence) for held in helds]
    assert sum(first) <= 16
    assert min(first) > 1, "each can work"
    used, lives = 0.0, 0
    while budgets.read_shared(Team.objects.get()).used < 20:
        for held in helds:  # each spends all that it is granted, again and again
            ceiling = float(Run.objects.get(pk=held.id).usd_ceiling)
            spends(held, ceiling)
            grants.give(held.id, held.fence)
            lives += 1
        used = float(Team.objects.get().used_usd)
        assert lives < 100, "it comes to an end"
    assert used <= 20 + 5 * grants.LEAST_USD


def test_what_another_spends_while_one_waits_for_the_lock_is_granted_to_nobody(monkeypatch):
    """On PostgreSQL the wait lasts as long as the transaction that stores what was spent."""
    held, lock = crew_of(1, budget_usd=Decimal(20)).claim(), events.lock

    def locked_late(team_id):
        Team.objects.update(used_usd=15)
        return lock(team_id)

    monkeypatch.setattr(events, "lock", locked_late)
    assert grants.give(held.id, held.fence) == 1, "to the next level, which is at 16"


def test_what_a_run_that_ended_or_was_parked_had_been_granted_is_free_again():
    crew = crew_of(3, budget_usd=Decimal(20))
    helds = [crew.claim(n, n) for n in range(3)]
    for held in helds:
        grants.give(held.id, held.fence)
    alone = runs.get(helds[0].id)
    assert grants.held(alone, "team") > 5
    runs.park(helds[1].id, helds[1].fence, reason=Reason.INTERRUPTED, interrupted=True)
    endings.finish(helds[2].id, helds[2].fence, endings.stopped_by("user:ada", reason=Reason.STOPPED, held=True))
    assert grants.held(alone, "team") == 0


def test_the_day_of_the_server_is_shared_by_all_teams_and_the_budget_of_a_task_by_nobody(settings):
    settings.DAY_USD = 10
    one, other = crew_of(1, budget_usd=Decimal(50)), crew_of(1, budget_usd=Decimal(50), name="Other", slug="other")
    first, second = one.claim(), other.claim()
    assert grants.give(first.id, first.fence) == 8
    assert grants.give(second.id, second.fence) == 2
    Task.objects.update(budget_usd=Decimal(1))
    assert grants.give(second.id, second.fence) == 0.8


def test_a_rehearsal_and_a_run_whose_limit_is_waived_have_no_ceiling():
    rehearsed = world.make(rehearsal=True).claim()
    assert grants.give(rehearsed.id, rehearsed.fence) is None
    waived = crew_of(1, name="Real", slug="real").claim()
    budgets.use_smaller_model(runs.get(waived.id), actor="user:ada")
    assert grants.give(waived.id, waived.fence) is None
    assert set(Run.objects.values_list("usd_ceiling", flat=True)) == {None}


def test_a_life_that_is_over_is_granted_nothing():
    held = crew_of(1).claim()
    world.next_life(held)
    with pytest.raises(LeaseLost):
        grants.give(held.id, held.fence)
    assert Run.objects.get().usd_ceiling is None


def test_a_run_that_has_spent_its_share_goes_on_without_a_question_and_is_told_of_the_level():
    crew = crew_of(1, budget_usd=Decimal(10))
    held = crew.claim()
    grants.give(held.id, held.fence)
    reading = spends(held, 8.01)
    assert budgets.note_level(held.id, reading)
    overruns.park(held.id, held.fence, ask_anyway=True)
    assert not Decision.objects.exists()
    assert recovery.due_runs() == [held.id]
    assert Event.objects.filter(kind="run.parked").latest("seq").data["reason"] == "share_spent"
    world.take(held.id)
    assert "8.01 of 10.00 usd of the team. Wrap up" in grants.told_again(runs.get(held.id))


def test_a_run_that_has_spent_its_share_waits_while_others_hold_the_rest():
    crew = crew_of(2, budget_usd=Decimal(10))
    held, other = crew.claim(), crew.claim(1, 1)
    grants.give(held.id, held.fence)
    Run.objects.filter(pk=other.id).update(usd_ceiling=Decimal("4.9"))
    spends(held, 5.0)
    overruns.park(held.id, held.fence, ask_anyway=True)
    assert recovery.due_runs() == []
    assert 0 < Run.objects.get(pk=held.id).due_at - world.now().timestamp() <= grants.WAIT_S
    assert not Decision.objects.exists()


def test_a_process_that_stops_before_what_it_was_granted_is_asked_about():
    """Our count and Claude Code's do not agree: to go on would begin for ever."""
    held = crew_of(1, budget_usd=Decimal(10)).claim()
    grants.give(held.id, held.fence)
    spends(held, 0.5)
    overruns.park(held.id, held.fence, ask_anyway=True)
    assert Decision.objects.get().kind == "budget"


def test_a_level_that_no_life_has_passed_is_not_told_at_the_start():
    held = crew_of(1, budget_usd=Decimal(10)).claim()
    Team.objects.update(used_usd=9)
    assert grants.told_again(runs.get(held.id)) == ""
    assert budgets.note_level(held.id, budgets.read(held.id))
    assert grants.told_again(runs.get(held.id))
    Team.objects.update(budget_usd=100)
    assert grants.told_again(runs.get(held.id)) == "", "it was raised"
