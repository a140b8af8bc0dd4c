"""The fence: what a life that lost its run still writes is refused and changes nothing; what is repeated changes nothing."""

import pytest

from tasks_app.domain import budget
from tasks_app.domain.errors import LeaseLost
from tasks_app.domain.statuses import DecisionKind, Reason, RunStatus, StepKind
from tasks_app.models import Event, Run, Step, Team, TranscriptEntry
from tasks_app.runners.port import StepDraft
from tasks_app.services import budgets, decisions, deliveries, endings, events, messages, runs, steps, transcripts
from tests.services import world

KEY = {"project_key": "p", "session_id": "s"}


def asked(held):
    return decisions.open_for_run(held.id, held.fence, world.ask())


WRITES = {
    "record": lambda h: steps.record(h.id, h.fence, after=0, drafts=[world.say(usage=world.usage(), cost=world.cost("p", 1.0))]),
    "record a repeat": lambda h: steps.record(h.id, h.fence, after=-1, drafts=[world.say()]),
    "report": lambda h: runs.report(h.id, h.fence, {"status": "completed"}),
    "park": lambda h: runs.park(h.id, h.fence, reason=Reason.PARKED, interrupted=False),
    "finish": lambda h: endings.finish(h.id, h.fence, endings.Ending(RunStatus.COMPLETED, Reason.DONE)),
    "note_session": lambda h: runs.note_session(h.id, h.fence, "session"),
    "note_process": lambda h: runs.note_process(h.id, h.fence, 99),
    "count_death": lambda h: runs.count_death(h.id, h.fence, overflowed=False),
    "transcripts.append": lambda h: transcripts.append(KEY, [{"type": "user", "uuid": "u"}], run_id=h.id, fence=h.fence),
    "open_for_run": lambda h: decisions.open_for_run(h.id, h.fence, world.ask(input={"command": "other"})),
    "take_due": lambda h: messages.take_due(h.agent_id, run_id=h.id, fence=h.fence),
}


@pytest.fixture
def crew(db):
    made = world.make(titles=("A", "B"))
    messages.send(made.team.pk, sender_agent_id=None, to="builder-1", body="Hello.", actor="user:lead")
    return made


@pytest.mark.parametrize("name", list(WRITES))
@pytest.mark.parametrize("gone", ["taken over", "parked", "ended", "deleted"])
def test_every_write_of_a_stale_life_is_refused_and_changes_nothing(crew, name, gone):
    held = crew.claim()
    decision = asked(held)
    world.answer(decision, "allow")
    if gone == "taken over":
        world.next_life(held)
    elif gone == "parked":
        runs.park(held.id, held.fence, reason=Reason.INTERRUPTED, interrupted=True)
    elif gone == "ended":
        endings.finish(held.id, held.fence, endings.Ending(RunStatus.FAILED, Reason.ERROR))
    else:
        Run.objects.all().delete()
    before = world.frozen(crew.team)
    with pytest.raises(Exception, match=r"belongs to another worker|does not exist any more"):
        WRITES[name](held)
    assert world.frozen(crew.team) == before
    assert not TranscriptEntry.objects.exists()


def test_a_stale_life_gets_no_answer(crew):
    held = crew.claim()
    decision = asked(held)
    world.answer(decision, "allow")
    world.next_life(held)
    before = world.frozen(crew.team)
    with pytest.raises(LeaseLost):
        deliveries.deliver(decision.pk, held.fence)
    assert world.frozen(crew.team) == before


def test_a_commit_that_was_not_seen_may_be_repeated_and_changes_nothing(crew):
    held = crew.claim()
    drafts = [world.say("one", usage=world.usage()), world.say("two", cost=world.cost("p", 0.5))]
    assert steps.record(held.id, held.fence, after=0, drafts=drafts).last == 2
    before = world.frozen(crew.team)
    assert steps.record(held.id, held.fence, after=0, drafts=drafts).last == 2
    assert world.frozen(crew.team) == before
    assert list(Step.objects.order_by("seq").values_list("seq", "text")) == [(1, "one"), (2, "two")]


