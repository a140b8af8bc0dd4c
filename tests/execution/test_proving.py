"""A task is completed only when its criteria are proved: by checks, artifacts and the lead, at the port of a run."""

import asyncio

import pytest
from django.contrib.auth.models import User

from tasks_app.domain.criteria import Criterion, Proof
from tasks_app.domain.errors import Forbidden
from tasks_app.execution import outcome, proving
from tasks_app.models import Decision, Event, Run, Task
from tasks_app.runners.port import Directive, Outcome, OutcomeKind, Parked
from tasks_app.selectors import attempts
from tasks_app.services import actions, decisions, judges, proofs, runs
from tests.execution.lives import eventually, on_port
from tests.services import world

pytestmark = pytest.mark.usefixtures("database_threads")


def asks_for(crew, *criteria):
    Task.objects.filter(pk=crew.tasks[0].pk).update(criteria=list(criteria))
    return crew.claim()


def report(held, port=None, /, tool_use_id="toolu_1", **given):
    arguments = {"taskId": "T-1", "status": "completed", "summary": "All there.", **given}

    async def work(port):
        return await port.call_tool("TaskUpdate", arguments, tool_use_id)

    return work(port) if port else on_port(held, work)


def test_a_check_that_fails_refuses_the_report_and_says_exit_code_and_last_lines(crew, tmp_path):
    held = asks_for(crew, "It works.", {"check": "echo 3 failed; exit 4"})
    text, is_error = report(held, evidence={"1": "I tried it"})
    assert is_error
    assert "1 of its 2 criteria is not met" in text
    assert "2. `echo 3 failed; exit 4` succeeds: `echo 3 failed; exit 4`: exit code 4" in text
    assert "\n3 failed" in text
    run = Run.objects.get()
    assert run.report is None
    assert [(one["number"], one["met"], one["exit_code"], one["tail"]) for one in run.proofs] == [(2, False, 4, "3 failed")]
    event = Event.objects.get(kind="task.proved")
    assert event.data["results"][0]["met"] is False
    assert "tail" not in event.data["results"][0]


def test_what_succeeds_stands_as_evidence_beside_the_agents_own(crew, tmp_path):
    (tmp_path / "work" / "docs").mkdir()
    (tmp_path / "work" / "docs" / "api.md").write_text("# API")
    held = asks_for(crew, "It works.", {"check": "test -f docs/api.md && echo 42 passed"}, {"artifact": "docs/api.md"})
    text, is_error = report(held, evidence={"1": "I tried it", "2": "trust me"})
    assert (is_error, "is completed" in text) == (False, True)
    evidence = Run.objects.get().report["evidence"]
    assert evidence["1"] == "I tried it"
    assert evidence["2"].endswith(": 42 passed")
    assert evidence["3"] == "docs/api.md: 5 bytes"


def test_what_the_agent_says_never_stands_for_a_check(crew):
    held = asks_for(crew, {"check": "exit 1"}, {"artifact": "docs/api.md"})
    text, is_error = report(held, evidence={"1": "exit code 0", "2": "docs/api.md is there"})
    assert is_error
    assert "2 of its 2 criteria are not met" in text
    assert "docs/api.md is not there" in text


def test_a_mended_task_is_checked_afresh(crew, tmp_path):
    held = asks_for(crew, {"check": "test -f made"})
    assert report(held)[1]
    (tmp_path / "work" / "made").touch()
    assert not report(held, tool_use_id="toolu_2")[1]
    assert [one["met"] for one in Run.objects.get().proofs] == [True]


def test_other_calls_run_no_check(crew, tmp_path):
    held = asks_for(crew, {"check": "touch ran"})
    for given in ({"status": "in_progress"}, {"taskId": "7"}, {"status": "completed", "evidence": 5}):
        report(held, **given)
    on_port(held, lambda port: port.call_tool("TaskList", {}, "toolu_9"))
    assert not (tmp_path / "work" / "ran").exists()


def test_a_check_runs_outside_of_any_transaction_and_holds_up_nobody(crew):
    held = asks_for(crew, {"check": "sleep 3", "seconds": 20})

    async def work(port):
        calling = asyncio.create_task(report(held, port))
        await asyncio.sleep(0.5)
        began = asyncio.get_running_loop().time()
        await port.note_session("s-1")  # a write to the same run
        assert asyncio.get_running_loop().time() - began < 1.5
        return await calling

    assert not on_port(held, work)[1]


