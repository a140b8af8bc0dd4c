"""Driving a life from the claim to its end, with a runner that is played instead of a Claude process."""

import asyncio
import threading

import pytest

from tasks_app.domain.plan_model import Limits
from tasks_app.domain.statuses import DecisionKind, Reason
from tasks_app.execution import db, drive, spec
from tasks_app.models import Decision, Run, Step, Team
from tasks_app.runners.port import Directive, Outcome, OutcomeKind, Parked
from tasks_app.services import actions, messages, runs, snapshots
from tests.execution.lives import ENDED, Scripted, done, drive_on, eventually, say, told
from tests.services import world

pytestmark = pytest.mark.usefixtures("scripted", "database_threads")


async def nothing(spec, port):
    return ENDED


def test_a_run_that_reports_completes_its_task_and_leaves_no_private_folder(crew):
    held = crew.claim()

    async def works(given, port):
        await port.emit([say("I begin.")])
        return await done()(given, port)

    drive_on(held, works)
    assert (Run.objects.get().status, crew.task().status, crew.task().output) == ("completed", "completed", "All there.")
    assert Step.objects.get().text == "I begin."
    assert not spec.home_of(held.id, held.fence).exists()


def test_one_that_ends_silently_is_asked_once_in_the_same_life(crew):
    held = crew.claim()
    drive_on(held, nothing, done())
    assert crew.task().status == "completed"
    assert "[crewdesk:task T-1 attempt 1]" in Scripted.specs[0].prompt
    assert len(Scripted.specs) == 2


def test_and_then_it_has_not_reported(crew):
    drive_on(crew.claim(), nothing, nothing)
    assert Run.objects.get(attempt=1).reason == "unreported"


def test_what_an_earlier_life_had_reported_is_not_done_again(crew):
    held = crew.claim()
    runs.report(held.id, held.fence, {"status": "completed", "evidence": {"1": "yes"}, "summary": "s"})
    spec.home_of(held.id, held.fence).mkdir(parents=True)
    drive_on(world.next_life(held))
    assert crew.task().status == "completed"
    assert not spec.home_of(held.id, held.fence).exists()


@pytest.mark.parametrize(
    ("said", "grace_s"), [({}, 77.0), ({"grace_s": None}, 77.0), ({"grace_s": 0}, 0.0), ({"grace_s": 9}, 9.0)]
)
def test_the_grace_is_that_of_the_plan_else_that_of_the_settings(crew, settings, said, grace_s):
    settings.GRACE_S = 77.0
    Team.objects.update(limits=Limits(**said).model_dump(mode="json"))  # as `teams.create` stores them
    held = crew.claim()

    async def opened():
        port = await drive.open_port(held)
        await port.close()
        return port._grace_s

    assert asyncio.run(opened()) == grace_s


def test_git_holds_up_none_of_the_threads_that_record_what_runs_do(crew, monkeypatch):
    snapshot, threads = snapshots.take, []

    def noted(*given):
        threads.append(threading.current_thread().name)
        return snapshot(*given)

    monkeypatch.setattr(snapshots, "take", noted)
    drive_on(crew.claim(), nothing, nothing)
    assert len(threads) == 2, "at the begin, and for the report of the failure"
    assert all(name.startswith("crewdesk-db-aside") for name in threads), threads


def test_a_fault_of_our_own_fails_the_attempt_in_words(crew):
    async def breaks(given, port):
        raise RuntimeError("a fault of ours")

    drive_on(crew.claim(), breaks)
    run = Run.objects.get(attempt=1)
    assert (run.status, run.reason) == ("failed", "error")
    assert "fault of its own" in run.detail
    assert "RuntimeError" not in run.detail


def test_a_life_that_is_lost_writes_nothing_more(crew):
    held = crew.claim()

    async def loses(given, port):
        await db.call(world.next_life, held)
        await port.emit([say("too late")])
        await port.directive_changed()
        return Outcome(OutcomeKind.LOST)

    drive_on(held, loses)
    assert not Step.objects.exists()
    assert (Run.objects.get().status, Run.objects.get().fence) == ("running", 2)


def test_a_run_that_ends_in_the_moment_it_is_lost_completes_nothing(crew):
    held = crew.claim()

    async def loses(given, port):
        await done()(given, port)
        await db.call(world.next_life, held)
        return ENDED

    drive_on(held, loses)
    assert (Run.objects.get().status, crew.task().status) == ("running", "in_progress")


def parks(kind=DecisionKind.PERMISSION, **payload):
    async def play(given, port):
        await port.note_session(given.new_session_id)
        await port.session_store.append(
            {"project_key": "p", "session_id": given.new_session_id}, [told(given, uuid=given.new_session_id)]
        )
        port._grace_s = 0
        with pytest.raises(Parked):
            await port.ask(world.ask(kind, **payload))
        return Outcome(OutcomeKind.PARKED, Reason.PARKED)

    return play


def resumed(crew, held, choice, **words):
    """Answer what is parked, drive the next life, and return what it was told."""
    world.answer(Decision.objects.get(), choice, **words)
    drive_on(world.take(held.id), done())
    return Scripted.specs[0]


