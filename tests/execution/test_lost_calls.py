"""What an agent did in the last moment before a crash is told to the life that goes on, for its transcript does not hold it."""

import pytest
from django.utils import timezone

from tasks_app.domain import lost_calls
from tasks_app.domain.lost_calls import LostCall
from tasks_app.domain.statuses import DecisionKind, Reason
from tasks_app.models import Decision, Run
from tasks_app.runners.port import Outcome, OutcomeKind
from tasks_app.services import transcripts
from tests.execution.lives import Scripted, asks_and_parks, done, drive_on, outcome, told
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


def test_an_attempt_whose_prompt_was_lost_begins_with_it_again_and_is_told_of_every_call_also_of_one_that_was_stored(crew):
    """Seen with a disk that was full for a moment: what came after was stored, before the prompt that was given again."""
    held = crew.claim()
    use = {"type": "tool_use", "id": "toolu_1"}

    async def asks(given, port):
        place = {"project_key": "p", "session_id": given.new_session_id}
        await port.note_session(given.new_session_id)
        await port.session_store.append(
            place, [{"type": "assistant", "uuid": "2", "parentUuid": "1", "message": {"content": [use]}}]
        )
        await port.emit([bash("toolu_0", "one"), came("toolu_0", "1 passed"), bash("toolu_1", "mkdir a")])
        return await asks_and_parks(port)

    drive_on(held, asks)
    world.answer(Decision.objects.get(), "deny", note="Not now.")
    drive_on(world.take(held.id), done())
    prompt = Scripted.specs[0].prompt
    assert "[crewdesk:task T-1 attempt 1]" in prompt
    assert [call.id for call in lost_calls.read(prompt)] == ["toolu_0", "toolu_1"]
    assert "A process of yours began with this task before" in prompt


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
        return await asks_and_parks(port)

    return parks


def test_a_parked_request_whose_call_the_transcript_lost_is_told_with_its_answer(crew):
    held = crew.claim()
    drive_on(held, parking())
    world.answer(Decision.objects.get(), "allow")
    drive_on(world.take(held.id), done())
    prompt = Scripted.specs[0].prompt
    assert "[crewdesk:repeat toolu_1]" in prompt
    assert [call.input for call in lost_calls.read(prompt)] == ['{"command": "mkdir a"}']


def asking(kind):
    """A life whose transcript holds the prompt, that asks for something of this kind and is parked."""

    async def asks(given, port):
        await port.note_session(given.new_session_id)
        await port.session_store.append({"project_key": "p", "session_id": given.new_session_id}, [told(given, uuid="1")])
        return await asks_and_parks(port, kind)

    return asks


def answered_and(*, parent: str | None):
    """A life that is told the answer in its prompt; the line of that prompt follows from `parent`."""

    async def goes_on(given, port):
        line = told(given, uuid="9") | ({"parentUuid": parent} if parent else {})
        await port.session_store.append({"project_key": "p", "session_id": given.session_id}, [line])
        return Outcome(OutcomeKind.PARKED, Reason.INTERRUPTED)

    return goes_on


@pytest.mark.parametrize("parent", ["lost", "1"])
@pytest.mark.parametrize("choice", ["answer", "deny"])
def test_an_answer_that_was_told_is_not_told_again_though_the_line_before_it_was_lost(crew, choice, parent):
    held = crew.claim()
    kind, data = (
        (QUESTION, {"answers": {"Which currency format should the invoices use?": "ISO code"}})
        if choice == "answer"
        else (PERMISSION, None)
    )
    drive_on(held, asking(kind))
    world.answer(Decision.objects.get(), choice, note="Because.", data=data)
    drive_on(world.take(held.id), answered_and(parent=parent))
    assert Decision.objects.get().consumed_at is not None
    drive_on(world.take(held.id), done())
    assert "[crewdesk:answered toolu_1]" not in Scripted.specs[0].prompt
    assert Decision.objects.get().consumed_at is not None


@pytest.mark.parametrize("lost", [True, False], ids=["its call was lost", "its call is there"])
def test_an_answer_that_came_as_the_result_of_a_call_nobody_reads_is_told_again_so_that_nothing_is_asked_twice(crew, lost):
    """Claude Code leaves a result out whose call was lost."""
    held = crew.claim()
    drive_on(held, asking(PERMISSION))
    world.answer(Decision.objects.get(), "deny", note="Because.")
    Decision.objects.update(delivered_fence=2)
    call = {"type": "assistant", "uuid": "8", "message": {"content": [{"type": "tool_use", "id": "toolu_1"}]}}
    came = {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True, "content": "The lead said no: Because."}
    result = {"type": "user", "uuid": "9", "message": {"content": [came]}}

    async def is_answered(given, port):
        place = {"project_key": "p", "session_id": given.session_id}
        await port.session_store.append(place, [result] if lost else [call, result])
        return Outcome(OutcomeKind.PARKED, Reason.INTERRUPTED)

    drive_on(world.take(held.id), is_answered)
    assert Decision.objects.get().consumed_at is not None
    drive_on(world.take(held.id), done())
    assert ("[crewdesk:answered toolu_1]" in Scripted.specs[0].prompt) is lost


def test_a_grant_that_was_told_after_a_line_that_was_lost_is_not_given_a_second_time(crew):
    held = crew.claim()
    drive_on(held, parking())
    world.answer(Decision.objects.get(), "allow")
    drive_on(world.take(held.id), answered_and(parent="lost"))
    Decision.objects.update(consumed_at=timezone.now())
    drive_on(world.take(held.id), done())
    assert "[crewdesk:repeat toolu_1]" not in Scripted.specs[0].prompt


