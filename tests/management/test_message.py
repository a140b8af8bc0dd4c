"""`manage.py message`."""

import datetime as dt
import io

import pytest
from django.utils import timezone

from tasks_app.models import Message
from tasks_app.services import messages, talk
from tests.factories import AgentFactory, TeamFactory
from tests.management.commands import run, run_json

pytestmark = pytest.mark.django_db
LONG_AGO = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


@pytest.fixture
def team():
    made = TeamFactory(slug="billing", name="Billing")
    for name in ("ada", "ben"):
        AgentFactory(team=made, name=name, role="builder")
    return made


def mail(team, to="lead"):
    ada = team.agents.get(name="ada")
    return messages.send(team.pk, sender_agent_id=ada.pk, to=to, body="May I?", actor="agent:ada")


def test_a_message_is_sent_to_one_or_all_and_listed_with_its_receipt(team, monkeypatch):
    assert run("message", "billing")[:2] == (0, "No message.\n")
    code, out, _ = run("message", "billing", "send", "ada", "Stop.", "--priority", "interrupt", "--no-reply")
    sent = Message.objects.get()
    assert (code, out, sent.no_reply) == (0, f"{sent.pk} to ada\n", True)
    assert f"{sent.pk} lead → ada (queued, interrupt): Stop." in run("message", "Billing", "list")[1]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("漢🚀\ud99c".encode("utf-8", "surrogatepass"))))
    code, found = run_json("message", "billing", "send", "all", "-")
    assert (code, [one["to"] for one in found["sent"]]) == (0, ["ada", "ben"])
    _, listed = run_json("message", "billing", "list", "--who", "ben")
    assert [(one["receipt"], one["message"][:2]) for one in listed["messages"]] == [("queued", "漢🚀")]
    assert run_json("message", "billing", "list", "--state", "acted on")[1] == {"messages": []}


def test_what_cannot_be_sent_is_refused_in_a_sentence(team):
    assert run("message", "billing", "send", "adda", "x")[::2] == (
        2,
        "There is no agent “adda” in this team. Did you mean ada?\n",
    )
    assert run("message", "billing", "send", "ada")[0] == 2
    assert run("message", "billing", "send", "ada", "🚀é漢" * 350_000)[0] == 2
    assert run("message", "billing", "done", "m00000000")[0] == 2
    assert not Message.objects.exists()


def test_mail_is_done_or_passed_on_and_pairs_are_counted(team):
    first = mail(team)
    assert run("message", "billing", "done", first.pk, "Yes.")[1] == f"{first.pk} is marked as acted on.\n"
    assert run("message", "billing", "talk", "--mode", "hub")[1].startswith("hub, 10 messages of a pair in a minute, 8 replies")
    held = mail(team, "ben")
    assert "ada → lead (queued, meant for ben): May I?" in run("message", "billing")[1]
    assert run("message", "billing", "pass-on", held.pk)[1] == "Passed on to ben.\n"
    assert run("message", "billing", "pass-on", held.pk)[0] == 2
    assert "ada → lead: 2, 0 not in context yet, 2 answered or acted on" in run("message", "billing", "pairs")[1]


def test_how_the_team_talks_is_shown_and_checked(team):
    assert run_json("message", "billing", "talk", "--chain", "3") == (0, {"mode": "mesh", "per_minute": 10, "chain": 3})
    assert run("message", "billing", "talk", "--per-minute", "0")[0] == 2
    assert talk.settings(team.pk).chain == 3


def test_a_message_that_waits_for_a_finished_team_or_a_stopped_agent_says_so(team):
    team.agents.filter(name="ben").update(status="stopped")
    assert "Queued: ben is stopped: it is read when ben works again." in run("message", "billing", "send", "ben", "x")[1]
    type(team).objects.update(ended_at=timezone.now())
    out = run("message", "billing", "send", "ada", "x")[1]
    assert "Queued: the team has finished: it is read when a task is reopened or added." in out
    assert "(queued: the team has finished" in run("message", "billing")[1]


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"status": "stopped"}, "the team is stopped: it is read when the team is resumed"),
        ({"archived_at": LONG_AGO}, "the team is archived: it is read when the team is restored and works again"),
        (
            {"status": "stopped", "archived_at": LONG_AGO},
            "the team is archived: it is read when the team is restored and works again",
        ),
    ],
)
def test_a_message_that_waits_for_a_stopped_or_archived_team_says_so(team, how, why):
    """M9"""
    type(team).objects.update(**how)
    assert f"Queued: {why}." in run("message", "billing", "send", "ada", "x")[1]
    assert run_json("message", "billing", "send", "all", "x")[1]["sent"][0]["held_up"] == why
    assert f"(queued: {why})" in run("message", "billing")[1]
