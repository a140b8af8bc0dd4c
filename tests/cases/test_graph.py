"""N03, N04, N09 and N19 through the pages: what may not be started, what waits for itself, what waits for a failure."""

import json
import re

import pytest
from django.urls import reverse

from tasks_app.execution import outcome
from tasks_app.models import Decision, Dependency, Event, Message, Run, Task
from tasks_app.runners.port import Outcome, OutcomeKind
from tasks_app.services import messages, scheduling
from tests.dashboard.conftest import words_of
from tests.services import world
from tests.services.failing import fail_for_good, take_any
from tests.tools.calls import caller, good

pytestmark = pytest.mark.django_db


def page(browser, task):
    """What the task's page says; where tags end before a comma, no space is left."""
    return re.sub(r" ([,.])", r"\1", words_of(browser.get(reverse("task", args=[task.pk]))))


def needs(crew, *edges):
    for one, other in edges:
        Dependency.objects.create(task=crew.tasks[one], needs=crew.tasks[other])


# -- N03


def test_a_report_of_a_task_that_was_blocked_meanwhile_is_taken_and_flagged_and_nobody_else_may_start_or_complete_it(anna):
    crew = world.make(titles=("A", "B"))
    me = caller(crew, 1, 0)
    needs(crew, (1, 0))
    browser, second = anna(crew), crew.tasks[1]
    before = world.frozen(crew.team)
    for verb, body in (("start", {"agent": "builder-2"}), ("complete", {"note": "done"})):
        answer = browser.post(f"/api/tasks/{second.pk}/{verb}", json.dumps(body), content_type="application/json")
        assert answer.status_code == 409, verb
    refused = browser.post(reverse("task-action", args=[second.pk]), {"do": "complete", "note": "done"})
    assert (refused.status_code, "blocked by T-1 A" in words_of(refused)) == (409, True)
    assert world.frozen(crew.team) == before
    good(me, "TaskUpdate", taskId="2", status="completed", evidence={"1": "yes"})
    held = outcome.Held(me.run_id, me.fence, me.team_id, second.pk, me.agent_id)
    outcome.settle(held, Outcome(OutcomeKind.ENDED), leaving_for=None)
    assert crew.task(1).status == "completed"
    assert "Completed while blocked by T-1." in page(browser, second)


# -- N04


@pytest.mark.parametrize("edges", [((0, 1), (1, 0)), ((0, 1), (1, 2), (2, 0))], ids=["two", "three"])
def test_a_circle_that_is_there_already_hangs_neither_pages_nor_scheduler_and_every_member_says_so(anna, edges):
    crew = world.make(titles=("A", "B", "C"))
    needs(crew, *edges)
    browser = anna(crew)
    members = {number for edge in edges for number in edge}
    for view in ("", "?view=table"):
        assert browser.get(reverse("team", args=[crew.team.slug]) + view).status_code == 200
    assert browser.get(f"/api/teams/{crew.team.slug}").status_code == 200
    for number in members:
        assert "in a circle" in page(browser, crew.tasks[number])
    scheduling.tick(crew.team.pk)
    assert not Run.objects.filter(task__in=[crew.tasks[number] for number in members]).exists()
    assert Run.objects.count() == min(3 - len(members), 2)


# -- N09


def test_what_waits_for_a_failed_task_says_which_and_that_waiting_will_not_help(anna):
    crew = world.make(titles=("A", "B", "C"), chain=True)
    fail_for_good(crew)
    browser = anna(crew)
    assert "Blocked by T-1 A, which failed. It will not start by waiting." in page(browser, crew.tasks[1])
    assert "Blocked by T-2 B, which can never start: T-1 failed. It will not start by waiting." in page(browser, crew.tasks[2])
    options = Decision.objects.get().payload["options"]
    again = next(number for number, option in enumerate(options) if "try again" in option["label"])
    decision = Decision.objects.get()
    seen = {"version": decision.version, "payload_hash": decision.payload_hash, "choice": "answer", "option": str(again)}
    assert browser.post(reverse("decision-answer", args=[decision.pk]), seen).status_code == 302
    held = take_any(crew)
    outcome.runs.report(held.id, held.fence, {"status": "completed", "evidence": {"1": "yes"}, "summary": "s"})
    outcome.settle(held, Outcome(OutcomeKind.ENDED), leaving_for=None)
    assert Run.objects.filter(task=crew.tasks[1], status="pending").exists()
    assert "which failed" not in page(browser, crew.tasks[1])


# -- N19


def test_an_assignment_of_a_finished_task_changes_nothing_however_often_it_comes(anna):
    crew = world.make()
    Task.objects.update(status="completed")
    browser, task = anna(crew), crew.tasks[0]
    before = world.frozen(crew.team)
    for _ in range(3):
        answer = browser.post(f"/api/tasks/{task.pk}/start", json.dumps({"agent": "builder-1"}), content_type="application/json")
        assert (answer.status_code, answer.json()["error"]["message"]) == (409, "T-1 is completed; builder-1 cannot claim it.")
        refused = browser.post(reverse("task-action", args=[task.pk]), {"do": "reassign", "agent": "", "start": "clean"})
        assert refused.status_code == 409
    assert world.frozen(crew.team) == before
    assert not Run.objects.exists()


def test_the_same_frame_four_times_is_one_message_and_an_assignment_of_a_finished_task_one_note(anna):
    crew = world.make(titles=[f"Task {n}" for n in range(1, 8)], limits={"parallel": 1})
    Task.objects.filter(number=7).update(status="completed", completed_at=world.now())
    held, builder = crew.claim(0, 1), crew.agents[1].name
    desk = {"sender_agent_id": crew.agents[0].pk, "to": builder, "actor": "agent:builder-1"}
    frame = {"type": "message", "text": "The schema is ready at db/schema.sql.", "timestamp": "2026-01-01T00:00:00.000Z"}
    for _ in range(4):
        messages.send(crew.team.pk, body=json.dumps(frame), **desk)
    assert Message.objects.count() == 1
    assert len(messages.take_due(held.agent_id, run_id=held.id, fence=held.fence)) == 1
    for second in range(3):
        late = {"type": "task_assignment", "taskId": "7", "timestamp": f"2026-01-01T00:00:0{second}.000Z"}
        messages.send(crew.team.pk, body=json.dumps(late), **desk)
    notes = Event.objects.filter(kind="note", data__text="assignment for finished task ignored")
    assert list(notes.values_list("task_number", flat=True)) == [7]
    assert crew.task(6).status == "completed"
    assert messages.take_due(held.agent_id, run_id=held.id, fence=held.fence) == [], "nobody is given it as a turn"
    assert not messages.is_urgent(held.agent_id)
    assert Run.objects.count() == 1
    history = words_of(anna(crew).get(reverse("history")))
    assert history.count("assignment for finished task ignored") == 1


def test_an_assignment_of_an_open_task_is_talk_like_any_other():
    crew = world.make()
    sent = messages.send(
        crew.team.pk, sender_agent_id=None, to="builder-1", body='{"type":"task_assignment","taskId":"1"}', actor="user:ada"
    )
    assert sent.priority == "normal"
    assert crew.task().status == "pending"
