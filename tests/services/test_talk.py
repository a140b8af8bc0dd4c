"""How a team talks: receipts up to "acted on", hub and mesh, everyone at once, and what stops a loop."""

from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from tasks_app.domain.errors import Conflict, Forbidden, Invalid, NotFound, TooLarge, TooMany
from tasks_app.models import Event, Message
from tasks_app.services import actions, messages, talk
from tests import factories
from tests.services import world

pytestmark = pytest.mark.django_db
ADA = "user:ada"


@pytest.fixture
def crew():
    return world.make(agents=3, titles=("A", "B", "C"), limits={"parallel": 3})


def send(crew, body="The schema has changed.", *, sender=None, to="builder-2", **more):
    sender_id = crew.agents[sender].pk if sender is not None else None
    return messages.send(crew.team.pk, sender_agent_id=sender_id, to=to, body=body, actor=ADA, **more)


def take(held):
    return [m.pk for m in messages.take_due(held.agent_id, run_id=held.id, fence=held.fence)]


def now(message):
    return messages.get(message.pk)


def settings(crew, **changed):
    talk.set_settings(crew.team.pk, **{"mode": "mesh", "per_minute": 10, "chain": 8, **changed}, actor=ADA)


# -- receipts


def test_a_reply_marks_what_it_answers_with_or_without_its_id(crew):
    second = crew.claim(1, 1)
    first, other = send(crew, sender=0), send(crew, sender=0)
    take(second)
    reply = send(crew, "It is in v2.", sender=1, to="builder-1", reply_to=first.pk)
    assert (reply.reply_to_id, reply.depth) == (first.pk, 1)
    assert now(first).answered_at is not None
    assert now(other).answered_at is None
    assert send(crew, "And v3.", sender=1, to="builder-1").reply_to_id == other.pk
    assert now(other).answered_at is not None


def test_a_message_that_was_not_handed_over_yet_is_answered_by_nothing(crew):
    first = send(crew, sender=0)
    assert send(crew, sender=1, to="builder-1").reply_to_id is None
    assert now(first).answered_at is None


def test_the_one_who_got_it_says_once_that_it_was_acted_on(crew):
    sent = send(crew, sender=0)
    who = {"team_id": crew.team.pk, "actor": "agent:builder-2"}
    with pytest.raises(NotFound, match="no such message to you"):
        messages.act_on(sent.pk, agent_id=crew.agents[0].pk, note="", **who)
    with pytest.raises(NotFound):
        messages.act_on("m" * 500, agent_id=crew.agents[1].pk, note="", **who)
    messages.act_on(sent.pk, agent_id=crew.agents[1].pk, note="Renamed it \ud99c\0", **who)
    assert (now(sent).acted_at is not None, now(sent).acted_note) == (True, "Renamed it \ufffd")
    with pytest.raises(Conflict):
        messages.act_on(sent.pk, agent_id=crew.agents[1].pk, note="", **who)
    assert world.kinds(crew.team).count("message.acted") == 1


@pytest.mark.django_db(transaction=True)
def test_of_two_that_say_so_at_once_one_is_taken():
    crew = world.make(agents=2)
    sent = send(crew, sender=0)

    def done(_):
        return messages.act_on(sent.pk, team_id=crew.team.pk, agent_id=crew.agents[1].pk, note="", actor=ADA)

    assert sorted(type(one).__name__ for one in world.at_once(2, done)) == ["Conflict", "Message"]


def test_a_reply_to_what_is_unknown_to_another_or_wants_none_is_refused(crew):
    held = crew.claim(1, 1)
    quiet = send(crew, sender=0, no_reply=True)
    take(held)
    for wrong in ("m00000000", "\ud99c", "x" * 10_000):
        with pytest.raises(Invalid) as refused:
            send(crew, sender=1, to="builder-1", reply_to=wrong)
        assert refused.value.field == "reply_to"
    with pytest.raises(Invalid, match="to you"):
        send(crew, sender=2, to="builder-1", reply_to=quiet.pk)
    with pytest.raises(Invalid, match="builder-1 wants no reply"):
        send(crew, sender=1, to="builder-1", reply_to=quiet.pk)
    assert send(crew, sender=1, to="builder-1").reply_to_id is None, "news of its own is no reply"


# -- loops


