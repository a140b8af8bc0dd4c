"""What the lead can do with teams, tasks, attempts and agents: it is done, or refused in words."""

from decimal import Decimal

import pytest
from django.urls import reverse

from tasks_app.domain.statuses import AgentStatus, RunStatus, TaskStatus, TeamStatus
from tasks_app.models import Message, Run, Task, TaskRule
from tasks_app.services import budgets
from tests import factories as make
from tests.dashboard.conftest import html_of, words_of


@pytest.fixture
def act(desk):
    """Return a function that presses a button and gives the page that comes of it."""

    def press(name, key, client=desk, **fields):
        return client.post(reverse(name, args=[key]), fields, follow=True)

    return press


@pytest.fixture
def agent(team):
    return make.AgentFactory(team=team, name="ada")


@pytest.fixture
def task(team):
    return make.TaskFactory(team=team, number=7)


def test_a_team_is_paused_and_takes_up_work_again(act, team):
    assert "what runs goes on, nothing new starts" in words_of(act("team-action", "atlas", do="pause"))
    team.refresh_from_db()
    assert team.status == TeamStatus.PAUSED
    response = act("team-action", "atlas", do="pause")
    assert response.status_code == 409
    assert "paused already" in words_of(response)
    assert "takes up work again" in words_of(act("team-action", "atlas", do="resume"))


def test_stopping_a_team_says_how_much_it_ends(act, team, agent):
    run = make.RunFactory(task__team=team, agent=agent, waiting_for_worker=True)
    text = words_of(act("team-action", "atlas", do="stop"))
    assert "1 open attempt will end" in text
    run.refresh_from_db()
    assert run.status == RunStatus.KILLED


@pytest.mark.parametrize(("usd", "status"), [("12,50", 200), ("", 200), ("x", 422), ("-3", 422), ("inf", 422), ("1e99", 422)])
def test_the_budget_of_a_team_is_a_number_or_nothing(act, team, usd, status):
    assert act("team-action", "atlas", do="budget", usd=usd, tokens="").status_code == status


@pytest.mark.parametrize(("tokens", "status"), [("2 000 000", 200), ("2,000", 200), ("0", 422), ("9" * 40, 422), ("٣", 422)])
def test_a_token_budget_is_a_whole_number(act, task, tokens, status):
    assert act("task-action", task.pk, do="budget", usd="", tokens=tokens).status_code == status


def test_a_task_is_reassigned_with_guidance(act, task, agent):
    text = words_of(act("task-action", task.pk, do="reassign", agent=str(agent.pk), start="clean", guidance="Look at DST."))
    assert "Reassigned" in text
    task.refresh_from_db()
    run = Run.objects.filter(task=task).first()
    assert (task.guidance or (run and run.guidance)) == "Look at DST."


def test_reassigning_to_an_agent_of_another_team_is_refused_and_keeps_the_text(act, task):
    other = make.AgentFactory()
    response = act("task-action", task.pk, do="reassign", agent=str(other.pk), start="clean", guidance="my words")
    assert response.status_code == 404
    assert "my words</textarea>" in html_of(response)


@pytest.mark.parametrize("fields", [{"agent": "x"}, {"agent": "9" * 30}, {"start": "zz"}])
def test_nonsense_in_the_form_of_a_reassignment_is_refused_in_words(act, task, fields):
    response = act("task-action", task.pk, **{"do": "reassign", "start": "clean", "agent": "", "guidance": "", **fields})
    assert response.status_code == 422
    assert 'role="alert"' in html_of(response)


def test_a_task_is_completed_by_hand_then_reopened_then_cancelled(act, task):
    assert "Completed by hand." in words_of(act("task-action", task.pk, do="complete", note="I did it."))
    task.refresh_from_db()
    assert (task.status, task.output) == (TaskStatus.COMPLETED, "I did it.")
    assert "Opened again." in words_of(act("task-action", task.pk, do="reopen", why="Not quite."))
    assert "Cancelled." in words_of(act("task-action", task.pk, do="cancel", why="No need."))
    task.refresh_from_db()
    assert task.status == TaskStatus.CANCELLED


def test_a_blocked_task_cannot_be_completed_and_the_blocker_is_named(act, team):
    task = make.TaskFactory(team=team, needs=[make.TaskFactory(team=team, number=3)])
    response = act("task-action", task.pk, do="complete", note="x")
    assert response.status_code == 409
    assert "T-3" in words_of(response)
    task.refresh_from_db()
    assert task.status == TaskStatus.PENDING


def test_queued_tasks_are_moved_up_and_down(act, team, desk):
    first, second = (make.TaskFactory(team=team, title=title, position=place) for place, title in enumerate(("One", "Two")))
    act("task-action", second.pk, do="up")
    html = html_of(desk.get(reverse("team", args=["atlas"])))
    assert html.index(" Two</a>") < html.index(" One</a>")
    act("task-action", second.pk, do="down")
    html = html_of(desk.get(reverse("team", args=["atlas"])))
    assert html.index(" One</a>") < html.index(" Two</a>")


def test_an_attempt_is_stopped_once(act, team, agent):
    run = make.RunFactory(task__team=team, agent=agent, waiting_for_worker=True)
    assert "is being stopped" in words_of(act("run-stop", run.pk))
    response = act("run-stop", run.pk)
    assert response.status_code == 409
    assert "ended already" in words_of(response)


def test_an_agent_is_stopped_and_works_again(act, agent):
    assert "ada is stopped." in words_of(act("agent-action", agent.pk, do="stop"))
    agent.refresh_from_db()
    assert agent.status == AgentStatus.STOPPED
    assert "may be given work again" in words_of(act("agent-action", agent.pk, do="resume"))


