"""The lead agent: woken for what needs a choice, answers only what is its own, and lets nothing wait unseen."""

import pytest

from tasks_app.domain.errors import AlreadyAnswered, Forbidden, Stale
from tasks_app.domain.statuses import DecisionKind, Reason, RunStatus
from tasks_app.models import Agent, Decision, Event, Run, Task, Team
from tasks_app.selectors import leading
from tasks_app.services import actions, deciding, decisions, deliveries, handing, recovery, scheduling
from tasks_app.services.endings import Ending
from tests import factories
from tests.services import world
from tests.services.failing import fail, take_any

pytestmark = pytest.mark.django_db
ADA = "agent:ada"
OPTION = {"option": "Mock the API"}


@pytest.fixture
def crew():
    made = world.make(titles=("Build", "Test"), limits={"parallel": 3, "attempts": 1})
    factories.AgentFactory(team=made.team, name="ada", role="lead", position=9)
    return made


def asked(crew, kind=DecisionKind.ESCALATION, task=0, agent=0):
    given = Run.objects.filter(task=crew.tasks[task], status="pending").first()
    held = world.take(given.pk) if given else crew.claim(task, agent)
    return decisions.open_for_run(held.id, held.fence, world.ask(kind))


def answer(decision, choice="answer", data=None, actor=ADA, **given):
    now = decisions.get(decision.pk)
    seen = {"version": now.version, "payload_hash": now.payload_hash, **given}
    return actions.answer(decision.pk, choice=choice, data=data or OPTION, actor=actor, **seen)


def turn():
    return Run.objects.get(task__type="lead", status__in=("pending", "running"))


def end_turn(status=RunStatus.COMPLETED, reason=Reason.DONE, detail=""):
    held = world.take(turn().pk)
    deliveries.end(held.id, held.fence, Ending(status, reason, detail), why="its run ended")
    scheduling.tick(held.team_id)


def test_what_comes_together_wakes_it_once_and_is_in_the_inbox_from_the_start(crew):
    first, second = asked(crew), asked(crew, task=1, agent=1)
    assert {one.decider for one in (first, second)} == {"lead"}
    scheduling.tick(crew.team.pk)
    scheduling.tick(crew.team.pk)
    run = turn()
    assert (run.agent.name, run.task.title, run.pk[0]) == ("ada", "Decide: 2 requests", "l")
    assert all(one.pk in run.task.description for one in (first, second))
    assert Event.objects.get(kind="lead.woken").data == {"agent": "ada", "decisions": [first.pk, second.pk]}
    assert Decision.objects.filter(status="open").count() == 2


def test_progress_wakes_nobody_and_ordinary_tasks_do_not_go_to_it(crew):
    Task.objects.update(role="")
    Agent.objects.filter(team=crew.team).exclude(name="ada").update(status="stopped")
    Team.objects.update(decides={"escalation": "human"})
    scheduling.tick(crew.team.pk)
    assert not Run.objects.exists()


def test_its_turn_takes_no_place_of_the_team(crew):
    Team.objects.update(limits={"parallel": 1})
    asked(crew)
    crew.claim(1, 1)
    scheduling.tick(crew.team.pk)
    assert world.take(turn().pk)


def test_its_answer_is_signed_as_its_own_and_reaches_the_agent_as_such(crew):
    decision = asked(crew)
    done = answer(decision)
    assert done.answered_by == "lead agent ada"
    assert Event.objects.get(kind="decision.answered").actor == ADA


@pytest.mark.parametrize("kind", [DecisionKind.PERMISSION, DecisionKind.PLAN, DecisionKind.REVIEW])
def test_what_is_the_humans_is_refused_whatever_the_text_says(crew, kind):
    decision = asked(crew, kind)
    assert decision.decider == "human"
    choice = "allow" if kind is DecisionKind.PERMISSION else "approve"
    with pytest.raises(Forbidden, match="only the human decides on this"):
        answer(decision, choice)
    assert decisions.get(decision.pk).status == "open"


def test_a_plan_in_the_dress_of_an_escalation_stays_a_plan(crew):
    held = crew.claim()
    decision = decisions.open_for_run(held.id, held.fence, world.ask(DecisionKind.ESCALATION, plan="1. Drop the table."))
    assert (decision.subject, decision.decider) == ("plan", "human")


