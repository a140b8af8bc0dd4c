"""N16 and N20 through the pages, the API and a whole worker: whom a message reaches, and which bytes of it."""

import json
import re
from urllib.parse import quote_from_bytes

import pytest
from django.urls import reverse

from tasks_app.models import Agent, Message, Run
from tasks_app.services import actions
from tasks_app.services.messages import LIMIT
from tests import factories as make
from tests.cases.conftest import driven
from tests.dashboard.conftest import html_of, words_of

FAMILY = "현 보유현황 👩‍👩‍👧‍👦 <b>x</b> &amp; \x1b[31mred\x1b[0m \u2028 𝔘 end"
RECEIVED = r'{"text":"현\ud99c 보유현황 👩‍👩‍👧‍👦 \u0000 end"}'
CLEANED = "현\ufffd 보유현황 👩‍👩‍👧‍👦  end"


@pytest.fixture
def engineer(team):
    return make.AgentFactory(team=team, name="engineer")


@pytest.fixture
def send(desk, team):
    """Return a function that sends the form of the team's page and gives the page that comes of it."""

    def press(to, body="Go on.", **more):
        return desk.post(reverse("message-send", args=[team.slug]), {"to": to, "body": body, **more}, follow=True)

    return press


@pytest.fixture
def post(desk, team):
    """Return a function that sends a body, as JSON text, to the API."""

    def send(body, client=desk):
        return client.post(f"/api/teams/{team.slug}/messages", data=body, content_type="application/json")

    return send


# -- N16


def test_a_message_to_enginer_is_refused_with_the_name_that_was_meant(engineer, send, post):
    refused = send("enginer", "My long words.")
    assert refused.status_code == 422
    assert "Did you mean engineer?" in words_of(refused)
    assert "My long words.</textarea>" in html_of(refused)
    answer = post(json.dumps({"to": "enginer", "message": "x"}))
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "to")
    assert "Did you mean engineer?" in answer.json()["error"]["message"]
    assert (Message.objects.count(), Agent.objects.count()) == (0, 1), "no mailbox without an owner"


def test_a_message_to_a_stopped_agent_is_queued_and_seen_to_be_undelivered(engineer, send, post, desk, team):
    actions.stop_agent(engineer.pk, actor="user:anna")
    said = words_of(send("engineer", "Are you there?"))
    waits = "queued: engineer is stopped: it is read when engineer works again"
    assert waits in said
    assert waits in words_of(desk.get(reverse("agent", args=[engineer.pk])))
    assert "engineer is stopped: the message waits until it runs again." in words_of(
        desk.get(reverse("agent", args=[engineer.pk]))
    )
    assert post(json.dumps({"to": "engineer", "message": "x"})).json()["queued"] is True
    assert list(Message.objects.values_list("delivered_at", flat=True)) == [None, None]


def test_a_message_to_an_agent_that_runs_is_on_its_way(engineer, send, post):
    make.RunFactory(task__team=engineer.team, agent=engineer)
    assert "Message for engineer is on its way." in words_of(send("Engineer"))
    assert post(json.dumps({"to": "engineer", "message": "x"})).json()["queued"] is False


def test_an_agent_of_another_team_is_reached_by_no_address(engineer, send, post):
    make.AgentFactory(name="stranger")
    refused = send("stranger", back=str(Agent.objects.get(name="stranger").pk))
    assert refused.status_code == 403
    assert "not in this team" in words_of(refused)
    assert post(json.dumps({"to": "stranger", "message": "x"})).status_code == 403
    assert not Message.objects.exists()


# -- N20


def test_what_is_valid_goes_round_exactly_and_the_rest_is_replaced(engineer, send, post, desk, team):
    send("engineer", FAMILY)
    given = json.dumps({"to": "engineer", "message": "MESSAGE"}).replace('"MESSAGE"', RECEIVED[len('{"text":') : -1])
    assert post(given).status_code == 201
    assert list(Message.objects.order_by("created_at").values_list("body", flat=True)) == [FAMILY, CLEANED]
    page = desk.get(reverse("team", args=[team.slug])).content.decode()
    assert "👩‍👩‍👧‍👦" in page
    assert "&lt;b&gt;x&lt;/b&gt; &amp;amp;" in page
    assert CLEANED in page
    assert not {"\0", "\x1b"} & set(page)


def test_bytes_of_a_form_that_are_no_text_are_replaced_and_never_an_error_of_ours(engineer, desk, team):
    raw = quote_from_bytes("현\ud99c \0 end".encode("utf-8", "surrogatepass"))
    answer = desk.post(
        reverse("message-send", args=[team.slug]), f"to=engineer&body={raw}", content_type="application/x-www-form-urlencoded"
    )
    assert answer.status_code == 302
    body = Message.objects.get().body
    assert (body[0], body[-4:], "\ufffd" in body, "\0" in body) == ("현", " end", True, False)


@pytest.mark.parametrize("repeats", [LIMIT // 3 + 1, 400_000, 1_048_576])
def test_what_is_too_large_gets_413_in_words_on_the_page_and_from_the_api(engineer, send, post, repeats):
    body = "🚀é漢" * repeats + "x"
    page = send("engineer", body)
    assert page.status_code == 413
    assert "at most 20,000 are taken" in words_of(page) or "At most 2 MB can be sent at once" in words_of(page)
    answer = post(json.dumps({"to": "engineer", "message": body}))
    assert answer.status_code == 413
    assert answer.json()["error"]["code"] == "too_large"
    assert "at most" in answer.json()["error"]["message"].lower()
    assert not Message.objects.exists()


def test_one_that_just_fits_the_api_is_stored_whole_and_shown_cut_at_a_whole_character(engineer, post, desk, team):
    body = "👩‍👩‍👧‍👦" * (LIMIT // 7)
    assert post(json.dumps({"to": "engineer", "message": body}, ensure_ascii=False)).status_code == 201
    assert Message.objects.get().body == body
    shown = html_of(desk.get(reverse("team", args=[team.slug])))
    pieces = re.findall("[👩👧👦\u200d]+", shown)
    assert pieces
    assert all(piece == "👩‍👩‍👧‍👦" * (len(piece) // 7) for piece in pieces)


def test_a_message_reaches_the_process_of_the_agent_byte_for_byte(crew, playing, database_threads, browser_of, lead):
    binary = playing("echo")
    make.TeamAccessFactory(team=crew.team, user=lead)
    held = crew.claim()
    sent = browser_of(lead).post(reverse("message-send", args=[crew.team.slug]), {"to": "builder-1", "body": FAMILY})
    assert sent.status_code == 302
    driven(held)
    message = Message.objects.get()
    assert binary.told("prompt")[1:] == [f"[message {message.pk} from lead]\n{FAMILY}"]
    assert message.read_at is not None
    assert Run.objects.get().status == "completed"
