"""A criterion that another agent judges: a task of its own, whose verdict completes the reviewed task or sends it back."""

import pytest
from django.db import transaction

from tasks_app.domain.statuses import Reason, RunStatus
from tasks_app.execution import outcome
from tasks_app.models import Agent, Decision, Event, Run, Task, Team
from tasks_app.runners.port import Outcome, OutcomeKind, Parked
from tasks_app.selectors import tasks as cards
from tasks_app.selectors.states import TaskState
from tasks_app.services import actions, endings, tasks
from tests.execution.lives import on_port
from tests.services import world

pytestmark = pytest.mark.usefixtures("database_threads")
JUDGED = {"judge": "builder-2", "text": "It reads well"}


@pytest.fixture
def crew(crew):
    Task.objects.filter(pk=crew.tasks[0].pk).update(criteria=["It works.", JUDGED], description="Make the page.")
    return crew


def report(held, task="T-1", **given):
    arguments = {"taskId": task, "status": "completed", "summary": "All there.", **given}

    async def work(port):
        return await port.call_tool("TaskUpdate", arguments, f"toolu_{held.fence}")

    return on_port(held, work)


def end(held):
    outcome.settle(held, Outcome(OutcomeKind.ENDED, result="Done."), leaving_for=None)


def reported(crew):
    """The first task is reported, and its review is given to the reviewer."""
    held = crew.claim()
    text, is_error = report(held, evidence={"1": "I tried it", "2": "see page.html"})
    assert not is_error, text
    assert "T-1 is reviewed by builder-2 now" in text
    end(held)
    return Task.objects.get(review_of=crew.tasks[0])


def judge(verdict, summary="I read it."):
    """The reviewer takes its task, which the scheduler gave it, and reports."""
    run = Run.objects.get(task__review_of__isnull=False, status="pending")
    held = world.take(run.pk)
    text, is_error = report(held, "T-2", evidence={"1": "page.html"}, verdict=verdict, summary=summary)
    assert not is_error, text
    end(held)


def test_a_reported_task_is_in_review_until_the_reviewer_has_judged(crew):
    review = reported(crew)
    assert (review.title, review.assignee.name) == ("Review T-1 (attempt 1): Build", "builder-2")
    for words in ("2. It reads well (see page.html)", "builder-1's summary: All there.", "Make the page.", "`verdict`"):
        assert words in review.description
    card = cards.one(crew.tasks[0].pk)
    assert (card.state, card.in_review, card.attention) == (TaskState.IN_FLIGHT, True, False)
    assert card.reason == "T-2 is a review of it: its verdict is awaited"
    assert crew.task().status == "in_progress"
    assert Run.objects.get(task=review).agent.name == "builder-2", "the scheduler has given it out"
    assert Event.objects.get(kind="task.in_review").data == {"reviewer": "builder-2", "review": "T-2"}
    assert not Decision.objects.exists(), "the lead is not asked"


def test_a_verdict_that_accepts_completes_the_task_with_both_evidences(crew):
    reported(crew)
    judge("accept")
    task = crew.task()
    assert (task.status, task.completed_by, task.output) == ("completed", "builder-1", "All there.")
    assert task.evidence == {"1": "I tried it", "2": "accepted by builder-2 (T-2): I read it."}
    assert not cards.one(task.pk).in_review


@pytest.mark.parametrize("odd", [{}, {"review": {"attempt": 1, "verdict": "accept"}}])
@pytest.mark.parametrize("verdict", ["accept", "send_back"])
def test_a_review_whose_record_is_lost_can_send_back_and_proves_nothing(crew, odd, verdict):
    Task.objects.filter(pk=reported(crew).pk).update(metadata=odd)
    judge(verdict, "The title is missing.")
    task = crew.task()
    assert (task.status, task.evidence) == ("pending" if verdict == "accept" else "in_progress", {})
    if verdict == "send_back":
        assert Run.objects.filter(task=task).latest("attempt").guidance == "Sent back by builder-2: The title is missing."
    else:
        assert "Nobody knows any more what its review T-2 was to judge." in Event.objects.get(kind="task.released").data["detail"]


def test_work_that_is_sent_back_is_done_again_by_its_author_with_the_comments(crew):
    reported(crew)
    judge("send_back", "The title is missing.")
    run = Run.objects.filter(task=crew.tasks[0]).latest("attempt")
    assert (run.attempt, run.agent.name, run.start_from) == (2, "builder-1", "last")
    assert run.guidance == "Sent back by builder-2: The title is missing."
    assert crew.task().attempts == 1
    said = Event.objects.get(kind="task.reviewed").data
    assert (said["verdict"], said["note"]) == ("send_back", "The title is missing.")


def test_after_the_last_attempt_the_lead_is_asked(crew):
    Task.objects.filter(pk=crew.tasks[0].pk).update(attempts_allowed=1)
    reported(crew)
    judge("send_back", "The title is missing.")
    decision = Decision.objects.get()
    assert decision.kind == "escalation"
    assert crew.task().status == "pending"


