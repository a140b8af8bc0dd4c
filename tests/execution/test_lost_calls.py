"""What an agent did in the last moment before a crash is told to the life that goes on, for its transcript does not hold it."""

import pytest
from django.utils import timezone

from tasks_app.domain import lost_calls
from tasks_app.domain.lost_calls import LostCall
from tasks_app.domain.statuses import DecisionKind, Reason
from tasks_app.models import Decision
from tasks_app.runners.port import Outcome, OutcomeKind, Parked
from tests.execution.lives import Scripted, done, drive_on, outcome, told
from tests.services import world

PERMISSION, QUESTION = DecisionKind.PERMISSION, DecisionKind.QUESTION
pytestmark = pytest.mark.usefixtures("scripted", "database_threads")


def test_calls_that_the_transcript_lost_are_told_with_what_came_of_them_until_the_agent_knows(crew):
    held = crew.claim()

    async def dies(given, port):
        await port.note_session(given.new_session_id)
        place = {"project_key": "p", "session_id": given.new_session_id}
        known = {"type": "assistant", "uuid": "2", "message": {"content": [{"type": "tool_use", "id": "toolu_1"}]}}
        await port.session_store.append(place, [told(given, uuid="1"), known])
        await port.emit(
            [bash("toolu_1", "one"), came("toolu_1", "1 passed"), bash("toolu_2", "two"), came("toolu_2", "2 passed")]
        )
        await port.emit([bash("toolu_3", "three"), came("toolu_3", "[Request interrupted by user for tool use]", is_error=True)])
        return Outcome(OutcomeKind.PARKED, Reason.INTERRUPTED)

    async def is_told_and_dies(given, port):
        await port.session_store.append({"project_key": "p", "session_id": given.session_id}, [told(given, uuid="3")])
        return Outcome(OutcomeKind.PARKED, Reason.INTERRUPTED)

    drive_on(held, dies)
    drive_on(world.take(held.id), outcome(OutcomeKind.PARKED, Reason.INTERRUPTED))
    assert lost_calls.read(Scripted.specs[0].prompt) == [
        LostCall("toolu_1", "Bash", '{"command": "one"}', "1 passed"),
        LostCall("toolu_2", "Bash", '{"command": "two"}', "2 passed"),
        LostCall("toolu_3", "Bash", '{"command": "three"}'),
    ]
    drive_on(world.take(held.id), is_told_and_dies)
    assert len(lost_calls.read(Scripted.specs[0].prompt)) == 3, "the prompt of the life before reached no transcript"
    drive_on(world.take(held.id), done())
    assert "[crewdesk:interrupted]" in Scripted.specs[0].prompt
    assert lost_calls.read(Scripted.specs[0].prompt) == []


def test_calls_of_a_life_that_left_no_transcript_are_told_with_the_first_prompt(crew):
    held = crew.claim()

    async def dies(given, port):
        await port.emit([bash("toolu_1", "one")])
        return Outcome(OutcomeKind.PARKED, Reason.INTERRUPTED)

    drive_on(held, dies)
    drive_on(world.take(held.id), done())
    prompt = Scripted.specs[0].prompt
    assert "[crewdesk:task " in prompt
    assert [call.id for call in lost_calls.read(prompt)] == ["toolu_1"]


def bash(name, command):
    return world.StepDraft(world.StepKind.TOOL_CALL, "Bash", {"tool": "Bash", "input": {"command": command}}, name)


def came(name, text, *, is_error=False):
    return world.StepDraft(world.StepKind.TOOL_RESULT, text, {"is_error": is_error}, name)


def parking(*lines):
    """A life that asks for a command and is parked; its transcript holds the prompt and these lines."""

    async def parks(given, port):
        await port.note_session(given.new_session_id)
        await port.session_store.append({"project_key": "p", "session_id": given.new_session_id}, [told(given, uuid="1"), *lines])
        await port.emit([bash("toolu_1", "mkdir a")])
        port._grace_s = 0
        with pytest.raises(Parked):
            await port.ask(world.ask())
        return Outcome(OutcomeKind.PARKED, Reason.PARKED)

    return parks


def test_a_parked_request_whose_call_the_transcript_lost_is_told_with_its_answer(crew):
    held = crew.claim()
    drive_on(held, parking())
    world.answer(Decision.objects.get(), "allow")
    drive_on(world.take(held.id), done())
    prompt = Scripted.specs[0].prompt
    assert "[crewdesk:repeat toolu_1]" in prompt
    assert [call.input for call in lost_calls.read(prompt)] == ['{"command": "mkdir a"}']