def test_a_stopped_run_ends_its_check_and_reports_nothing(crew):
    held = asks_for(crew, {"check": "sleep 60"})

    async def work(port):
        calling = asyncio.create_task(report(held, port))
        await asyncio.sleep(0.3)
        port.direct(Directive.STOP)
        return await asyncio.wait_for(calling, 10)

    text, is_error = on_port(held, work)
    assert is_error
    assert "the attempt is being ended" in text
    assert Run.objects.get().report is None


FILE = Criterion(1, "x", Proof.ARTIFACT, "docs/api.md")


def test_an_artifact_must_be_inside_the_workspace_wherever_links_lead(tmp_path):
    work, outside = tmp_path / "work", tmp_path / "outside"
    (work / "docs").mkdir(parents=True)
    outside.write_text("secret")
    (work / "docs" / "api.md").symlink_to(outside)
    found = proving.artifact(FILE, work, "")
    assert (found.met, found.says) == (False, "docs/api.md leads out of the workspace")
    (work / "docs" / "api.md").unlink()
    (work / "docs" / "real.md").write_text("x")
    (work / "docs" / "api.md").symlink_to("real.md")
    assert proving.artifact(FILE, work, "").met
    (work / "docs" / "real.md").write_text("")
    assert proving.artifact(FILE, work, "").says == "docs/api.md is empty"


@pytest.mark.parametrize(
    ("evidence", "met"),
    [
        ("See https://github.com/acme/billing/pull/7.", True),
        ("(https://github.com/acme/billing/pull/7)", True),
        ("https://github.com/acme/billing/pull", False),
        ("https://github.com.evil.org/acme/billing/pull/7", False),
        ("https://user@github.com/acme/billing/pull/7", False),
        ("https://github.com/acme/billing/pull/../../other", False),
        ("http://github.com/acme/billing/pull/7", False),
        ("it is done", False),
        ("", False),
    ],
)
def test_an_address_must_be_named_in_the_evidence(tmp_path, evidence, met):
    one = Criterion(1, "x", Proof.ARTIFACT, "https://github.com/acme/billing/pull/")
    assert proving.artifact(one, tmp_path, evidence).met is met


JUDGED = ({"check": "true"}, {"judge": "lead", "text": "It reads well"})


def answering(choice, note=""):
    """Report, and answer the review that it opens."""

    async def work(port):
        calling = asyncio.create_task(report(port.held, port, evidence={"2": "look at docs/api.md"}))
        decision = await eventually(lambda: Decision.objects.filter(kind="review", status="open").first())
        await asyncio.to_thread(world.answer, decision, choice, note=note)
        port.poked.set()
        return await calling

    return work


def test_the_lead_is_asked_when_all_else_is_met_and_an_approval_completes_it(crew):
    held = asks_for(crew, *JUDGED)
    text, is_error = on_port(held, answering("approve", "Fine."))
    assert not is_error, text
    decision = Decision.objects.get()
    assert decision.title == "builder-1 asks for a review: T-1 Build"
    assert decision.payload["criteria"] == [{"number": 2, "text": "It reads well", "evidence": "look at docs/api.md"}]
    assert [one["number"] for one in decision.payload["proofs"]] == [1]
    assert Run.objects.get().report["evidence"]["2"] == "accepted by lead: Fine."


def test_what_one_person_judges_is_answered_by_nobody_else_but_an_administrator(crew):
    held = asks_for(crew, {"judge": "@anna", "text": "It reads well"})
    User.objects.create_user("ben")
    User.objects.create_superuser("root")

    async def work(port):
        calling = asyncio.create_task(report(port.held, port, evidence={"1": "look at docs/api.md"}))
        decision = await eventually(lambda: Decision.objects.filter(kind="review", status="open").first())
        assert decision.payload["judge"] == "anna"
        with pytest.raises(Forbidden, match="only anna or an administrator"):
            await asyncio.to_thread(world.answer, decision, "approve", by="ben")
        for actor in ("agent:anna", "agent:root", "agent:x (scripted)", "anna", "system"):
            with pytest.raises(Forbidden, match="only anna or an administrator"):
                await asyncio.to_thread(judges.must_be_theirs, decision.payload, actor)
        assert (await asyncio.to_thread(decisions.get, decision.pk)).status == "open"
        await asyncio.to_thread(world.answer, decision, "approve", by="root")
        port.poked.set()
        return await calling

    text, is_error = on_port(held, work)
    assert not is_error, text
    assert Run.objects.get().report["evidence"]["1"] == "accepted by root"


