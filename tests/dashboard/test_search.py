"""The search page: one plain form on every page, results in groups, and a clear answer to whatever is typed."""

from urllib.parse import quote

import pytest
from django.urls import reverse

from tasks_app.domain.events import EventKind
from tests import factories as make
from tests.dashboard.conftest import html_of, words_of


@pytest.fixture
def run(team):
    run = make.RunFactory(task__team=team, task__number=12, task__title="Payment <API>", agent__team=team, agent__name="ada")
    make.EventFactory(team=team, kind=EventKind.TASK_CANCELLED, actor="user:anna", task_number=12, data={"why": "no payment"})
    make.DecisionFactory(run=run, title="ada asks about payment")
    return run


def look(desk, text):
    return desk.get(f"{reverse('search')}?q={quote(text)}")


def test_every_page_has_the_field_and_it_needs_no_script(desk, run):
    html = html_of(desk.get(reverse("overview")))
    assert f'<form class="desk find" method="get" action="{reverse("search")}"' in html
    assert 'name="q"' in html
    assert desk.get("/search", {"q": "ada"}, follow=True).status_code == 200


def test_what_is_found_stands_in_groups_and_leads_to_its_page(desk, team, run):
    html = html_of(look(desk, "payment"))
    for heading in ("Tasks", "Requests", "Events"):
        assert f">{heading}</h2>" in html
    assert "Agents</h2>" not in html
    assert "Payment &lt;API&gt;" in html
    for address in (reverse("task", args=[run.task_id]), reverse("inbox-detail", args=[run.decisions.get().pk])):
        assert f'href="{address}"' in html
    assert f'href="{reverse("history")}?q=payment"' in html
    assert reverse("agent", args=[run.agent_id]) in html_of(look(desk, "ada"))
    assert reverse("team", args=["atlas"]) in html_of(look(desk, "atlas"))
    assert 'value="payment"' in html
    assert f'<a class="btn quiet" href="{reverse("search")}">Clear</a>' in html


def test_nothing_asked_and_nothing_found_say_what_to_do(desk, run):
    assert "hold every word, and a task by its number (T-12)" in words_of(look(desk, "  "))
    assert "Nothing matches “nowhere”. Clear" in words_of(look(desk, "nowhere"))


def test_a_stranger_finds_nothing(stranger, run):
    for text in ("payment", "ada", "T-12", "atlas"):
        response = look(stranger, text)
        assert f"Nothing matches “{text}”" in words_of(response)
        assert "API" not in html_of(response)


def test_a_text_without_end_is_cut_and_that_is_said(desk, run):
    response = look(desk, "🚀" * 262_144)
    assert response.status_code == 200
    assert "too long to search for: only its first 80 characters were" in words_of(response)
    assert len(html_of(response)) < 20_000


@pytest.mark.parametrize(
    "query",
    ["q=%00", "q=%ED%A0%80", "q=%ff%fe", "q=pay%00ment", "q=%1b[31mpayment", "q=%E2%80%AEpayment", "q=&q=%", "q[]=x", "q"],
)
def test_what_no_text_can_be_made_of_is_never_an_error(desk, run, query):
    response = desk.get(f"{reverse('search')}?{query}")
    assert response.status_code == 200
    assert "\x00" not in response.content.decode()
