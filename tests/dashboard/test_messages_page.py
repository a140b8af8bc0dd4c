"""The page Messages of a team: receipts, filter, who writes to whom, writing, mail of the human, and how the team talks."""

import datetime as dt

import pytest
from django.urls import reverse
from django.utils import timezone

from tasks_app.models import Message, Team
from tasks_app.services import messages, talk
from tests import factories as make
from tests.dashboard.conftest import html_of, words_of

LONG_AGO = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


@pytest.fixture
def agents(team):
    return [make.AgentFactory(team=team, name=name, role="builder") for name in ("ada", "ben")]


def at(*keys, name="messages"):
    return reverse(name, args=["atlas", *keys])


def write(client, **given):
    return client.post(at(name="message-send"), {"back": "messages", "to": "ada", "body": "Go on.", **given}, follow=True)


def sent(team, sender, to, body="Look at the schema.", **more):
    return messages.send(team.pk, sender_agent_id=sender and sender.pk, to=to, body=body, actor="user:anna", **more)


def test_the_log_shows_every_receipt_the_seconds_of_a_stop_and_who_writes_to_whom(desk, team, agents):
    ada, ben = agents
    now = timezone.now()
    done = sent(team, ada, "ben", priority="interrupt")
    Message.objects.filter(pk=done.pk).update(
        **dict.fromkeys(("delivered_at", "read_at", "answered_at", "acted_at"), now),
        acted_note="Moved it <b>",
        stop_s=1.5,
    )
    sent(team, ben, "lead", "May I?")
    sent(team, ada, "ben", "Thanks!")
    text = words_of(desk.get(at()))
    for word in ("Acted on", "stopped after 1.5 s", "Moved it &lt;b&gt;", "in context", "answered", "Page only", "Queued"):
        assert word in text, word
    assert "ada ben 2 0 1 1" in text
    assert "ben lead 1 1 0 0" in text
    assert f'href="{at()}"' in html_of(desk.get(reverse("team", args=["atlas"])))


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("", {"one", "two", "three"}),
        ("?who=ben", {"one", "three"}),
        ("?who=lead", {"two"}),
        ("?state=in+context", {"two"}),
        ("?state=queued", {"three"}),
        ("?state=page+only", {"one"}),
        ("?priority=interrupt", {"three"}),
        ("?state=nonsense&who=" + "x" * 500, set()),
        ("?who=%00&state=%00", {"one", "two", "three"}),
        ("?priority=a%00b&reply=%00", set()),
    ],
)
def test_the_filter_narrows_the_log(desk, team, agents, query, shown):
    ada, _ = agents
    sent(team, ada, "ben", "Text one", priority="status")
    Message.objects.filter(pk=sent(team, None, "ada", "Text two").pk).update(read_at=timezone.now(), delivered_at=timezone.now())
    sent(team, ada, "ben", "Text three", priority="interrupt")
    text = words_of(desk.get(at() + query))
    assert {word for word in ("one", "two", "three") if f"Text {word}" in text} == shown
    assert shown or "No message fits the filter." in text


def test_the_lead_writes_to_one_with_a_priority_and_to_everyone(desk, team, agents):
    make.RunFactory(task__team=team, agent=agents[0])
    assert "ada is being stopped to read it." in words_of(write(desk, priority="interrupt", no_reply="1"))
    message = Message.objects.get()
    assert (message.priority, message.no_reply, message.sender) == ("interrupt", True, None)
    assert "Message for 2 agents is on its way" in words_of(write(desk, to="all", body="🚀é漢 frozen"))
    assert set(Message.objects.exclude(broadcast="").values_list("recipient_name", flat=True)) == {"ada", "ben"}


@pytest.mark.parametrize(
    ("given", "status", "words"),
    [
        ({"to": "adda"}, 422, "Did you mean ada?"),
        ({"body": " "}, 422, "Write something first."),
        ({"priority": "now"}, 422, "Priority is one of"),
        ({"body": "🚀é漢" * 10_000}, 413, "at most"),
        ({"to": "all", "body": "x" * 20_001}, 413, "at most 20,000"),
        ({"reply_to": "m00000000"}, 422, "There is no message m00000000 to you"),
    ],
)
def test_what_cannot_be_sent_is_refused_on_this_page_and_the_text_is_kept(desk, team, agents, given, status, words):
    refused = write(desk, **{"body": "My long words.", **given})
    assert refused.status_code == status
    assert words in words_of(refused)
    assert "Who writes to whom" in words_of(refused) or status == 413
    assert "body" in given or "My long words.</textarea>" in html_of(refused)
    assert not Message.objects.exists()


