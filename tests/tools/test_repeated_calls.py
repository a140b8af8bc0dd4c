"""A crew call that an agent repeats after an interruption, because it forgot it, is not done twice; a meant one is."""

from dataclasses import replace

import pytest

from tasks_app.models import Checkpoint, Message, Task
from tasks_app.services import transcripts
from tasks_app.services.runs import Held
from tests.services import world
from tests.tools.calls import good

pytestmark = pytest.mark.django_db
KEY = {"project_key": "p", "session_id": "s"}


@pytest.fixture
def next_life(me):
    def begin():
        return replace(me, fence=world.next_life(Held(me.run_id, me.fence, me.team_id, me.task_id, me.agent_id)).fence)

    return begin


def returned(me, tool_use_id):
    """The result of a call reaches the transcript of this life."""
    content = [{"type": "tool_result", "tool_use_id": tool_use_id, "content": "ok"}]
    line = {"type": "user", "uuid": tool_use_id, "message": {"role": "user", "content": content}}
    transcripts.append(KEY, [line], run_id=me.run_id, fence=me.fence)


def test_a_task_that_was_made_before_the_interruption_is_not_made_again(me, next_life):
    first = good(me, "TaskCreate", "toolu_1", subject="Docs", description="All of it")
    again = good(next_life(), "TaskCreate", "toolu_2", subject="docs ", description="All of it, said anew")
    assert again.startswith(first)
    assert "Nothing was done twice." in again
    assert Task.objects.filter(title="Docs").count() == 1


def test_but_a_second_one_of_the_same_name_is_made_when_it_is_meant(me, next_life):
    good(me, "TaskCreate", "toolu_1", subject="Docs", description="All of it")
    returned(me, "toolu_1")
    later = next_life()
    good(later, "TaskCreate", "toolu_2", subject="Docs", description="All of it")
    assert Task.objects.filter(title="Docs").count() == 2


def test_within_one_life_the_same_words_twice_are_two_messages(me):
    good(me, "SendMessage", "toolu_1", to="builder-2", message="Ready?")
    good(me, "SendMessage", "toolu_2", to="builder-2", message="Ready?")
    assert Message.objects.count() == 2


def test_each_forgotten_call_stands_for_one_repetition(me, next_life):
    for number in (1, 2):
        good(me, "SendMessage", f"toolu_{number}", to="builder-2", message="Ready?")
    later = next_life()
    for number in (3, 4, 5):
        good(later, "SendMessage", f"toolu_{number}", to="builder-2", message="Ready?")
    assert Message.objects.count() == 3


def test_a_checkpoint_is_saved_once(me, next_life):
    good(me, "SaveCheckpoint", "toolu_1", name="before")
    good(next_life(), "SaveCheckpoint", "toolu_2", name="before")
    assert Checkpoint.objects.count() == 1