def answered_and(*, parent: str | None):
    """A life that is told the answer in its prompt; the line of that prompt follows from `parent`."""

    async def goes_on(given, port):
        line = told(given, uuid="9") | ({"parentUuid": parent} if parent else {})
        await port.session_store.append({"project_key": "p", "session_id": given.session_id}, [line])
        return Outcome(OutcomeKind.PARKED, Reason.INTERRUPTED)

    return goes_on


@pytest.mark.parametrize(("parent", "again"), [("lost", True), ("1", False)])
@pytest.mark.parametrize("choice", ["answer", "deny"])
def test_an_answer_that_was_told_in_a_line_nobody_reads_is_told_again_so_that_nothing_is_asked_twice(crew, choice, parent, again):
    held = crew.claim()
    kind, data = (
        (QUESTION, {"answers": {"Which currency format should the invoices use?": "ISO code"}})
        if choice == "answer"
        else (PERMISSION, None)
    )

    async def asks(given, port):
        await port.note_session(given.new_session_id)
        await port.session_store.append({"project_key": "p", "session_id": given.new_session_id}, [told(given, uuid="1")])
        port._grace_s = 0
        with pytest.raises(Parked):
            await port.ask(world.ask(kind))
        return Outcome(OutcomeKind.PARKED, Reason.PARKED)

    drive_on(held, asks)
    world.answer(Decision.objects.get(), choice, note="Because.", data=data)
    drive_on(world.take(held.id), answered_and(parent=parent))
    assert Decision.objects.get().consumed_at is not None
    drive_on(world.take(held.id), done())
    assert ("[crewdesk:answered toolu_1]" in Scripted.specs[0].prompt) is again
    assert Decision.objects.get().consumed_at is not None, "and it is spent at the end"


def test_a_grant_that_was_told_in_a_line_nobody_reads_is_not_given_a_second_time(crew):
    held = crew.claim()
    drive_on(held, parking())
    world.answer(Decision.objects.get(), "allow")
    drive_on(world.take(held.id), answered_and(parent="lost"))
    Decision.objects.update(consumed_at=timezone.now())
    drive_on(world.take(held.id), done())
    assert "[crewdesk:repeat toolu_1]" not in Scripted.specs[0].prompt


def test_what_follows_from_a_line_that_was_lost_is_lost_too_for_no_process_reads_it(crew):
    """Seen with a disk that was full for a moment: the result of a call was stored, the call itself was not."""
    held = crew.claim()
    cut_off = {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True, "content": "The user doesn't want to"}
    orphan = {"type": "user", "uuid": "3", "parentUuid": "2", "message": {"content": [cut_off]}}
    follows = {"type": "user", "uuid": "4", "parentUuid": "3", "message": {"content": "toolu_1"}}
    drive_on(held, parking(orphan, follows))
    world.answer(Decision.objects.get(), "allow")
    drive_on(world.take(held.id), done())
    assert [call.id for call in lost_calls.read(Scripted.specs[0].prompt)] == ["toolu_1"]


def work(uuid, parent):
    return {
        "type": "assistant",
        "uuid": uuid,
        "parentUuid": parent,
        "message": {"content": [{"type": "text", "text": "I work."}]},
    }


@pytest.mark.parametrize(
    ("lines", "again"),
    [
        ((work("3", "2"),), True),
        ((work("2", "1"), work("4", "3")), False),
        ((work("2", "1"),), False),
        ((), False),
    ],
    ids=["the first answer was lost", "a later one was lost", "nothing was lost", "it never answered"],
)
def test_an_agent_whose_task_is_in_no_line_that_is_read_is_told_its_task_again_with_what_it_did(crew, lines, again):
    """Seen with a disk that was full for a moment: Claude Code went on from before the prompt that nothing followed from."""
    held = crew.claim()
    drive_on(held, parking(*lines))
    world.answer(Decision.objects.get(), "deny", note="Not now.")
    drive_on(world.take(held.id), done())
    prompt = Scripted.specs[0].prompt
    assert ("[crewdesk:task T-1 attempt 1]" in prompt) is again
    assert [call.id for call in lost_calls.read(prompt)] == ["toolu_1"]
    assert "[crewdesk:answered toolu_1]" in prompt
    assert Scripted.specs[0].session_id, "it goes on in its session"