def test_the_next_attempt_gets_a_review_of_its_own(crew):
    reported(crew)
    judge("send_back", "The title is missing.")
    again = world.take(Run.objects.filter(task=crew.tasks[0]).latest("attempt").pk)
    assert not report(again, evidence={"1": "x", "2": "y"})[1]
    end(again)
    assert Task.objects.filter(review_of=crew.tasks[0]).count() == 2
    run = Run.objects.get(task__review_of__isnull=False, status="pending")
    held = world.take(run.pk)
    assert not report(held, "T-3", evidence={"1": "page"}, verdict="accept", summary="Now it does.")[1]
    end(held)
    assert crew.task().evidence["2"] == "accepted by builder-2 (T-3): Now it does."


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"evidence": {"1": "x"}}, 'say `verdict` "accept" or "send_back"'),
        ({"evidence": {"1": "x"}, "verdict": "send_back", "summary": " "}, "Say in `summary` what is to be changed"),
        ({"verdict": "accept"}, "no evidence was given"),
    ],
)
def test_a_review_needs_a_verdict_and_words(crew, given, words):
    reported(crew)
    held = world.take(Run.objects.get(status="pending").pk)
    text, is_error = report(held, "T-2", **given)
    assert is_error
    assert words in text


def test_only_a_review_has_a_verdict(crew):
    text, is_error = report(crew.claim(), evidence={"1": "x", "2": "y"}, verdict="accept")
    assert is_error
    assert "Only a review has a verdict" in text


def test_nobody_judges_its_own_work_the_lead_does(crew):
    Task.objects.filter(pk=crew.tasks[0].pk).update(criteria=[{"judge": "builder-1", "text": "It reads well"}])
    Team.objects.update(limits={"grace_s": 0})
    held = crew.claim()
    with pytest.raises(Parked):
        report(held, evidence={"1": "x"})
    assert Decision.objects.get().kind == "review"


@pytest.mark.parametrize("act", ["complete", "cancel", "reassign"])
def test_what_the_lead_decides_ends_the_review(crew, act):
    review = reported(crew)
    if act == "complete":
        actions.complete_by_hand(crew.tasks[0].pk, note="Fine.", actor="user:anna")
        assert "2. It reads well: it is looked at when all others are met" in crew.task().evidence["not met"]
    elif act == "cancel":
        actions.cancel(crew.tasks[0].pk, actor="user:anna")
    else:
        actions.reassign(crew.tasks[0].pk, agent_id=crew.agents[0].pk, guidance="Shorter.", actor="user:anna")
        run = Run.objects.filter(task=crew.tasks[0]).latest("attempt")
        assert (run.attempt, run.guidance) == (2, "Shorter.")
    review.refresh_from_db()
    assert review.status == "cancelled"
    assert not Run.objects.filter(task=review, status__in=["pending", "running"]).exists()


def test_a_review_that_the_lead_completes_accepts(crew):
    review = reported(crew)
    actions.complete_by_hand(review.pk, note="I looked myself.", actor="user:anna")
    assert crew.task().evidence["2"] == "accepted by anna (T-2): I looked myself."
    assert crew.task().status == "completed"


def test_a_review_that_fails_leaves_the_task_in_review_and_is_tried_again(crew):
    review = reported(crew)
    held = world.take(Run.objects.get(task=review).pk)
    with transaction.atomic():
        endings.finish(held.id, held.fence, endings.Ending(RunStatus.FAILED, Reason.REPORTED, "I cannot read it."))
    assert cards.one(crew.tasks[0].pk).in_review
    assert crew.task().status == "in_progress"


def test_two_reviewers_must_both_accept(crew):
    third = Agent.objects.create(team=crew.team, name="rita", role="builder", position=3)
    both = ["It works.", JUDGED, {"judge": "rita", "text": "It is safe"}]
    Task.objects.filter(pk=crew.tasks[0].pk).update(criteria=both)
    held = crew.claim()
    assert not report(held, evidence={"1": "x"})[1]
    end(held)
    for review in Task.objects.filter(review_of=crew.tasks[0]).order_by("number"):
        assert crew.task().status == "in_progress"
        assert tasks.get(review.pk).assignee in (crew.agents[1], third)
        actions.complete_by_hand(review.pk, note="ok", actor="user:anna")
    assert crew.task().status == "completed"
    assert {"2", "3"} <= set(crew.task().evidence)


@pytest.mark.parametrize("verdict", ["send_back", "accept"])
def test_a_verdict_that_ends_the_review_stops_the_others_that_work(crew, verdict):
    """One that sends back; one that accepts when nobody knows any more what."""
    Agent.objects.create(team=crew.team, name="rita", role="builder", position=3)
    both = ["It works.", JUDGED, {"judge": "rita", "text": "It is safe"}]
    Task.objects.filter(pk=crew.tasks[0].pk).update(criteria=both)
    held = crew.claim()
    assert not report(held, evidence={"1": "x"})[1]
    end(held)
    first, second = Run.objects.filter(task__review_of=crew.tasks[0]).order_by("task__number")
    working = world.take(second.pk)
    taken = world.take(first.pk)
    if verdict == "accept":
        Task.objects.filter(pk=first.task_id).update(metadata={})
    assert not report(taken, first.task.label, evidence={"1": "page.html"}, verdict=verdict, summary="So.")[1]
    end(taken)
    assert tasks.get(second.task_id).status == "cancelled"
    assert Run.objects.get(pk=working.id).stop_asked_at is not None


def test_a_review_that_is_given_up_leaves_its_task_to_the_lead_and_not_in_flight_for_ever(crew):
    review = reported(crew)
    actions.cancel(review.pk, actor="user:anna")
    task = crew.task()
    assert (task.status, task.held, task.attempts) == ("pending", True, 0)
    card = cards.one(task.pk)
    assert not card.in_review
    assert "nobody has judged it" in card.reason
    actions.complete_by_hand(task.pk, note="I looked", actor="user:anna")
    assert crew.task().status == "completed"
