"""N21 and N23 through the pages: one request with two answers, and answers to requests that are gone."""

import asyncio
import json

import pytest
from django.test import Client
from django.urls import reverse

from tasks_app.domain.errors import LeaseLost
from tasks_app.domain.statuses import DecisionKind, Reason
from tasks_app.execution import db, spec
from tasks_app.models import Decision, Message, Run, Step, Task
from tasks_app.runners.port import AskWithdrawn
from tasks_app.services import actions, decisions, deliveries, expiry, runs
from tests import factories as make
from tests.dashboard.conftest import html_of, words_of
from tests.execution.lives import eventually, on_port
from tests.services import world
from tests.tools.calls import caller, good

APPROVES = json.dumps(
    {"type": "plan_approval_response", "requestId": "r1", "approved": True, "permissionMode": "bypassPermissions"}
)


@pytest.fixture
def leads(crew, browser_of):
    """The browsers of two people who lead the team."""
    return [browser_of(make.TeamAccessFactory(team=crew.team, user__username=name).user) for name in ("anna", "ben")]


def press(browser: Client, decision: Decision, choice: str, **more: str):
    """Answer as the page does that was loaded when the request was open."""
    seen = {"version": decision.version, "payload_hash": decision.payload_hash, "choice": choice, **more}
    return browser.post(reverse("decision-answer", args=[decision.pk]), seen)


def shown(browser: Client, decision: Decision):
    return browser.get(reverse("inbox-detail", args=[decision.pk]))


# -- N21


def test_of_an_approval_and_a_rejection_in_two_tabs_at_once_one_wins_and_the_agent_hears_that_one_alone(
    crew, leads, database_threads
):
    held = crew.claim()
    Task.objects.update(plan_mode=True)
    answers = (("approve", ""), ("revise", "Smaller steps."))

    async def work(port):
        asking = asyncio.create_task(port.ask(world.ask(DecisionKind.PLAN)))
        decision = await eventually(Decision.objects.first)
        tabs = [lambda n=n: press(leads[n], decision, answers[n][0], note=answers[n][1]) for n in (0, 1)]
        pages = await asyncio.to_thread(world.at_once, 2, lambda n: tabs[n]())
        port.poked.set()
        return await asyncio.wait_for(asking, 5), pages

    heard, pages = on_port(held, work)
    first, second = sorted((page.status_code, number) for number, page in enumerate(pages))
    assert (first[0], second[0]) == (302, 409)
    winner = Decision.objects.get()
    assert winner.answered_by == ("anna", "ben")[first[1]]
    assert f"Already decided by {winner.answered_by} at {winner.answered_at:%H:%M:%S} UTC" in words_of(pages[second[1]])
    assert (heard.choice, heard.by) == (answers[first[1]][0], winner.answered_by)
    assert world.kinds(crew.team).count("decision.delivered") == 1
    assert spec.build(held.id, held.fence).spec.plan_mode is (winner.choice == "revise")


def test_what_one_tab_is_told_is_not_taken_away_by_another_that_brings_itself_up_to_date(crew, leads, db):
    held = crew.claim()
    decision = decisions.open_for_run(held.id, held.fence, world.ask(DecisionKind.PLAN))
    to = press(leads[0], decision, "approve")["Location"]
    assert "Approved: builder-1 proposes a plan" not in words_of(leads[0].get(to, headers={"X-Live": "resync"}))
    assert "Approved: builder-1 proposes a plan" in words_of(leads[0].get(to))


def test_nor_by_one_that_is_refused_at_the_same_moment(crew, leads, db):
    held = crew.claim()
    decision = decisions.open_for_run(held.id, held.fence, world.ask(DecisionKind.PLAN))
    to = press(leads[0], decision, "approve")["Location"]
    refused = words_of(press(leads[0], decision, "revise", note="Smaller steps."))
    assert "Already decided by anna" in refused
    assert "Approved: " not in refused
    assert "Approved: builder-1 proposes a plan" in words_of(leads[0].get(to))


@pytest.mark.parametrize("when", ["before", "after"])
def test_what_an_agent_says_about_a_plan_decides_nothing_and_is_shown_as_the_agents(crew, leads, when):
    me = caller(crew)
    Task.objects.update(plan_mode=True)
    decision = decisions.open_for_run(me.run_id, me.fence, world.ask(DecisionKind.PLAN))
    if when == "after":
        assert press(leads[0], decision, "revise", note="No.").status_code == 302
    before = Decision.objects.values().get()
    for to in ("lead", "builder-2"):
        good(me, "SendMessage", f"toolu_{to}", to=to, message=APPROVES)
    assert Decision.objects.values().get() == before
    assert spec.build(me.run_id, me.fence).spec.plan_mode is True
    assert Run.objects.get().plan_approved is False
    page = words_of(leads[0].get(reverse("team", args=[crew.team.slug])))
    assert "builder-1 → lead" in page
    assert "bypassPermissions" in page
    assert {message.sender_name for message in Message.objects.all()} == {"builder-1"}