@pytest.mark.parametrize(
    ("kind", "choice", "words", "told"),
    [
        (DecisionKind.PERMISSION, "allow", {}, ["[crewdesk:repeat toolu_1]", "ALLOWED"]),
        (DecisionKind.PERMISSION, "deny", {"note": "No."}, ["[crewdesk:answered toolu_1]", "DENIED", "No."]),
        (DecisionKind.PLAN, "approve", {}, ["[crewdesk:answered toolu_1]", "Plan mode is over"]),
        (DecisionKind.PLAN, "revise", {"note": "Smaller."}, ["[crewdesk:answered toolu_1]", "Stay in plan mode", "Smaller."]),
        (
            DecisionKind.ESCALATION,
            "answer",
            {"data": {"option": "Mock the API"}},
            ["[crewdesk:answered toolu_1]", "Mock the API"],
        ),
        (
            DecisionKind.QUESTION,
            "answer",
            {"data": {"answers": {"Which currency format should the invoices use?": "ISO code"}}},
            ["[crewdesk:answered toolu_1]", "ISO code"],
        ),
    ],
)
def test_a_parked_run_is_resumed_with_the_answer_in_its_prompt(crew, kind, choice, words, told):
    held = crew.claim()
    drive_on(held, parks(kind))
    first = Scripted.specs[0]
    assert world.is_parked(held.id)
    assert Decision.objects.get().parked is True
    given = resumed(crew, held, choice, **words)
    assert (first.session_id, given.session_id) == (None, first.new_session_id)
    for text in told:
        assert text in given.prompt
    assert "[crewdesk:interrupted]" not in given.prompt
    assert crew.task().status == "completed"


def test_a_worker_that_leaves_gives_the_run_back_and_the_next_life_is_told(crew):
    held = crew.claim()

    async def leaves(given, port):
        await port.note_session(given.new_session_id)
        await port.session_store.append({"project_key": "p", "session_id": given.new_session_id}, [told(given, uuid="1")])
        call = world.StepDraft(world.StepKind.TOOL_CALL, "Bash", {"tool": "Bash", "input": {"command": "make"}}, "toolu_7")
        await port.emit([call])
        port.direct(Directive.LEAVE)
        return Outcome(OutcomeKind.PARKED, Reason.INTERRUPTED)

    drive_on(held, leaves)
    drive_on(world.take(held.id), done())
    prompt = Scripted.specs[0].prompt
    assert "[crewdesk:interrupted]" in prompt
    assert "Bash" in prompt
    assert "unknown: look before you repeat it" in prompt


def test_a_life_that_died_before_its_transcript_was_stored_starts_from_its_task_with_what_was_decided(crew):
    held = crew.claim()

    async def asks(given, port):
        port._grace_s = 0
        with pytest.raises(Parked):
            await port.ask(world.ask())
        return Outcome(OutcomeKind.PARKED, Reason.PARKED)

    drive_on(held, asks)
    given = resumed(crew, held, "allow")
    assert given.session_id is None
    assert "[crewdesk:task T-1 attempt 1]" in given.prompt
    assert "[crewdesk:repeat toolu_1]" in given.prompt


def test_an_attempt_that_runs_too_long_is_interrupted_and_fails(crew):
    Team.objects.update(limits={"minutes": 0.001})

    async def never_ends(given, port):
        assert await port.directive_changed() is Directive.LEAVE
        return Outcome(OutcomeKind.PARKED, Reason.INTERRUPTED)

    drive_on(crew.claim(), never_ends)
    assert Run.objects.get(attempt=1).reason == "time_limit"


def test_the_time_that_earlier_lives_have_worked_counts(crew):
    Team.objects.update(limits={"minutes": 10})
    held = crew.claim()
    Run.objects.update(worked_s=600)

    async def never_ends(given, port):
        assert await port.directive_changed() is Directive.LEAVE
        return Outcome(OutcomeKind.PARKED, Reason.INTERRUPTED)

    drive_on(held, never_ends)
    assert Run.objects.get(attempt=1).reason == "time_limit"


def test_a_stop_while_it_runs_ends_in_stopped(crew):
    held = crew.claim()

    async def is_stopped(given, port):
        await db.call(actions.stop_run, held.id, actor="user:ada")
        port.direct(Directive.STOP)
        return Outcome(OutcomeKind.STOPPED, Reason.STOPPED)

    drive_on(held, is_stopped)
    assert (Run.objects.get().status, crew.task().held) == ("killed", True)


def test_an_answer_and_a_message_that_reached_a_process_as_it_died_are_told_to_the_next_life(crew):
    held = crew.claim()

    async def proposes_and_dies(given, port):
        await port.session_store.append({"project_key": "p", "session_id": "s"}, [told(given, uuid="u1")])
        await port.note_session("s")
        asked = asyncio.ensure_future(port.ask(world.ask(DecisionKind.PLAN)))
        decision = await eventually(lambda: Decision.objects.filter(status="open").first())
        await db.call(world.answer, decision, "revise", note="Name the tests.")
        port.poked.set()  # the hint
        assert (await asked).choice == "revise"
        await db.call(
            messages.send, crew.team.pk, sender_agent_id=None, to="builder-1", body="Mind the sandbox.", actor="user:ada"
        )
        assert any("Mind the sandbox." in note for note in await port.notes())
        return Outcome(OutcomeKind.FAILED, Reason.CRASHED, broken=True)

    async def goes_on(given, port):
        assert "Name the tests." in given.prompt
        assert any("Mind the sandbox." in note for note in await port.notes())
        return await done()(given, port)

    drive_on(held, proposes_and_dies)
    drive_on(world.take(held.id), goes_on)
    assert crew.task().status == "completed"