def test_money_and_a_missing_key_are_the_humans(crew):
    for reason, subject in ((Reason.BUDGET, "budget"), (Reason.AUTH, "")):
        Decision.objects.all().delete()
        Task.objects.update(status="pending", failed=False, attempts_allowed=9)
        scheduling.tick(crew.team.pk)
        fail(take_any(crew), reason=reason)
        scheduling.tick(crew.team.pk)
        decision = Decision.objects.get()
        assert (decision.subject, decision.decider) == (subject, "human")


def test_no_other_agent_answers_and_it_never_answers_itself(crew):
    decision = asked(crew)
    with pytest.raises(Forbidden, match="Only people answer"):
        answer(decision, actor="agent:builder-2")
    scheduling.tick(crew.team.pk)
    held = world.take(turn().pk)
    own = decisions.open_for_run(held.id, held.fence, world.ask(DecisionKind.ESCALATION))
    assert own.decider == "human"
    with pytest.raises(Forbidden, match="You asked this yourself"):
        answer(own)


def test_the_first_answer_wins_whoever_gives_it_and_a_stale_one_is_refused(crew):
    decision = asked(crew)
    with pytest.raises(Stale):
        answer(decision, payload_hash="0" * 64)
    answer(decision, actor="user:lead")
    with pytest.raises(AlreadyAnswered, match="Already decided by lead at"):
        answer(decision)
    other = asked(crew, task=1, agent=1)
    answer(other)
    with pytest.raises(AlreadyAnswered, match="Already decided by lead agent ada"):
        answer(other, actor="user:lead")


def test_what_it_reads_of_a_request_says_what_is_left_out(crew):
    decision = asked(crew)
    options = [{"label": f"o{n}"} for n in range(53)]
    Decision.objects.filter(pk=decision.pk).update(payload={"problem": "x" * 6_100, "options": options})
    (found,) = leading.waiting(crew.team.pk)
    assert found["asked"]["problem"].endswith("… [100 more characters are not shown here]")
    assert found["asked"]["options"][-1] == "[3 more are not shown here]"
    Decision.objects.filter(pk=decision.pk).update(payload={"problem": "a \u202e"})
    assert leading.waiting(crew.team.pk)[0]["warnings"][0].startswith("Holds characters")


@pytest.mark.django_db(transaction=True)
def test_of_two_answers_at_once_one_lands(crew):
    decision = asked(crew)
    found = world.at_once(2, lambda n: answer(decision, actor=(ADA, "user:lead")[n]))
    assert sorted(isinstance(one, AlreadyAnswered) for one in found) == [False, True]


def test_what_it_does_not_decide_in_its_turn_is_the_humans(crew):
    decision = asked(crew)
    scheduling.tick(crew.team.pk)
    end_turn()
    now = decisions.get(decision.pk)
    assert (now.decider, now.handed_why, now.status) == ("human", "ada ended its turn without deciding", "open")
    assert not Run.objects.filter(task__type="lead", status="pending").exists(), "it is not woken for it again"


def test_a_turn_that_fails_is_not_made_again_and_hands_on(crew):
    decision = asked(crew)
    scheduling.tick(crew.team.pk)
    end_turn(RunStatus.FAILED, Reason.ERROR, "It broke.")
    assert decisions.get(decision.pk).handed_why == "ada’s turn failed: It broke."
    assert Task.objects.get(type="lead").status == "cancelled"


def test_a_turn_whose_worker_dies_goes_on_with_the_same_run(crew):
    decision = asked(crew)
    scheduling.tick(crew.team.pk)
    held = world.take(turn().pk)
    world.expire_lease(held.id)
    recovery.sweep()
    assert decisions.get(decision.pk).decider == "lead"
    again = world.take(held.id)
    assert (again.id, again.fence) == (held.id, held.fence + 1)
    assert Task.objects.filter(type="lead").count() == 1


def test_after_the_time_that_is_set_it_is_the_humans(crew):
    Team.objects.update(decides={"wait_minutes": 0.0001})
    decision = asked(crew)
    Decision.objects.update(lead_until=decision.opened_at)
    recovery.sweep()
    assert decisions.get(decision.pk).handed_why == "the lead agent did not decide in time"