def test_a_call_that_was_lost_is_told_though_its_result_was_stored(crew):
    """Seen with a disk that was full for a moment: the result of a call was stored, the call itself was not."""
    held = crew.claim()
    cut_off = {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True, "content": "The user doesn't want to"}
    orphan = {"type": "user", "uuid": "3", "parentUuid": "2", "message": {"content": [cut_off]}}
    follows = {"type": "user", "uuid": "4", "parentUuid": "3", "message": {"content": "toolu_1"}}
    drive_on(held, parking(orphan, follows))
    world.answer(Decision.objects.get(), "allow")
    drive_on(world.take(held.id), done())
    prompt = Scripted.specs[0].prompt
    assert [(call.id, call.result) for call in lost_calls.read(prompt)] == [("toolu_1", None)]
    assert lost_calls.WAITED in prompt
    assert lost_calls.UNKNOWN not in prompt, "it is known, for it was never made"
    assert "[crewdesk:task T-1 attempt 1]" not in prompt, "its task it knows"


def test_a_line_whose_parent_was_lost_follows_from_the_one_before_it():
    place = {"project_key": "p", "session_id": "s"}
    pairs = (("1", None), ("2", "1"), ("4", "3"), ("5", "4"), ("6", "2"), ("8", "7"))
    lines = [{"type": "user", "uuid": uuid, "parentUuid": parent} for uuid, parent in pairs]
    transcripts.append(place, [*lines[:2], {"type": "mode"}, *lines[2:]])
    mended = [(line["uuid"], line["parentUuid"]) for line in transcripts.load(place) if "uuid" in line]
    assert mended == [("1", None), ("2", "1"), ("4", "2"), ("5", "4"), ("6", "2"), ("8", "6")]


@pytest.mark.parametrize("handed", [False, True], ids=["only told", "given leave"])
def test_a_call_that_was_given_leave_and_lost_is_not_called_unmade_nor_ordered_again_unseen(crew, handed):
    """The process died after it was told to go on: the call may have run, and nothing that was stored says so."""
    held = crew.claim()
    drive_on(held, parking())
    world.answer(Decision.objects.get(), "allow")
    if handed:
        Decision.objects.update(delivered_fence=2)
    drive_on(world.take(held.id), done())
    prompt = Scripted.specs[0].prompt
    assert "[crewdesk:repeat toolu_1]" in prompt
    assert (lost_calls.WAITED in prompt, "It was not made yet: make it now" in prompt) == (not handed, not handed)
    assert (lost_calls.UNKNOWN in prompt, "Look first. Only if it did not, make it" in prompt) == (handed, handed)


def test_a_call_that_was_given_leave_and_whose_result_is_known_is_not_to_be_made_again(crew):
    """Its result was stored as a step at once; its process died before the transcript had it."""
    held = crew.claim()

    async def makes_it(given, port):
        await port.emit([came("toolu_1", "made it")])
        return Outcome(OutcomeKind.PARKED, Reason.INTERRUPTED)

    drive_on(held, parking())
    world.answer(Decision.objects.get(), "allow")
    Decision.objects.update(delivered_fence=2)
    drive_on(world.take(held.id), makes_it)
    drive_on(world.take(held.id), done())
    prompt = Scripted.specs[0].prompt
    assert [(call.id, call.result) for call in lost_calls.read(prompt)] == [("toolu_1", "made it")]
    assert "[crewdesk:answered toolu_1]" in prompt
    assert "[crewdesk:repeat toolu_1]" not in prompt
    assert "Other calls of the same turn" not in prompt, "nobody waited when it ended"


def test_a_sub_agent_that_quotes_the_prompt_is_no_beginning_of_the_attempt(crew):
    held = crew.claim()
    quotes = {"type": "user", "uuid": "1", "message": {"content": "[crewdesk:task T-1 attempt 1]"}}
    place = {"project_key": "p", "session_id": "s", "subpath": "subagents/agent-1"}
    transcripts.append(place, [quotes], run_id=held.id, fence=held.fence)
    assert not Run.objects.get().started_session
    printed = {"type": "tool_result", "tool_use_id": "toolu_9", "content": "[crewdesk:task T-1 attempt 1]"}
    shows = {"type": "user", "uuid": "2", "message": {"content": [printed]}}
    transcripts.append({"project_key": "p", "session_id": "s"}, [shows], run_id=held.id, fence=held.fence)
    assert not Run.objects.get().started_session


def compacted(uuid, parent, **more):
    return {"type": "user", "uuid": uuid, "parentUuid": parent, **more}


@pytest.mark.parametrize(
    ("gone", "mended"),
    [
        ("b", [("1", None), ("2", "1"), ("s", None), ("3", "s")]),
        ("s", [("1", None), ("2", "1"), ("3", "2")]),
    ],
    ids=["the boundary was lost", "the summary was lost"],
)
def test_a_summary_begins_anew_and_where_it_was_lost_what_it_stood_for_is_there_again(gone, mended):
    place = {"project_key": "p", "session_id": "s"}
    lines = [
        compacted("1", None),
        compacted("2", "1"),
        compacted("b", None, subtype="compact_boundary", logicalParentUuid="2"),
        compacted("s", "b", isCompactSummary=True),
        compacted("3", "s"),
    ]
    transcripts.append(place, [line for line in lines if line["uuid"] != gone])
    assert [(line["uuid"], line["parentUuid"]) for line in transcripts.load(place)] == mended


def test_a_session_whose_first_line_was_lost_begins_with_the_next():
    place = {"project_key": "p", "session_id": "s"}
    transcripts.append(place, [{"type": "user", "uuid": "2", "parentUuid": "1"}])
    assert transcripts.load(place) == [{"type": "user", "uuid": "2", "parentUuid": None}]
