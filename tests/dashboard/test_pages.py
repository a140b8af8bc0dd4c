"""Every page shows what is so, to those who may see it, at a constant cost."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tasks_app.services import checkpoints
from tests import factories as make
from tests.dashboard.conftest import html_of, words_of


@pytest.fixture
def run(team):
    return make.RunFactory(
        task__team=team, task__number=42, task__title="Build the API", agent__team=team, agent__name="ada", agent__used=True
    )


@pytest.fixture
def addresses(team, run):
    decision = make.DecisionFactory(run=run)
    make.StepFactory(run=run)
    return {
        "overview": reverse("overview"),
        "inbox": reverse("inbox"),
        "decision": reverse("inbox-detail", args=[decision.pk]),
        "teams": reverse("teams"),
        "team": reverse("team", args=["atlas"]),
        "table": reverse("team", args=["atlas"]) + "?view=table",
        "task": reverse("task", args=[run.task_id]),
        "agent": reverse("agent", args=[run.agent_id]),
        "history": reverse("history"),
        "how it goes": reverse("how-it-goes", args=["atlas"]),
        "context": reverse("context", args=["atlas"]),
        "entry": reverse("context-entry", args=["atlas", make.ContextEntryFactory(team=team).pk]),
        "who decides": reverse("deciders", args=["atlas"]),
        "checkpoints": reverse("checkpoints", args=["atlas"]),
        "new team": reverse("team-new"),
        "search": reverse("search") + "?q=a",
        "keys": reverse("keys"),
    }


PAGES = [
    *("overview", "inbox", "decision", "teams", "team", "table", "task", "agent", "history", "how it goes", "context", "entry"),
    "new team",
    "who decides",
    "checkpoints",
    "search",
    "keys",
]
OF_ONE_TEAM = ["decision", "team", "table", "task", "agent", "how it goes", "context", "entry", "who decides", "checkpoints"]


@pytest.mark.parametrize("which", PAGES)
def test_every_page_can_be_opened_and_names_itself(desk, addresses, which):
    response = desk.get(addresses[which])
    assert response.status_code == 200
    html = html_of(response)
    assert html.count("<h1") == 1
    assert html.count("<main") == 1
    assert re.search(r"<title>\(1\) .+ · Crewdesk</title>", html)


@pytest.mark.parametrize("which", PAGES)
def test_every_page_asks_a_visitor_to_sign_in(client, addresses, which):
    response = client.get(addresses[which])
    assert response.status_code == 302
    assert response["Location"].startswith(reverse("sign-in"))


@pytest.mark.parametrize("which", OF_ONE_TEAM)
def test_what_one_may_not_see_looks_as_if_it_did_not_exist(stranger, addresses, which):
    response = stranger.get(addresses[which])
    assert response.status_code == 404
    assert "Atlas" not in html_of(response)
    assert "ada" not in words_of(response)


@pytest.mark.parametrize("which", ["overview", "inbox", "teams", "history", "search"])
def test_lists_hold_nothing_of_other_peoples_teams(stranger, addresses, which):
    response = stranger.get(addresses[which])
    assert response.status_code == 200
    assert "Atlas" not in html_of(response)


@pytest.mark.parametrize("which", PAGES)
def test_no_page_carries_a_style_a_script_or_a_handler_in_itself(desk, addresses, which):
    html = html_of(desk.get(addresses[which]))
    assert not re.search(r"<style|\sstyle=|hx-on|hx-vals='js|javascript:", html)
    assert not re.search(r"<script(?![^>]*\ssrc=)", html)
    assert not re.search(r"\son\w+=", html)


@pytest.mark.parametrize("which", ["team", "overview"])
def test_a_sandboxed_team_says_so(desk, team, addresses, which):
    assert "Sandbox" not in words_of(desk.get(addresses[which]))
    type(team).objects.filter(pk=team.pk).update(limits={"sandbox": True})
    assert "Sandbox" in words_of(desk.get(addresses[which]))


@pytest.mark.parametrize("which", PAGES)
def test_every_id_on_a_page_is_there_once(desk, addresses, which):
    ids = re.findall(r'\sid="([^"]+)"', html_of(desk.get(addresses[which])))
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("which", [*OF_ONE_TEAM, "overview", "inbox"])
def test_every_page_of_a_rehearsed_team_says_so(desk, team, addresses, which):
    assert "Rehearsal: replies are scripted" not in words_of(desk.get(addresses[which]))
    type(team).objects.filter(pk=team.pk).update(rehearsal=True)
    assert "Rehearsal: replies are scripted" in words_of(desk.get(addresses[which]))


@pytest.mark.parametrize("which", [*OF_ONE_TEAM, "overview", "inbox", "history"])
def test_a_page_names_the_socket_and_the_moment_it_shows(desk, team, addresses, which):
    make.EventFactory(team=team)
    html = html_of(desk.get(addresses[which]))
    assert re.search(rf'data-live="/live/\?page=\w+&amp;arg=[\w.~-]*" data-seq="{team.pk}:1"', html)


@pytest.mark.parametrize(
    ("stood_on", "told"), [("/inbox/", True), ("/teams/atlas/", True), ("/teams/atlas/?view=table", False), ("", False)]
)
def test_the_answer_to_a_form_names_its_address_where_the_form_stood_on_another_page(desk, stood_on, told):
    address = "/teams/atlas/?view=table"
    headers = {"HX-Request": "true", "HX-Current-URL": f"http://testserver{stood_on}#messages"} if stood_on else {}
    assert desk.get(address, headers=headers).headers.get("HX-Push-Url") == (address if told else None)


@pytest.mark.parametrize("which", PAGES)
def test_htmx_gets_only_the_main_part(desk, addresses, which):
    response = desk.get(addresses[which], headers={"HX-Request": "true"})
    html = html_of(response)
    assert '<main id="main"' in html
    assert "<html" not in html
    assert "HX-Request" in response["Vary"]


def test_the_overview_shows_the_work_as_it_is(desk, run):
    text = words_of(desk.get(reverse("overview")))
    for words in (
        "Atlas",
        "0 of 1 done · 1 in flight",
        "ada",
        "Working",
        "T-42",
        "81% · warn",
        "588 k · $4.62",
        "of 5–30 min",
    ):
        assert words in text


def test_a_lost_agent_is_said_to_be_lost_and_for_how_long(desk, run):
    type(run).objects.filter(pk=run.pk).update(lease_until=0)
    text = words_of(desk.get(reverse("overview")))
    assert "Lost" in text
    assert "no heartbeat for" in text
    assert "Lost" in text
    assert "Working" not in text


def test_what_is_unknown_is_said_to_be_unknown(desk, team):
    make.AgentFactory(team=team)
    text = words_of(desk.get(reverse("overview")))
    assert "context not reported" in text
    assert "cost not reported" in text
    assert "$0.00" not in text


def test_a_cost_that_nobody_has_told_yet_is_said_in_the_same_words_wherever_it_would_stand(desk, team):
    type(team).objects.update(budget_usd=5)
    agent = make.AgentFactory(team=team, used_tokens=4_000)
    run = make.RunFactory(task__team=team, task__budget_usd=2, agent=agent, budget_usd=1)
    overview = words_of(desk.get(reverse("overview")))
    assert "cost not reported (budget $5) ·" in overview
    assert "4 k · cost – not reported" in overview  # the dash is seen, the words are read out and stand in the title
    assert "cost not reported (budget $5) ·" in words_of(desk.get(reverse("team", args=[team.slug])))
    task = words_of(desk.get(reverse("task", args=[run.task_id])))
    assert "0 tok · cost not reported (budget $2.00)" in task
    assert "tokens not reported · cost not reported (budget $1.00)" in task
    assert "not reported of" not in overview + task


def test_the_budget_that_holds_stands_in_its_field_as_people_write_it(desk, team):
    type(team).objects.update(budget_usd=5)
    task = make.TaskFactory(team=team, budget_usd="2.50")
    assert 'name="usd" value="5"' in html_of(desk.get(reverse("team", args=[team.slug])))
    assert 'name="usd" value="2.50"' in html_of(desk.get(reverse("task", args=[task.pk])))


def test_an_empty_desk_says_what_to_do_next(stranger):
    text = words_of(stranger.get(reverse("overview")))
    assert "No team yet. Start one from a plan file." in text
    assert "See an example plan" in text
    assert "once whoever runs Crewdesk lets you in" in text
    assert "once whoever runs Crewdesk lets you in" in words_of(stranger.get(reverse("teams")))


def test_the_amber_bar_stands_on_every_page_while_something_waits(desk, run, addresses):
    for which in PAGES:
        assert "1 waiting for you" in words_of(desk.get(addresses[which]))


def _queries(client, address):
    with CaptureQueriesContext(
        connection,
    ) as found:
        assert client.get(address).status_code == 200
    return len(found)


@pytest.mark.parametrize("which", ["overview", "inbox", "teams", "history", "search"])
def test_a_page_over_all_teams_costs_the_same_for_one_team_and_for_twenty(desk, lead, team, addresses, which):
    make.EventFactory(team=team)
    one = _queries(desk, addresses[which])
    for _ in range(19):
        other = make.TeamFactory(lead=lead)
        for _ in range(3):
            make.DecisionFactory(run=make.RunFactory(task__team=other, agent__team=other))
        make.EventFactory(team=other)
    assert _queries(desk, addresses[which]) == one
    assert one <= 32


@pytest.mark.parametrize("which", OF_ONE_TEAM)
def test_a_page_of_one_team_costs_the_same_for_one_task_and_for_forty(desk, team, run, addresses, which):
    make.EventFactory(team=team, kind="note", task_number=42, agent_id=run.agent_id)
    type(run.agent).objects.update(session_id=make.TranscriptEntryFactory().session_id)
    checkpoints.save(team.pk, name="first", by="user:anna")
    few = _queries(desk, addresses[which])
    for number in range(20):
        more = make.RunFactory(task__team=team, agent__team=team, agent__session_id=f"s{number}")
        make.TranscriptEntryFactory(session_id=f"s{number}")
        checkpoints.save(team.pk, name=f"point {number}", by="user:anna")
        make.TaskFactory(team=team, needs=[more.task])
    for _ in range(30):
        make.StepFactory(run=run)
    assert _queries(desk, addresses[which]) == few
    assert few <= 60


def test_the_inbox_can_be_narrowed_to_a_kind(desk, team, run):
    make.DecisionFactory(run=run, kind="plan", title="ada proposes a plan")
    make.DecisionFactory(run=run, kind="budget", title="ada has used up the budget")
    text = words_of(desk.get(reverse("inbox") + "?kind=plan"))
    assert "proposes a plan" in text
    assert "used up the budget" not in text
    assert desk.get(reverse("inbox") + "?kind=zz").status_code == 200


def test_the_teams_carry_the_rank_by_which_they_were_sorted(desk, lead, team, run):
    """Scripts tell from it that the order has changed, and sort again."""
    failed = make.TaskFactory(team=make.TeamFactory(lead=lead, name="Failing"), gave_up=True).team
    asked = make.DecisionFactory(run=make.RunFactory(task__team=make.TeamFactory(lead=lead, name="Asking"))).team
    html = html_of(desk.get(reverse("overview")))
    assert re.findall(r'<section id="section-(\d+)"', html) == [str(one.pk) for one in (asked, failed, team)]
    ranks = [int(rank) for rank in re.findall(r'data-rank="(-?\d+)"', html)]
    assert len(ranks) == 3
    assert ranks == sorted(ranks)
    assert "Order changed. Sort again" in words_of(desk.get(reverse("overview")))


def test_the_inbox_carries_the_rank_by_which_it_is_sorted(desk, team, run):
    late = make.DecisionFactory(run=run, opened_at=make.ago(minutes=1))
    early = make.DecisionFactory(run=make.RunFactory(task__team=team), opened_at=make.ago(hours=1))
    urgent = make.DecisionFactory(run=make.RunFactory(task__team=team))
    make.TaskFactory(team=team, needs=[urgent.task])
    asleep = make.DecisionFactory(
        run=make.RunFactory(task__team=team), snoozed_until=make.ago(hours=-1), opened_at=make.ago(hours=9)
    )
    html = html_of(desk.get(reverse("inbox")))
    found = re.findall(r'<a id="row-(\w+)"[^>]* data-rank="(\d+)"', html)
    assert [pk for pk, _ in found] == [one.pk for one in (urgent, early, late, asleep)]
    assert [int(rank) for _, rank in found] == sorted(int(rank) for _, rank in found)