def ping_pong(crew, times):
    """Both sides write in turn, each after it got the other's."""
    lives = (crew.claim(0, 0), crew.claim(1, 1))
    for n in range(times):
        sender = n % 2
        send(crew, f"Ping {n}?", sender=sender, to=crew.agents[1 - sender].name)
        take(lives[1 - sender])


def test_replies_to_replies_end_at_the_depth_that_is_set_and_a_person_may_go_on(crew):
    settings(crew, chain=4, per_minute=100)
    with pytest.raises(TooMany, match="replied to each other 4 times in a row") as refused:
        ping_pong(crew, 20)
    assert (refused.value.status, refused.value.code) == (429, "too_many")
    assert list(Message.objects.order_by("created_at").values_list("depth", flat=True)) == [0, 1, 2, 3, 4]
    assert send(crew, "Stop, both of you.").depth == 0
    assert send(crew, "Something else.", sender=0, to="builder-3").depth == 0


def test_a_pair_has_so_many_messages_a_minute_and_then_again(crew):
    settings(crew, per_minute=3)
    for n in range(3):
        send(crew, f"Note {n}", sender=0)
    with pytest.raises(TooMany, match="sent builder-2 3 messages within a minute"):
        send(crew, "Note 3", sender=0)
    send(crew, "Note", sender=0, to="builder-3")
    send(crew, "Note", sender=0, to="lead")
    for n in range(5):
        send(crew, f"The lead is not limited {n}.")
    Message.objects.update(created_at=F("created_at") - timedelta(seconds=61))
    send(crew, "Note 3", sender=0)


def test_what_the_guard_held_back_is_told_to_people_once_a_minute(crew):
    for _ in range(3):
        talk.note_refused(crew.team.pk, agent_id=crew.agents[0].pk, recipient="builder-2", why="Too many.")
    (event,) = Event.objects.filter(kind="message.refused")
    assert event.data == {"sender": "builder-1", "recipient": "builder-2", "why": "Too many."}


@pytest.mark.parametrize(
    "body",
    ["ok", "Thanks!", "Got it, thanks.", "👍", "Understood. Will do", '{"type": "idle_notification", "from": "x"}', "OK 👍"],
)
def test_status_chatter_stands_on_the_page_and_enters_no_prompt(crew, body):
    held = crew.claim(1, 1)
    assert send(crew, body, sender=0).priority == "status"
    assert take(held) == []


@pytest.mark.parametrize(
    "body", ["ok, but use port 81", "Done: see src/a.py", '{"type": "schema"}', "{", "[" * 100_000, "no", "Ready to merge T-4?"]
)
def test_what_says_something_is_no_chatter(crew, body):
    assert send(crew, body[:90_000], sender=0).priority == "normal"


def test_the_lead_may_say_ok_and_a_status_is_never_handed_over(crew):
    held = crew.claim(1, 1)
    said = send(crew, "ok")
    send(crew, "Half way through the long test suite.", sender=0, priority="status")
    assert take(held) == [said.pk]


# -- everyone


def test_a_message_to_all_reaches_each_agent_that_is_not_stopped_once(crew, hints):
    world.Agent.objects.filter(pk=crew.agents[2].pk).update(status="stopped")
    lives = [crew.claim(n, n) for n in (0, 1)]
    draft = messages.Draft("The interface is frozen.", dedupe_key="k1")
    sent = [messages.post(crew.team.pk, draft, sender_agent_id=None, to=" All ", actor=ADA) for _ in range(2)]
    assert [m.recipient_name for m in sent[0]] == ["builder-1", "builder-2"]
    assert {m.pk for m in sent[0]} == {m.pk for m in sent[1]}, "the same frame again"
    assert Message.objects.count() == 2
    assert {m.broadcast for m in sent[0]} == {sent[0][0].pk}
    assert [len(take(held)) for held in lives] == [1, 1]
    assert [len(take(held)) for held in lives] == [0, 0]


def test_what_an_agent_says_to_all_wants_no_reply_and_is_shorter(crew):
    assert send(crew, sender=0, to="everyone").no_reply is True
    assert Message.objects.count() == 2
    with pytest.raises(TooLarge, match="at most 20,000"):
        send(crew, "🚀é漢" * 350_000, to="all")
    alone = world.make(agents=1)
    with pytest.raises(Invalid, match="nobody else"):
        send(alone, sender=0, to="all")


# -- hub and mesh