def test_steps_that_do_not_follow_the_last_ones_are_refused(crew):
    held = crew.claim()
    steps.record(held.id, held.fence, after=0, drafts=[world.say()])
    for after in (5, 0):
        with pytest.raises(LeaseLost):
            steps.record(held.id, held.fence, after=after, drafts=[world.say(), world.say(), world.say()])
    assert Step.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_the_log_is_gapless_under_eight_writers():
    crew = world.make(agents=8, titles=[f"T{n}" for n in range(8)], limits={"parallel": 8})
    lives = [crew.claim(n, n) for n in range(8)]

    def write(number):
        held = lives[number]
        for after in range(10):
            steps.record(held.id, held.fence, after=after, drafts=[world.say(f"{number}.{after}")])

    assert world.at_once(8, write) == [None] * 8
    seqs = list(Event.objects.filter(team=crew.team).order_by("seq").values_list("seq", flat=True))
    assert seqs == list(range(1, len(seqs) + 1))
    assert Team.objects.get().last_seq == len(seqs)
    assert Step.objects.count() == 80


@pytest.mark.django_db(transaction=True)
def test_an_event_outside_the_transaction_of_its_change_is_a_fault_of_ours_and_stores_nothing():
    crew = world.make()
    before = world.frozen(crew.team)
    with pytest.raises(RuntimeError, match="commit together"):
        events.append(crew.team.pk, events.EventKind.NOTE)
    with pytest.raises(RuntimeError, match="commit together"):
        events.lock(crew.team.pk)
    assert world.frozen(crew.team) == before


@pytest.mark.django_db(transaction=True)
def test_hints_leave_after_the_commit_with_the_teams_number_and_keys(hints):
    crew = world.make()
    held = crew.claim()
    hints.browsers.clear()
    steps.record(held.id, held.fence, after=0, drafts=[world.say(usage=world.usage())])
    team, seq, keys = hints.browsers[-1]
    assert (team, seq) == (crew.team.pk, Team.objects.get().last_seq)
    shown = {f"doing:{held.agent_id}", f"run:{held.id}", f"steps:{team}"}
    figures = {f"team:{team}", f"agent:{held.agent_id}", f"task:{held.task_id}"}
    assert set(keys) == shown | figures


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("draft", "figures"),
    [
        (world.say(), False),
        (StepDraft(StepKind.TOOL_RESULT, "ok", tool_use_id="toolu_1"), False),
        (world.say(context_tokens=100), True),
        (StepDraft(StepKind.NOTICE, "compacted", context_reset=True), True),
        (world.say(cost=world.cost("p", 0.5)), True),
    ],
)
def test_a_step_makes_what_shows_figures_stale_only_where_it_changes_one(hints, draft, figures):
    crew = world.make()
    held = crew.claim()
    hints.browsers.clear()
    steps.record(held.id, held.fence, after=0, drafts=[draft])
    keys = set(hints.browsers[-1][2])
    assert {f"doing:{held.agent_id}", f"run:{held.id}", f"steps:{crew.team.pk}"} <= keys
    assert keys.isdisjoint({f"team:{crew.team.pk}", f"agent:{held.agent_id}"}) is not figures


def test_every_change_of_a_level_is_told_once_whoever_repeats_it(crew):
    held = crew.claim()
    reading = budgets.Reading(budget.Level.WRAP_UP, "team", "usd", 17.0, 20.0)
    assert budgets.note_level(held.id, reading) is True
    assert budgets.note_level(held.id, reading) is False
    assert world.kinds(crew.team).count("budget.level") == 1


def test_a_life_that_opens_the_same_request_twice_gets_one_decision(crew):
    held = crew.claim()
    asks = [decisions.open_for_run(held.id, held.fence, world.ask(DecisionKind.PLAN)) for _ in range(3)]
    assert len({d.pk for d in asks}) == 1
