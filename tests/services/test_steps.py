"""Steps: usage is counted once, cost once per process, whatever is replayed."""

from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tasks_app.domain.statuses import StepKind
from tasks_app.models import Agent, MessageUsage, Run, Step, Team
from tasks_app.runners.port import StepDraft
from tasks_app.services import runs, steps
from tests.services import world

pytestmark = pytest.mark.django_db


@pytest.fixture
def crew():
    return world.make(titles=("A", "B"))


def record(held, *drafts):
    last = Run.objects.values_list("last_seq", flat=True).get(pk=held.id)
    return steps.record(held.id, held.fence, after=last, drafts=list(drafts)).last


def tokens(row):
    return (row.input_tokens, row.cache_creation_tokens, row.cache_read_tokens, row.output_tokens)


def test_one_message_in_three_rows_is_counted_once_also_after_a_resume_and_a_subagents_apart(crew):
    """N29"""
    held = crew.claim()
    rows = [world.say(usage=world.usage("msg_1", output=n)) for n in (8, 8, 212)]
    record(held, *rows)
    later = world.next_life(held)
    record(later, *rows)
    record(later, world.say(usage=world.usage("msg_sub", output=5, subagent="toolu_task")))
    by_message = {u.message_id: u for u in MessageUsage.objects.all()}
    assert tokens(by_message["msg_1"]) == (3, 9284, 63347, 212)
    assert (tokens(by_message["msg_sub"]), by_message["msg_sub"].subagent) == ((3, 9284, 63347, 5), "toolu_task")
    assert tokens(Run.objects.get()) == (6, 18568, 126694, 217)
    total = 6 + 18568 + 126694 + 217
    assert [Team.objects.get().used_tokens, crew.task().used_tokens] == [total, total]
    agent = Agent.objects.get(pk=held.agent_id)
    assert (agent.used_tokens, agent.cached_tokens) == (total, 126694)


def test_a_message_replayed_by_another_run_of_the_team_is_not_paid_twice(crew):
    first, second = crew.claim(0, 0), crew.claim(1, 1)
    record(first, world.say(usage=world.usage("msg_1", output=212)))
    record(second, world.say(usage=world.usage("msg_1", output=212)))
    assert Team.objects.get().used_tokens == 3 + 9284 + 63347 + 212
    assert crew.task(1).used_tokens == 0


def call(tool, message_id="msg_1", usage=None):
    return StepDraft(StepKind.TOOL_CALL, tool, {"tool": tool}, message_id=message_id, usage=usage)


def test_a_message_that_agrees_with_others_is_marked_also_where_its_call_comes_in_a_later_batch(crew):
    held = crew.claim()
    record(held, world.say(usage=world.usage("msg_1")), world.say(usage=world.usage("msg_2")))
    record(held, call("mcp__crew__SendMessage"), call("Bash", "msg_2"))
    record(held, call("AskUserQuestion", "msg_3", world.usage("msg_3", output=400)))
    assert dict(MessageUsage.objects.values_list("message_id", "coordinates")) == {"msg_1": True, "msg_2": False, "msg_3": True}
    record(held, world.say(usage=world.usage("msg_1", output=500)))
    assert MessageUsage.objects.get(message_id="msg_1").coordinates, "growing tokens must not unmark it"


def test_messages_without_an_id_count_each_by_themselves(crew):
    held = crew.claim()
    record(held, world.say(usage=world.usage("", output=10)), world.say(usage=world.usage("", output=10)))
    assert Run.objects.get().output_tokens == 20


def test_in_one_batch_a_message_grows_another_is_new_and_one_is_a_repeat(crew):
    held = crew.claim()
    record(held, world.say(usage=world.usage("msg_1", output=8)), world.say(usage=world.usage("msg_2", output=1)))
    batch = [world.usage("msg_1", output=212), world.usage("msg_2", output=1), world.usage("msg_3", output=5)]
    record(held, *(world.say(usage=usage) for usage in [*batch, world.usage("msg_3", output=7)]))
    assert {u.message_id: u.output_tokens for u in MessageUsage.objects.all()} == {"msg_1": 212, "msg_2": 1, "msg_3": 7}
    assert Run.objects.get().output_tokens == 220


def test_a_batch_takes_as_many_queries_with_sixty_steps_as_with_one(crew):
    held = crew.claim()

    def queries(number):
        drafts = [
            world.say(usage=world.usage(f"msg_{number}_{n}"), cost=world.cost(f"p{number}", n + 1.0), context_tokens=n)
            for n in range(number)
        ]
        with CaptureQueriesContext(connection) as found:
            record(held, *drafts)
        return [q["sql"] for q in found if not q["sql"].startswith(("BEGIN", "SAVEPOINT", "RELEASE"))]

    queries(2)  # the day of the server's budget, and what the driver asks once
    one, sixty = queries(1), queries(60)
    assert len(one) == len(sixty) <= 16, sixty


