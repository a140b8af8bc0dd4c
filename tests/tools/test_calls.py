"""A call of an interrupted life, whose result no transcript holds, is made again by the next life and not done twice."""

import json
from dataclasses import replace

import pytest

from tasks_app.models import Checkpoint, CrewCall, Message, Task
from tasks_app.runners.port import Ask
from tasks_app.services import decisions, transcripts
from tests.services import world
from tests.tools.calls import bad, caller, good

pytestmark = pytest.mark.django_db
CALLS = {
    "TaskCreate": (Task, {"subject": "Write tests", "description": "All of them."}),
    "SendMessage": (Message, {"to": "builder-2", "message": "The schema is ready."}),
    "SaveCheckpoint": (Checkpoint, {"name": "before the merge"}),
}


def next_life(me):
    return replace(me, fence=world.next_life(world.runs.Held(me.run_id, me.fence, me.team_id, me.task_id, me.agent_id)).fence)


def tell(me, tool_use_id):
    """The transcript holds the result of a call."""
    content = [{"type": "tool_result", "tool_use_id": tool_use_id, "content": "done"}]
    entry = {"type": "user", "uuid": tool_use_id, "message": {"role": "user", "content": content}}
    transcripts.append({"project_key": "p", "session_id": "s"}, [entry], run_id=me.run_id, fence=me.fence)


@pytest.mark.parametrize("tool", CALLS)
def test_what_the_transcript_forgot_is_done_once_and_the_agent_is_told_what_came_of_it(me, tool):
    model, arguments = CALLS[tool]
    before = model.objects.count()
    first = good(me, tool, "toolu_1", **arguments)
    again = good(next_life(me), tool, "toolu_2", **arguments)
    assert model.objects.count() == before + 1
    assert again.startswith(first)
    assert "Nothing was done twice" in again


@pytest.mark.parametrize("tool", CALLS)
def test_what_the_transcript_holds_is_meant_when_it_is_done_again(me, tool):
    model, arguments = CALLS[tool]
    before = model.objects.count()
    good(me, tool, "toolu_1", **arguments)
    tell(me, "toolu_1")
    assert "Nothing was done twice" not in good(next_life(me), tool, "toolu_2", **arguments)
    assert model.objects.count() == before + 2


@pytest.mark.parametrize("tool", CALLS)
def test_within_one_life_the_same_again_is_meant_and_the_very_same_call_is_not(me, tool):
    model, arguments = CALLS[tool]
    before = model.objects.count()
    first = good(me, tool, "toolu_1", **arguments)
    assert good(me, tool, "toolu_1", **arguments) == first
    assert model.objects.count() == before + 1
    good(me, tool, "toolu_2", **arguments)
    assert model.objects.count() == before + 2


def test_a_forgotten_call_stands_for_one_repetition(me):
    _, arguments = CALLS["SendMessage"]
    good(me, "SendMessage", "toolu_1", **arguments)
    later = next_life(me)
    good(later, "SendMessage", "toolu_2", **arguments)
    good(later, "SendMessage", "toolu_3", **arguments)
    assert Message.objects.count() == 2


def test_a_life_that_is_interrupted_again_still_finds_the_first_call(me):
    for name in ("toolu_1", "toolu_2", "toolu_3"):
        good(me, "TaskCreate", name, subject="Write tests", description="All.")
        me = next_life(me)
    assert Task.objects.filter(title="Write tests").count() == 1


def test_a_task_is_known_by_its_subject_however_it_is_described_the_second_time(me):
    first = json.loads(good(me, "TaskCreate", "toolu_1", subject="Write  tests", description="All."))
    again = good(next_life(me), "TaskCreate", "toolu_2", subject=" write tests", description="Every single one.")
    assert f'"taskId": "{first["taskId"]}"' in again


def test_another_subject_or_message_is_another_call(me):
    good(me, "TaskCreate", "toolu_1", subject="Write tests", description="All.")
    good(me, "SendMessage", "toolu_2", to="builder-2", message="Ready.")
    later = next_life(me)
    good(later, "TaskCreate", "toolu_3", subject="Write docs", description="All.")
    good(later, "SendMessage", "toolu_4", to="lead", message="Ready.")
    assert (Task.objects.filter(created_by=me.actor).count(), Message.objects.count()) == (2, 2)


def test_what_another_run_did_does_not_count(me, crew):
    _, arguments = CALLS["TaskCreate"]
    good(me, "TaskCreate", "toolu_1", **arguments)
    good(next_life(caller(crew, 1, 1)), "TaskCreate", "toolu_1", **arguments)
    assert Task.objects.filter(title="Write tests").count() == 2


def test_a_refused_call_is_not_remembered(me):
    bad(me, "TaskCreate", subject="x", description="y", role="nobody")
    assert not CrewCall.objects.exists()


def test_an_escalation_asked_again_is_the_same_card(me):
    """Escalate changes nothing itself: its request is known by what it asks."""
    request = Ask(world.DecisionKind.ESCALATION, world.PAYLOADS[world.DecisionKind.ESCALATION], "toolu_1")
    first = decisions.open_for_run(me.run_id, me.fence, request)
    again = decisions.open_for_run(me.run_id, next_life(me).fence, replace(request, tool_use_id="toolu_2"))
    assert again.pk == first.pk


def test_a_value_written_against_the_version_it_was_made_from_does_not_conflict_with_itself(me):
    good(me, "ShareContext", "toolu_1", name="api.url", value="http://x")
    first = good(me, "ShareContext", "toolu_2", name="api.url", value="http://y", version=1)
    later = next_life(me)
    assert good(later, "ShareContext", "toolu_3", name="api.url", value="http://y", version=1).startswith(first)
    assert "at version 2" in bad(later, "ShareContext", name="api.url", value="HTTP://Y", version=1)
