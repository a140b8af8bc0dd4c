"""After the last attempt: the lead is asked once, with options that the system itself carries out."""

import pytest

from tasks_app.domain.errors import Conflict, Invalid
from tasks_app.domain.statuses import Reason, RunStatus
from tasks_app.models import Agent, Decision, Run
from tasks_app.services import actions, endings, runs, scheduling
from tests.services import world
from tests.services.failing import fail, fail_for_good, open_run, take_any

pytestmark = pytest.mark.django_db


def test_after_the_last_attempt_the_lead_is_asked_once_with_concrete_options():
    crew = world.make(agents=2)
    fail_for_good(crew)
    scheduling.tick(crew.team.pk)
    asked = Decision.objects.get()
    assert (asked.kind, asked.run, asked.task, asked.payload["auto"]) == ("escalation", None, crew.tasks[0], True)
    assert "T-1 Build failed after attempt 3 of 3: It does not work." in asked.payload["problem"]
    labels = [o["label"] for o in asked.payload["options"]]
    assert labels == [
        f"Give it to {next(a.name for a in crew.agents if a.pk != Run.objects.get(attempt=3).agent_id)}",
        f"Let {Run.objects.get(attempt=3).agent.name} try again",
        "Mark it completed",
        "Cancel it",
    ]
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize("reason", [Reason.AUTH, Reason.START_FAILED, Reason.REFUSED, Reason.BUDGET])
def test_what_another_agent_would_only_repeat_is_asked_at_once(reason):
    crew = world.make()
    scheduling.tick(crew.team.pk)
    fail(take_any(crew), reason)
    scheduling.tick(crew.team.pk)
    assert Decision.objects.get().kind == "escalation"
    assert not Run.objects.filter(status="pending").exists()


def test_a_team_that_wants_to_be_asked_is_asked_after_the_first_failure():
    crew = world.make(limits={"on_failure": "ask"})
    scheduling.tick(crew.team.pk)
    fail(take_any(crew))
    scheduling.tick(crew.team.pk)
    assert Decision.objects.count() == 1


def answered(crew, label, text=""):
    asked = Decision.objects.get(status="open")
    return world.answer(asked, "answer", data={"option": label, "text": text})


def test_the_lead_may_give_a_task_to_another_agent_beyond_the_attempts_with_guidance():
    crew = world.make(agents=2)
    fail_for_good(crew)
    other = next(a for a in crew.agents if a.pk != Run.objects.get(attempt=3).agent_id)
    decision = answered(crew, f"Give it to {other.name}", "Use the sandbox.")
    run = open_run(crew.tasks[0])
    assert (run.agent, run.attempt, run.guidance) == (other, 4, "Use the sandbox.")
    assert crew.task().attempts_allowed == 4
    assert decision.pk == Decision.objects.get().pk
    assert Decision.objects.get().consumed_at is not None


def test_the_lead_may_let_the_same_agent_try_again():
    crew = world.make(agents=2)
    fail_for_good(crew)
    last = Run.objects.get(attempt=3).agent
    answered(crew, f"Let {last.name} try again")
    assert open_run(crew.tasks[0]).agent == last


def test_the_lead_may_take_it_as_done_and_what_waited_starts():
    crew = world.make(titles=("A", "B"), chain=True)
    fail_for_good(crew)
    answered(crew, "Mark it completed", "Did it by hand.")
    assert (crew.task().status, crew.task().completed_by, crew.task().output) == ("completed", "lead", "Did it by hand.")
    assert open_run(crew.tasks[1])


def test_the_lead_may_give_it_up():
    crew = world.make(titles=("A", "B"), chain=True)
    fail_for_good(crew)
    answered(crew, "Cancel it")
    assert crew.task().status == "cancelled"
    assert not Run.objects.filter(task=crew.tasks[1]).exists()


def test_an_option_whose_agent_was_stopped_meanwhile_is_refused_and_the_question_stays():
    crew = world.make(agents=2)
    fail_for_good(crew)
    other = next(a for a in crew.agents if a.pk != Run.objects.get(attempt=3).agent_id)
    Agent.objects.filter(pk=other.pk).update(status="stopped")
    with pytest.raises(Conflict, match="stopped"):
        answered(crew, f"Give it to {other.name}")
    assert Decision.objects.get().status == "open"


def test_words_alone_do_not_answer_a_question_of_the_system():
    crew = world.make()
    fail_for_good(crew)
    with pytest.raises(Invalid, match="Choose one of the options") as refused:
        answered(crew, "", "Just fix it.")
    assert refused.value.field == "option"


def test_reassigning_by_hand_ends_the_open_question():
    crew = world.make(agents=2)
    fail_for_good(crew)
    actions.reassign(crew.tasks[0].pk, agent_id=crew.agents[0].pk, guidance="Go.", start="clean", actor="user:ada")
    asked = Decision.objects.get()
    assert (asked.status, asked.closed_why) == ("withdrawn", "the task was reassigned")
    assert (open_run(crew.tasks[0]).agent, open_run(crew.tasks[0]).start_from) == (crew.agents[0], "clean")


def test_starting_it_by_hand_ends_the_open_question():
    crew = world.make(agents=2)
    fail_for_good(crew)
    run = actions.start_task(crew.tasks[0].pk, agent_id=crew.agents[0].pk, actor="user:ada")
    asked = Decision.objects.get()
    assert (asked.status, asked.closed_why) == ("withdrawn", "the task was started")
    assert open_run(crew.tasks[0]) == run


def test_a_task_that_is_taken_as_done_leaves_no_attempt_at_work():
    crew = world.make(agents=2)
    fail_for_good(crew)
    held = world.take(runs.claim_task(crew.tasks[0].pk, agent_id=crew.agents[0].pk, actor="system").pk)
    answered(crew, "Mark it completed")
    run = Run.objects.get(pk=held.id)
    assert (crew.task().status, run.stop_reason, run.stop_asked_by) == ("completed", "by_hand", "lead")


def test_what_depends_on_a_failed_task_waits_without_anything_growing_and_goes_on_when_it_succeeds():
    """N09"""
    crew = world.make(titles=("A", "B", "C"), chain=True)
    fail_for_good(crew)
    before = world.frozen(crew.team)
    for _ in range(100):
        scheduling.tick(crew.team.pk)
    assert world.frozen(crew.team) == before
    answered(crew, f"Let {Run.objects.get(attempt=3).agent.name} try again")
    held = take_any(crew)
    runs.report(held.id, held.fence, {"status": "completed", "evidence": {"1": "ok"}, "summary": "done"})
    endings.finish(held.id, held.fence, endings.Ending(RunStatus.COMPLETED, Reason.DONE))
    scheduling.tick(crew.team.pk)
    assert open_run(crew.tasks[1])