def test_cost_is_cumulative_per_process_and_begins_again_with_a_new_one(crew):
    held = crew.claim()
    assert Run.objects.get().cost_usd is None, "not reported is not 0"
    assert Team.objects.get().cost_known is False
    for process, usd in (("p1", 0.10), ("p1", 0.25), ("p1", 0.25), ("p1", 0.20), ("p2", 0.05), ("p2", 0.15)):
        record(held, world.say(cost=world.cost(process, usd)))
    assert Run.objects.get().cost_usd == Decimal("0.40")
    assert (Team.objects.get().used_usd, Team.objects.get().cost_known) == (Decimal("0.40"), True)
    assert (crew.task().used_usd, Agent.objects.get(pk=held.agent_id).used_usd) == (Decimal("0.40"), Decimal("0.40"))


def test_a_process_that_has_cost_nothing_has_reported_all_the_same(crew):
    record(crew.claim(), world.say(cost=world.cost("p1", 0.0)))
    assert (Run.objects.get().cost_usd, Team.objects.get().cost_known) == (Decimal(0), True)


@pytest.mark.parametrize("usd", [float("nan"), float("inf"), -1.0, 1e-9])
def test_a_cost_that_is_no_money_adds_nothing_and_breaks_nothing(crew, usd):
    held = crew.claim()
    record(held, world.say(cost=world.cost("p1", 0.5)), world.say(cost=world.cost("p2", usd)))
    assert Run.objects.get().cost_usd == Decimal("0.5")


def test_context_is_that_of_the_last_response_its_peak_stays_and_compaction_makes_it_unknown(crew):
    held = crew.claim()
    record(held, world.say(context_tokens=150_000, context_window=200_000), world.say(context_tokens=90_000))
    run = Run.objects.get()
    assert (run.context_tokens, run.context_peak, run.context_window) == (90_000, 150_000, 200_000)
    record(held, world.say(context_reset=True))
    run, agent = Run.objects.get(), Agent.objects.get(pk=held.agent_id)
    assert (run.context_tokens, agent.context_tokens) == (None, None)
    assert agent.compacted_at is not None
    record(held, world.say(context_tokens=20_000))
    run = Run.objects.get()
    assert (run.context_tokens, Agent.objects.get(pk=held.agent_id).context_tokens) == (20_000, 20_000)
    assert (run.context_first, run.context_peak) == (150_000, 150_000)


def test_the_first_context_of_a_run_stays_what_it_was(crew):
    held = crew.claim()
    record(held, world.say())
    assert Run.objects.get().context_first is None, "not measured is not 0"
    record(held, world.say(context_tokens=40_000), world.say(context_tokens=60_000))
    later = world.next_life(held)
    record(later, world.say(context_tokens=90_000))
    run = Run.objects.get()
    assert (run.context_first, run.context_peak) == (40_000, 90_000)


def test_hostile_text_is_stored_cleaned_and_masked_and_the_rest_is_exact(crew):
    """N20"""
    held = crew.claim()
    body = "🚀é漢" * 350_000
    draft = StepDraft(StepKind.TOOL_RESULT, body, {"output": "현\ud99c \0 👩‍👩‍👧‍👦", "password": "hunter2hunter2"}, "toolu_1")
    record(held, draft, world.say("key sk-ant-api03-" + "a" * 40 + "\0\udc00"))
    first, second = Step.objects.order_by("seq")
    assert first.text == body
    assert first.data == {"output": "현\ufffd  👩‍👩‍👧‍👦", "password": "***"}
    assert second.text == "key sk-ant-api03-***\ufffd"


@pytest.mark.parametrize("id_", ["x" * 500, "t\0ool", "\ud800"])
def test_ids_that_no_column_takes_do_not_break_the_record(crew, id_):
    held = crew.claim()
    record(
        held, StepDraft(StepKind.TOOL_CALL, "Bash", {}, id_, id_), world.say(usage=world.usage(id_), cost=world.cost(id_, 0.1))
    )
    assert Step.objects.count() == 2


def test_the_agents_line_says_what_it_does_now_and_a_subagent_does_not_speak_for_it(crew):
    held = crew.claim()
    call = StepDraft(
        StepKind.TOOL_CALL, "", {"tool": "Bash", "input": {"command": "pytest -q\n--token=abcdefabcdef12345678"}}, "t1"
    )
    record(held, world.say("I begin."), call, StepDraft(StepKind.SAID, "sub", parent_tool_use_id="t1"))
    line = Agent.objects.get(pk=held.agent_id).now_text
    assert line.startswith("Bash pytest -q")
    assert "abcdef" not in line
    record(held, StepDraft(StepKind.TOOL_RESULT, "1 passed", tool_use_id="t1"))
    assert Agent.objects.get(pk=held.agent_id).now_text == line


def test_a_step_sets_the_count_of_crashes_back(crew):
    held = crew.claim()
    runs.count_death(held.id, held.fence, overflowed=False)
    record(held, world.say())
    assert (Run.objects.get().crashes, Run.objects.get().handoffs) == (0, 1)


def test_our_own_prompt_is_no_work_and_leaves_the_count_of_crashes(crew):
    held = crew.claim()
    runs.count_death(held.id, held.fence, overflowed=False)
    record(held, StepDraft(StepKind.PROMPT, "Go on."))
    assert Run.objects.get().crashes == 1


def test_a_note_of_the_system_continues_the_numbers(crew):
    held = crew.claim()
    record(held, world.say())
    steps.note(held.id, "Taken back.\0")
    assert list(Step.objects.order_by("seq").values_list("seq", "kind", "text"))[-1] == (2, "notice", "Taken back.")
    assert record(held, world.say()) == 3
