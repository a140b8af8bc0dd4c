"""Nobody is looking: a request waits, says so everywhere, and on-call hears of it once."""

import asyncio
import json
import logging

import pytest
from django.urls import reverse

from tasks_app.domain.statuses import DecisionKind
from tasks_app.execution import oncall
from tasks_app.models import Decision
from tasks_app.runners.port import Ask
from tasks_app.selectors import agents, inbox
from tasks_app.selectors.states import AgentState
from tasks_app.services import decisions, expiry
from tests import factories as make
from tests.dashboard.conftest import browser_of, words_of  # noqa: F401
from tests.hooks import listening
from tests.services import world
from tests.services.asking import later
from tests.services.fixtures import database_threads, hints  # noqa: F401

pytestmark = pytest.mark.usefixtures("database_threads")
SUBAGENT = "Check the API"


@pytest.fixture
def hook(settings):
    """The on-call channel; a web hook of this machine is let pass only while debugging."""
    with listening() as found:
        settings.DEBUG, settings.ONCALL_URL, settings.ORIGINS = True, found.url, ["https://desk.example.org"]
        yield found


def asked(**team):
    """A sub-agent's request for permission in a team of Anna's."""
    crew = world.make(agents=1, lead=make.UserFactory(username="anna"), **team)
    held = crew.claim()
    ask = Ask(DecisionKind.PERMISSION, world.PAYLOADS[DecisionKind.PERMISSION], "toolu_1", SUBAGENT)
    return crew, decisions.open_for_run(held.id, held.fence, ask)


def tell():
    return asyncio.run(oncall.tell_due())


def test_a_subagents_request_that_nobody_sees_waits_under_its_name_and_on_call_is_told_once(hook, browser_of):  # noqa: F811
    """N25"""
    crew, decision = asked()
    assert tell() == 0
    with later(10):
        assert (tell(), tell()) == (1, 0)
        card = agents.of_teams([crew.team.pk])[0]
        assert (card.state, card.ask.opened_at) == (AgentState.WAITING, Decision.objects.get().opened_at)
        assert card.now.startswith("builder-1’s sub-agent “Check the API” wants to run: ")
        anna = browser_of(crew.team.access.get().user)
        for page in (reverse("overview"), reverse("inbox"), reverse("team", args=[crew.team.slug])):
            assert "builder-1’s sub-agent “Check the API” wants to run" in words_of(anna.get(page)), page
        assert "Waiting for you T-1 10 min · builder-1’s sub-agent" in words_of(anna.get(reverse("overview")))
        shown = words_of(anna.get(reverse("inbox-detail", args=[decision.pk])))
        assert "waiting 10 min" in shown
        assert "On-call was told at" in shown
        assert inbox.open_items([crew.team.pk])[0].open
    assert [(post["subagent"], post["agent"], post["age_s"]) for post in hook.posts] == [(SUBAGENT, "builder-1", 600)]
    assert hook.posts[0]["link"] == f"https://desk.example.org/inbox/{decision.pk}/"
    command = world.PAYLOADS[DecisionKind.PERMISSION]["input"]["command"]
    assert command not in json.dumps(hook.posts, ensure_ascii=False)


def test_with_a_timeout_it_is_denied_at_expiry_also_after_on_call_was_told(hook):
    """N25"""
    asked(limits={"decision_timeout_s": 900})
    with later(10):
        assert tell() == 1
    with later(15.1):
        assert expiry.expire_due() == 1
        assert tell() == 0
    ended = Decision.objects.get()
    assert (ended.status, ended.choice) == ("expired", "deny")


def test_a_failing_channel_is_said_on_the_page_tried_again_and_leaves_no_address_in_the_log(hook, browser_of, caplog):  # noqa: F811
    caplog.set_level(logging.DEBUG)
    hook.answers = [503, 200]
    crew, decision = asked()
    anna = browser_of(crew.team.access.get().user)
    with later(10):
        assert tell() == 0
        shown = words_of(anna.get(reverse("inbox-detail", args=[decision.pk])))
        assert "On-call could not be told yet: it answered 503. Next try at" in shown
    with later(11.1):
        assert (tell(), tell()) == (1, 0)
        assert "On-call was told at" in words_of(anna.get(reverse("inbox-detail", args=[decision.pk])))
    assert len(hook.posts) == 2
    assert "it answered 503" in caplog.text
    assert hook.url not in caplog.text


def test_a_channel_that_stays_away_is_given_up_in_words(hook, browser_of):  # noqa: F811
    hook.answers = [404]
    crew, decision = asked()
    for minutes in (10, 11.1, 13.2, 17.3, 25.4, 60, 600):
        with later(minutes):
            assert tell() == 0
    assert len(hook.posts) == 5
    page = browser_of(crew.team.access.get().user).get(reverse("inbox-detail", args=[decision.pk]))
    assert "On-call could not be told: it answered 404." in words_of(page)


def test_without_an_address_nobody_is_told(settings):
    settings.ONCALL_URL = ""
    asked()
    with later(600):
        assert tell() == 0
    assert Decision.objects.get().notify_tries == 0
