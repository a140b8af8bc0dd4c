"""The History page: sentences with links, filters that work without scripts, pages by cursor."""

import re

import pytest
from django.urls import reverse

from dashboard.panels import history as panel
from tasks_app.domain.events import EventKind
from tasks_app.selectors import history as selector
from tests import factories as make
from tests.dashboard.conftest import html_of, words_of


@pytest.fixture
def answered(team):
    run = make.RunFactory(task__team=team, task__number=3, task__title="Payment <API>", agent__team=team, agent__name="ada")
    decision = make.DecisionFactory(run=run, status="answered", choice="allow")
    return make.EventFactory(
        team=team, kind=EventKind.DECISION_ANSWERED, actor="user:lead", task_number=3, run_id=run.pk,
        agent_id=run.agent_id, decision_id=decision.pk,
    )  # fmt: skip


def look(desk, query=""):
    return desk.get(reverse("history") + query)


def test_an_event_is_a_sentence_that_leads_to_what_it_names(desk, answered):
    html = html_of(look(desk))
    assert "Lead allowed <code>Bash(rm -rf build/ &amp;&amp; make)</code> once for <a" in html
    assert "once for ada on T-3 Payment &lt;API&gt;" in words_of(look(desk))
    for address in (
        reverse("inbox-detail", args=[answered.decision_id]),
        reverse("agent", args=[answered.agent_id]) + f"?run={answered.run_id}",
        reverse("team", args=["atlas"]),
    ):
        assert f'href="{address}"' in html
    assert re.search(r'<a href="/tasks/\d+/">T-3 Payment &lt;API&gt;</a>', html)
    assert "<code>decision.answered</code>" in html


def test_every_filter_is_a_plain_form_that_keeps_what_was_chosen(desk, team, answered):
    make.EventFactory(team=team, kind=EventKind.TEAM_PAUSED, actor="user:lead")
    query = f"?team={team.pk}&task=T-3&agent=ada&kind=decision&q=allowed&decisions=1"
    html = html_of(look(desk, query))
    assert "paused the team" not in html
    assert re.search(r'<form [^>]*method="get"', html)
    for kept in (
        'value="T-3"',
        'value="allowed"',
        f'value="{team.pk}" selected',
        'value="ada" selected',
        'value="decision" selected',
    ):
        assert kept in html
    assert re.search(r'name="decisions"\s+value="1" checked', html)
    assert answered.decision_id in html


def test_a_long_note_can_be_read_whole(desk, team):
    make.EventFactory(
        team=team, kind=EventKind.NOTE, actor="system", data={"text": f"{'It starts clean. ' * 20}Not put back: a.py"}
    )
    for address in (reverse("history"), reverse("search") + "?q=clean"):
        html = html_of(desk.get(address))
        sentence, _, rest = html.partition("<details")
        assert "Not put back" not in sentence
        assert "Not put back: a.py" in rest.partition("</details>")[0]


@pytest.mark.parametrize("query", ["?task=4", "?agent=nobody", "?kind=budget", "?q=nothere", "?team=999999"])
def test_a_filter_that_nothing_matches_says_so_and_can_be_cleared(desk, answered, query):
    text = words_of(look(desk, query))
    assert "Nothing matches the filter. Clear the filter" in text


def test_what_is_no_task_number_is_named_with_the_way_out(desk, answered):
    text = words_of(look(desk, "?task=payment"))
    assert "“payment” is not the number of a task. Write it as T-3 or 3." in text
    assert "Lead allowed" not in text


@pytest.mark.parametrize("query", ["?before=x&team=-1&kind=<b>&steps=7", "?" + "q=%ff" * 400, "?team=" + "9" * 40, "?q=%00"])
def test_nonsense_in_the_address_is_never_an_error(desk, answered, query):
    assert look(desk, query).status_code == 200


def test_earlier_events_are_one_link_away_and_keep_the_filter(desk, team):
    make.EventFactory.create_batch(selector.PAGE + 1, team=team, kind=EventKind.TEAM_PAUSED, actor="user:lead")
    html = html_of(look(desk, "?kind=team"))
    link = re.search(r'href="(\?kind=team&amp;before=\d+)"', html)
    assert link
    earlier = html_of(look(desk, link[1].replace("&amp;", "&")))
    assert earlier.count('class="item"') == 1
    assert 'href="?kind=team">Newest events' in earlier


def test_only_the_newest_page_is_live(team):
    block = panel.History().block
    assert block("", [team.pk]).keys == {f"team:{team.pk}"}
    assert block("~c3RlcHM9MQ", [team.pk]).keys == {f"team:{team.pk}", f"steps:{team.pk}"}  # steps=1
    assert not block("~YmVmb3JlPTQy", [team.pk]).keys  # before=42