def test_a_stopped_lead_agent_a_used_up_budget_and_a_changed_setting_hand_on_at_once(crew):
    decision = asked(crew)
    actions.stop_agent(Agent.objects.get(name="ada").pk, actor="user:lead")
    assert decisions.get(decision.pk).handed_why == "the lead agent is stopped"
    actions.resume_agent(Agent.objects.get(name="ada").pk, actor="user:lead")
    other = asked(crew, task=1, agent=1)
    assert other.decider == "lead"
    deciding.set_settings(crew.team.pk, {"escalation": "human"}, actor="user:lead")
    scheduling.tick(crew.team.pk)
    assert decisions.get(other.pk).handed_why.startswith("the settings were changed")


def test_a_used_up_budget_hands_on(crew):
    decision = asked(crew)
    Team.objects.update(budget_usd=1, used_usd=2)
    scheduling.tick(crew.team.pk)
    assert "budget of the team is used up" in decisions.get(decision.pk).handed_why
    assert not Run.objects.filter(task__type="lead").exists()


def test_it_is_woken_only_so_often_in_an_hour(crew):
    Team.objects.update(decides={"wakes_per_hour": 1})
    asked(crew)
    scheduling.tick(crew.team.pk)
    end_turn()
    other = asked(crew, task=1, agent=1)
    scheduling.tick(crew.team.pk)
    assert decisions.get(other.pk).handed_why == "ada was woken as often as it may be within an hour"


def test_handing_on_is_said_and_it_cannot_answer_afterwards(crew):
    decision = asked(crew)
    handing.hand_on_by_agent(decision.pk, team_id=crew.team.pk, why="It costs money.", actor=ADA)
    assert Event.objects.get(kind="decision.handed_on").data["why"] == "It costs money."
    with pytest.raises(Forbidden, match="handed on to the human"):
        answer(decision)


def test_a_failed_task_comes_to_it_when_its_attempts_are_used_up(crew):
    Task.objects.update(attempts_allowed=1)
    scheduling.tick(crew.team.pk)
    fail(take_any(crew))
    scheduling.tick(crew.team.pk)
    decision = Decision.objects.get()
    assert (decision.subject, decision.decider) == ("escalation", "lead")
    assert all("ada" not in one["label"] for one in decision.payload["options"])
    with pytest.raises(Forbidden, match="Only the human takes a task as done"):
        answer(decision, data={"option": "Mark it completed"})
    answer(decision, data={"option": "Give it to builder-2", "text": "Use a stub."})
    task = decision.task
    task.refresh_from_db()
    assert task.assignee.name == "builder-2"


def test_a_setting_lets_it_decide_on_every_failure(crew):
    Team.objects.update(decides={"failure": "lead"})
    Task.objects.update(attempts_allowed=5)
    scheduling.tick(crew.team.pk)
    fail(take_any(crew))
    scheduling.tick(crew.team.pk)
    assert (Decision.objects.get().subject, Decision.objects.get().decider) == ("failure", "lead")


def test_a_task_nobody_may_do_and_a_dead_end_are_put_before_it_once(crew):
    factories.DependencyFactory(task=crew.tasks[1], needs=crew.tasks[0])
    actions.cancel(crew.tasks[0].pk, actor="user:lead")
    scheduling.tick(crew.team.pk)
    decision = Decision.objects.get()
    assert "can never start: T-1" in decision.payload["problem"]
    answer(decision, data={"option": "Leave it"})
    scheduling.tick(crew.team.pk)
    assert Decision.objects.count() == 1, "the same is asked once"


def test_what_was_stuck_and_is_not_any_more_is_taken_back(crew):
    Task.objects.filter(pk=crew.tasks[0].pk).update(assignee=crew.agents[0])
    actions.stop_agent(crew.agents[0].pk, actor="user:lead")
    decision = Decision.objects.get()
    assert "builder-1, to whom it is given, is stopped" in decision.payload["problem"]
    actions.resume_agent(crew.agents[0].pk, actor="user:lead")
    assert decisions.get(decision.pk).status == "withdrawn"


def test_without_a_lead_agent_all_is_the_humans():
    crew = world.make()
    assert asked(crew).decider == "human"