def test_work_that_is_sent_back_is_refused_with_the_comments(crew):
    held = asks_for(crew, *JUDGED)
    text, is_error = on_port(held, answering("revise", "Too long."))
    assert is_error
    assert "2. It reads well: sent back by lead: Too long." in text
    assert Run.objects.get().report is None


def test_the_lead_is_not_asked_while_something_else_is_missing(crew):
    held = asks_for(crew, {"check": "false"}, "It works.", JUDGED[1])
    text, _ = report(held)
    assert not Decision.objects.exists()
    assert "3. It reads well: it is looked at when all others are met" in text


def test_a_lead_who_sleeps_parks_the_run_and_the_repeated_call_finds_the_answer(crew):
    held = asks_for(crew, *JUDGED)

    async def parks(port):
        with pytest.raises(Parked):
            await report(held, port, evidence={"2": "x"})

    on_port(held, parks, grace_s=0.1)
    decision = Decision.objects.get()
    assert decision.status == "open"
    runs.park(held.id, held.fence, reason=runs.Reason.PARKED, interrupted=False)
    assert world.is_parked(held.id)
    world.answer(decision, "approve")
    again = world.take(held.id)
    text, is_error = report(again, tool_use_id="toolu_2", evidence={"2": "x"})
    assert not is_error, text
    assert Decision.objects.count() == 1


def test_an_approval_is_for_what_was_shown(crew):
    held = asks_for(crew, *JUDGED)
    on_port(held, answering("approve"))

    async def parks(port):
        with pytest.raises(Parked):
            await report(held, port, tool_use_id="toolu_2", evidence={"2": "something else"})

    on_port(held, parks, grace_s=0.1)
    assert Decision.objects.filter(status="open").count() == 1, "other evidence is another question"


def test_completing_by_hand_says_what_was_not_met(crew):
    held = asks_for(crew, "It works.", {"check": "exit 7"}, JUDGED[1])
    report(held, evidence={"1": "I tried it"})
    actions.complete_by_hand(crew.tasks[0].pk, note="Good enough.", actor="user:anna")
    task = crew.task()
    assert task.status == "completed"
    assert "2. `exit 7` succeeds: `exit 7`: exit code 7" in task.evidence["not met"]
    assert "3. It reads well: it is looked at when all others are met" in task.evidence["not met"]
    assert "1. It works." in task.evidence["not met"], "it was never reported"
    assert Event.objects.get(kind="task.completed").data["evidence"]["not met"] == task.evidence["not met"]


def test_what_was_shown_before_a_task_was_reopened_does_not_count_any_more(crew):
    held = asks_for(crew, "It works.", {"check": "true"})
    report(held, evidence={"1": "Look."})
    outcome.settle(held, Outcome(OutcomeKind.ENDED, result="Done."), leaving_for=None)
    task = crew.task()
    assert (task.status, proofs.unmet(task)) == ("completed", [])
    actions.pause_team(crew.team.pk, actor="user:anna")
    actions.reopen(task.pk, why="It does not work.", actor="user:anna")
    assert [one.result for one in attempts.page(task.pk).criteria] == [None, None]
    assert len(proofs.unmet(crew.task())) == 2


def test_agents_cannot_make_checks(crew):
    held = crew.claim()

    async def work(port):
        given = {"subject": "Docs", "description": "x", "criteria": [{"check": "id"}]}
        return await port.call_tool("TaskCreate", given, "toolu_1")

    text, is_error = on_port(held, work)
    assert is_error
    assert "criteria.0" in text


def test_the_agent_is_told_who_proves_what(crew):
    assert decisions is not None
    asks_for(crew, "It works.", {"check": "pytest -q", "text": "Tests pass"}, JUDGED[1])

    async def work(port):
        return await port.call_tool("TaskGet", {"taskId": "1"}, "toolu_1")

    run = Run.objects.get()
    text, _ = on_port(runs.Held(run.pk, run.fence, run.team_id, run.task_id, run.agent_id), work)
    assert "Tests pass (proved by the server, which runs `pytest -q` in the workspace)" in text
    assert "It reads well (judged by lead" in text