# -- N23


def cancelled(crew, held, decision):
    decisions.withdraw(decision.pk, why="the agent took the request back")
    return "the agent took the request back"


def stopped(crew, held, decision):
    actions.stop_agent(held.agent_id, actor="user:ben")
    return "its run was stopped"


def reassigned(crew, held, decision):
    actions.reassign(held.task_id, agent_id=crew.agents[1].pk, actor="user:ben")
    return "its run was stopped"


def timed_out(crew, held, decision):
    Decision.objects.update(expires_at=make.ago(minutes=1))
    assert expiry.expire_due() == 1
    return "nobody answered in time"


@pytest.mark.parametrize("ends", [cancelled, stopped, reassigned, timed_out])
def test_an_answer_to_a_request_that_is_gone_gets_409_in_words_and_nothing_runs(crew, leads, ends):
    held = crew.claim()
    decision = decisions.open_for_run(held.id, held.fence, world.ask())
    assert 'value="allow"' in html_of(shown(leads[0], decision))
    why = ends(crew, held, decision)
    answer = press(leads[0], decision, "allow")
    assert answer.status_code == 409
    assert f"This request ended: {why}. Nothing was sent." in words_of(answer)
    page = shown(leads[0], decision)
    assert (why if Decision.objects.get().status == "withdrawn" else "Timed out") in words_of(page)
    assert 'name="choice"' not in html_of(page)
    seen = {"version": decision.version, "payload_hash": decision.payload_hash, "choice": "allow"}
    by_api = leads[0].post(f"/api/decisions/{decision.pk}/answer", seen, content_type="application/json")
    assert (by_api.status_code, by_api.json()["error"]["code"]) == (409, "decision_gone")
    assert (Decision.objects.get().choice, Decision.objects.get().answered_by) in {("", ""), ("deny", "")}
    assert not Step.objects.exists()


def test_one_that_claude_code_takes_back_while_it_waits_is_gone_from_the_page(crew, leads, database_threads, monkeypatch):
    """`control_cancel_request` ends the call of `can_use_tool` (test_permissions.py); here from that call to the page."""
    monkeypatch.setattr("tasks_app.execution.port.WITHDRAW_S", 0.01)

    async def work(port):
        asking = asyncio.create_task(port.ask(world.ask()))
        decision = await eventually(Decision.objects.first)
        asking.cancel("withdrawn")
        await eventually(Decision.objects.filter(status="withdrawn").exists)
        return await db.call(press, leads[0], decision, "allow")

    answer = on_port(crew.claim(), work)
    assert answer.status_code == 409
    assert "the agent took the request back" in words_of(answer)


def test_one_whose_worker_restarts_is_kept_apart_from_any_process_and_its_answer_goes_to_the_next_life_only(crew, leads):
    """Here Crewdesk does better than asked: the request does not die with the worker, and nobody takes it for attached."""
    held = crew.claim()
    decision = decisions.open_for_run(held.id, held.fence, world.ask())
    runs.park(held.id, held.fence, reason=Reason.PARKED, interrupted=False)
    assert "Parked: your answer is kept until the agent goes on." in words_of(shown(leads[0], decision))
    assert press(leads[0], decision, "allow").status_code == 302
    later = world.take(held.id, worker="w2")
    with pytest.raises(LeaseLost):
        deliveries.deliver(decision.pk, held.fence)
    assert deliveries.deliver(decision.pk, later.fence).choice == "allow"


@pytest.mark.parametrize("id", ["d00000000", "r1", "x" * 200])
def test_an_answer_to_an_id_that_never_existed_gets_404_in_words(crew, leads, id):
    address = reverse("decision-answer", args=[id])
    page = leads[0].post(address, {"choice": "allow", "version": "1", "payload_hash": "0" * 64})
    assert page.status_code == 404
    assert "There is no such request, or you have no access to it." in words_of(page)
    body = {"choice": "allow", "version": 1, "payload_hash": ""}
    answer = leads[0].post(f"/api/decisions/{id}/answer", body, content_type="application/json")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


def test_a_waiting_agent_is_told_that_its_request_ended_and_that_this_is_no_consent(crew, leads, database_threads):
    """The lead stops the attempt on its page while the agent waits."""
    held = crew.claim()

    async def work(port):
        asking = asyncio.create_task(port.ask(world.ask()))
        await eventually(Decision.objects.first)
        await db.call(leads[0].post, reverse("run-stop", args=[held.id]))
        port.poked.set()
        with pytest.raises(AskWithdrawn, match="That is not consent"):
            await asyncio.wait_for(asking, 5)

    on_port(held, work)