def test_in_hub_mode_agents_write_through_the_human_who_passes_it_on(crew):
    settings(crew, mode="hub")
    sent = send(crew, sender=0)
    assert (sent.recipient, sent.recipient_name, sent.meant_for) == (None, "lead", "builder-2")
    held = crew.claim(1, 1)
    assert take(held) == []
    with pytest.raises(Invalid, match="Did you mean builder-2"):
        send(crew, sender=0, to="bilder-2")
    passed = messages.pass_on(sent.pk, team_id=crew.team.pk, actor=ADA)
    assert take(held) == [passed.pk]
    assert (passed.sender_name, now(sent).acted_note) == ("builder-1", "passed on to builder-2")
    with pytest.raises(Conflict):
        messages.pass_on(sent.pk, team_id=crew.team.pk, actor=ADA)
    with pytest.raises(NotFound):
        messages.pass_on(passed.pk, team_id=crew.team.pk, actor=ADA)
    with pytest.raises(NotFound):
        messages.pass_on(sent.pk, team_id=factories.TeamFactory().pk, actor=ADA)
    with pytest.raises(Forbidden, match="go through lead"):
        send(crew, sender=0, to="all")


def test_in_hub_mode_the_lead_agent_is_the_hub_and_writes_to_all(crew):
    settings(crew, mode="hub")
    planner = factories.AgentFactory(team=crew.team, name="planner", role="Lead", position=9)
    assert send(crew, sender=0).recipient == planner
    assert send(crew, sender=0, to="planner").meant_for == ""
    assert send(crew, sender=0, to="lead").recipient is None
    to_one = messages.send(crew.team.pk, sender_agent_id=planner.pk, to="builder-2", body="Go.", actor=ADA)
    assert (to_one.recipient_name, to_one.meant_for) == ("builder-2", "")
    messages.send(crew.team.pk, sender_agent_id=planner.pk, to="all", body="Frozen.", actor=ADA)
    assert send(crew).recipient_name == "builder-2", "the human writes to anybody"
    actions.stop_agent(planner.pk, actor=ADA)
    assert send(crew, sender=0).recipient_name == "lead"


def test_how_a_team_talks_is_checked_and_told(crew):
    for wrong in ({"mode": "star"}, {"per_minute": 0}, {"chain": 101}):
        with pytest.raises(Invalid) as refused:
            settings(crew, **wrong)
        assert refused.value.field == next(iter(wrong))
    settings(crew, mode="hub")
    settings(crew, mode="hub")
    assert world.kinds(crew.team).count("message.mode") == 1
    assert talk.settings(crew.team.pk).mode == "hub"


# -- urgent


def test_an_urgent_message_is_known_until_it_is_taken_and_says_when_what_ran_was_stopped(crew):
    held = crew.claim(1, 1)
    assert messages.is_urgent(held.agent_id) is False
    sent, normal = send(crew, priority="interrupt"), send(crew)
    assert messages.is_urgent(held.agent_id) is True
    messages.note_stopped(held.agent_id, run_id=held.id, fence=held.fence)
    assert take(held) == [sent.pk, normal.pk]
    assert messages.is_urgent(held.agent_id) is False
    assert now(sent).stopped_at >= now(sent).created_at
    assert now(normal).stopped_at is None
    (event,) = Event.objects.filter(kind="message.stopped")
    assert 0 <= event.data["seconds"] == now(sent).stop_s < 60


def test_the_seconds_count_from_the_life_that_was_stopped_where_the_message_is_older(crew):
    sent = send(crew, priority="interrupt")
    Message.objects.update(created_at=F("created_at") - timedelta(hours=5))
    held = crew.claim(1, 1)
    messages.note_stopped(held.agent_id, run_id=held.id, fence=held.fence)
    assert now(sent).stop_s < 60


# -- what it costs


def test_everyone_is_written_to_and_takes_over_with_two_statements_for_each_event_and_no_more():
    def queries(agents):
        crew = world.make(agents=agents + 1)
        with CaptureQueriesContext(connection) as sent:
            send(crew, sender=0, to="all")
        for n in range(agents):
            send(crew, body=f"Number {n}.")
        held = crew.claim(agent=1)
        with CaptureQueriesContext(connection) as taken:
            assert len(take(held)) == agents + 1
        return len(sent), len(taken)

    (sent_two, took_two), (sent_nine, took_nine) = queries(2), queries(9)
    assert (sent_nine - sent_two, took_nine - took_two) == (2 * 7, 2 * 7)