def test_mail_of_the_human_is_answered_passed_on_or_done_once(desk, team, agents):
    ada, ben = agents
    talk.set_settings(team.pk, mode="hub", per_minute=10, chain=8, actor="user:anna")
    question, note = sent(team, ada, "lead", "May I?"), sent(team, ada, "ben", "The port is 81.")
    assert "meant for ben" in words_of(desk.get(at()))
    form = html_of(desk.get(at() + f"?reply={question.pk}"))
    assert f'name="reply_to" value="{question.pk}"' in form
    assert '<option value="ada" selected>' in form
    write(desk, reply_to=question.pk, body="Yes.")
    question.refresh_from_db()
    assert question.answered_at is not None
    act = at(note.pk, name="message-action")
    assert "Passed on to ben." in words_of(desk.post(act, {"do": "pass"}, follow=True))
    assert desk.post(act, {"do": "pass"}).status_code == 409
    assert Message.objects.get(recipient=ben).sender == ada
    assert desk.post(at(question.pk, name="message-action"), {"do": "done"}).status_code == 302
    assert desk.post(at(question.pk, name="message-action"), {"do": "burn"}).status_code == 422
    assert desk.post(at("m00000000", name="message-action"), {"do": "done"}).status_code == 404


def test_how_the_team_talks_is_set_here(desk, team, agents):
    act = at(name="message-settings")
    assert desk.post(act, {"mode": "hub", "per_minute": "3", "chain": "2"}).status_code == 302
    assert Team.objects.get(pk=team.pk).messaging == {"mode": "hub", "per_minute": 3, "chain": 2}
    for wrong in ({"mode": "star"}, {"per_minute": "0"}, {"chain": "x"}, {"chain": "101"}):
        assert desk.post(act, {"mode": "hub", "per_minute": "3", "chain": "2", **wrong}).status_code == 422
    assert '<option value="hub" selected>' in html_of(desk.get(at()))


def test_what_cannot_be_sent_from_the_page_of_an_agent_is_refused_there_and_the_text_is_kept(desk, team, agents):
    ada = agents[0]
    response = write(desk, back=str(ada.pk), to="nobody", body="Long thoughts.")
    assert response.status_code == 422
    assert "Long thoughts.</textarea>" in html_of(response)
    assert f'name="back" value="{ada.pk}"' in html_of(response)
    assert ">ada</h1>" in html_of(response)


def test_what_the_guard_held_back_is_on_the_page(desk, team, agents):
    talk.note_refused(team.pk, agent_id=agents[0].pk, recipient="ben", why="Too many.")
    assert "A message of ada to ben was held back" in words_of(desk.get(at()))


def test_who_may_only_watch_reads_and_does_nothing_and_a_stranger_sees_nothing(watcher, stranger, team, agents):
    mail = sent(team, agents[0], "lead", "May I?")
    text = words_of(watcher.get(at()))
    assert "May I?" in text
    assert "Write a message" not in text
    assert "How this team talks" not in text
    acts = [
        (at(name="message-send"), {}),
        (at(name="message-settings"), {}),
        (at(mail.pk, name="message-action"), {"do": "done"}),
    ]
    assert [watcher.post(*act).status_code for act in acts] == [403] * 3
    assert [stranger.post(*act).status_code for act in acts] == [404] * 3
    assert stranger.get(at()).status_code == 404


def test_the_page_takes_as_many_queries_for_many_messages_as_for_few(
    desk, team, agents, django_assert_max_num_queries, django_assert_num_queries
):
    sent(team, agents[0], "ben")
    with django_assert_max_num_queries(40) as few:
        desk.get(at())
    make.MessageFactory.create_batch(30, team=team, sender=agents[0], recipient=agents[1])
    with django_assert_num_queries(len(few)):
        desk.get(at())


def test_a_message_to_a_finished_team_says_at_once_and_in_its_receipt_that_it_waits(desk, team, agents):
    why = "the team has finished: it is read when a task is reopened or added"
    assert "The team has finished." not in words_of(desk.get(at()))
    Team.objects.filter(pk=team.pk).update(ended_at=timezone.now())
    assert "The team has finished. What you write is kept" in words_of(desk.get(at()))
    assert "The team has finished. What you write is kept" in words_of(desk.get(reverse("team", args=["atlas"])))
    text = words_of(write(desk))
    assert f"Queued: {why}." in text
    assert f"Queued : {why}" in text
    assert f"queued: {why}" in words_of(desk.get(reverse("team", args=["atlas"])))
    assert why not in words_of(write(desk, priority="status")).replace(f"Queued : {why}", "")


def test_a_long_message_is_cut_and_shown_whole_when_asked_for(desk, team, agents):
    sent(team, agents[0], "ben", "Line of words. " * 400 + "THE END")
    for page in (at(), reverse("team", args=["atlas"])):
        html = html_of(desk.get(page))
        assert "Show all 6,007 characters" in html
        assert html.count("THE END") == 1
        assert html.index("<summary") < html.index("THE END")


@pytest.mark.parametrize(
    ("how", "says", "until"),
    [
        ({"status": "stopped"}, "The team is stopped.", "the team is resumed"),
        ({"archived_at": LONG_AGO}, "The team is archived.", "the team is restored and works again"),
    ],
)
def test_a_message_to_a_stopped_or_archived_team_says_that_it_waits_where_it_is_written(desk, team, agents, how, says, until):
    Team.objects.filter(pk=team.pk).update(**how)
    for place in (at(), reverse("team", args=["atlas"])):
        assert f"{says} What you write is kept and read when {until}." in words_of(desk.get(place))
    assert f"Queued: {says[:-1].lower()}: it is read when {until}." in words_of(write(desk))