def test_an_agent_can_be_stopped_until_its_team_has_nothing_left_to_do(desk, team, agent, task):
    def offered():
        return "Stop ada?" in html_of(desk.get(reverse("agent", args=[agent.pk])))

    assert offered()
    type(team).objects.filter(pk=team.pk).update(ended_at=make.ago(minutes=1))
    assert not offered()
    make.RunFactory(task=task, agent=agent)
    assert offered(), "it still works"


def test_a_message_reaches_the_mailbox_of_the_agent(act, agent):
    make.RunFactory(task__team=agent.team, agent=agent)
    assert "Message for ada is on its way." in words_of(act("message-send", "atlas", to="ada", body="Keep going.\r\nPlease."))
    assert Message.objects.get().body == "Keep going.\nPlease."


def test_a_message_to_nobody_is_refused_and_the_text_is_kept(act, agent):
    response = act("message-send", "atlas", to="adda", body="Keep going.")
    assert response.status_code == 422
    assert "There is no agent “adda”" in words_of(response)
    assert "Keep going.</textarea>" in html_of(response)
    assert not Message.objects.exists()


def test_a_message_beyond_the_limit_gets_413_and_one_within_it_arrives_exactly(act, agent):
    assert act("message-send", "atlas", to="ada", body="🚀é漢" * 7_000).status_code == 413
    body = "현보유현황 👩‍👩‍👧‍👦 end " * 100
    act("message-send", "atlas", to="ada", body=body)
    assert Message.objects.get().body == body.strip()


def test_lone_surrogates_and_nul_do_not_reach_the_database(act, agent):
    act("message-send", "atlas", to="ada", body="현\ud99c \0 end".encode("utf-8", "surrogatepass").decode("latin-1"))
    assert "\0" not in Message.objects.get().body


def test_a_message_from_an_agents_page_leads_back_there(act, agent):
    response = act("message-send", "atlas", to="ada", body="Hi", back=str(agent.pk))
    assert response.redirect_chain[-1][0] == reverse("agent", args=[agent.pk])


def test_a_rule_is_taken_back(act, task):
    rule = make.TaskRuleFactory(task=task)
    assert "The rule is taken back" in words_of(act("task-action", task.pk, do="revoke", rule=str(rule.pk)))
    assert not TaskRule.objects.exists()


def test_a_rule_of_another_task_cannot_be_taken_back_through_this_one(act, task):
    rule = make.TaskRuleFactory()
    assert act("task-action", task.pk, do="revoke", rule=str(rule.pk)).status_code == 404
    assert TaskRule.objects.exists()


ALL = ["team-action", "task-action", "run-stop", "agent-action", "message-send"]


@pytest.fixture
def keys(team, agent, task):
    run = make.RunFactory(task=task, agent=agent)
    return {"team-action": "atlas", "task-action": task.pk, "run-stop": run.pk, "agent-action": agent.pk, "message-send": "atlas"}


@pytest.mark.parametrize("name", ALL)
def test_a_viewer_may_not_act_and_nothing_happens(act, keys, watcher, team, name):
    response = act(name, keys[name], client=watcher, do="pause", to="ada", body="x")
    assert response.status_code == 403
    assert "You may watch this team but not act on it." in words_of(response)
    team.refresh_from_db()
    assert team.last_seq == 0


@pytest.mark.parametrize("name", ALL)
def test_a_stranger_finds_nothing_to_act_on(act, keys, stranger, team, name):
    assert act(name, keys[name], client=stranger, do="pause", to="ada", body="x").status_code == 404
    team.refresh_from_db()
    assert team.last_seq == 0


@pytest.mark.parametrize("name", ["team-action", "task-action", "agent-action"])
def test_a_word_that_no_button_sends_is_refused(act, keys, name):
    assert act(name, keys[name], do="explode").status_code == 422
    assert act(name, keys[name]).status_code == 422


@pytest.mark.parametrize("name", ALL)
def test_whoever_reloads_the_address_of_an_act_is_led_to_a_page_and_nothing_happens(desk, keys, team, name):
    response = desk.get(reverse(name, args=[keys[name]]))
    assert response.status_code == 302
    assert desk.get(response["Location"]).status_code == 200
    assert desk.put(reverse(name, args=[keys[name]])).status_code == 405
    team.refresh_from_db()
    assert team.last_seq == 0


def test_the_budget_of_each_attempt_is_set_for_a_task_and_for_a_team(desk, act, team, task):
    assert act("team-action", "atlas", do="run_budget", usd="2.50", tokens="").status_code == 200
    assert act("task-action", task.pk, do="run_budget", usd="", tokens="90000").status_code == 200
    task.refresh_from_db()
    team.refresh_from_db()
    assert (team.limits["run_budget"], task.run_budget_usd, task.run_budget_tokens) == (
        {"usd": 2.5, "tokens": None},
        None,
        90_000,
    )
    assert budgets.of_new_run(Task.objects.select_related("team").get(pk=task.pk)) == {
        "budget_usd": Decimal("2.5"),
        "budget_tokens": 90_000,
    }
    assert 'value="2.50"' in html_of(desk.get(reverse("team", args=["atlas"])))
    assert 'value="90000"' in html_of(desk.get(reverse("task", args=[task.pk])))
    refused = act("task-action", task.pk, do="run_budget", usd="much", tokens="")
    assert refused.status_code == 422
    assert html_of(refused).count('id="error-usd"') == 1
    text = words_of(desk.get(reverse("history")))
    assert "set the budget of each attempt to 2.50 USD" in text
