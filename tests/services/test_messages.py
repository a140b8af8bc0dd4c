"""Messages: named right, stored once, handed over once, read when the transcript says so."""

import pytest

from tasks_app.domain.errors import Forbidden, Invalid, LeaseLost, TooLarge
from tasks_app.models import Agent, Message
from tasks_app.services import actions, messages, transcripts
from tests import factories
from tests.services import world

pytestmark = pytest.mark.django_db


@pytest.fixture
def crew():
    team = factories.TeamFactory(limits={"parallel": 3})
    names = ("engineer", "tester")
    agents = tuple(factories.AgentFactory(team=team, name=n, role="builder", position=p) for p, n in enumerate(names))
    made = world.make(agents=0, titles=())
    draft = world.tasks.Draft
    todo = tuple(world.tasks.create(team.pk, draft(t), actor="system") for t in ("A", "B", "C"))
    return type(made)(team, agents, todo)


def send(crew, body="Hello.", to="engineer", sender=None, **more):
    sender_id = crew.agents[sender].pk if sender is not None else None
    return messages.send(crew.team.pk, sender_agent_id=sender_id, to=to, body=body, actor="user:ada", **more)


def due(held):
    return [m.body for m in messages.take_due(held.agent_id, run_id=held.id, fence=held.fence)]


def read(held, *ids):
    text = "\n".join(f"[message {i} from lead]\nHello." for i in ids)
    line = {"type": "user", "uuid": "-".join(ids), "message": {"role": "user", "content": text}}
    transcripts.append({"project_key": "p", "session_id": "s"}, [line], run_id=held.id, fence=held.fence)


def test_a_misspelt_name_is_refused_with_the_one_that_was_meant_and_makes_no_mailbox(crew):
    """N16"""
    with pytest.raises(Invalid, match=r"no agent “enginer” in this team. Did you mean engineer\?") as refused:
        send(crew, to="enginer")
    assert refused.value.field == "to"
    with pytest.raises(Invalid, match="There are: engineer, tester"):
        send(crew, to="zzz\0")
    assert not Message.objects.exists()
    assert Agent.objects.count() == 2


def test_a_message_to_a_stopped_agent_waits_visibly_undelivered(crew):
    """N16"""
    actions.stop_agent(crew.agents[0].pk, actor="user:ada")
    sent = send(crew)
    assert (sent.delivered_at, sent.read_at) == (None, None)


def test_an_agent_of_another_team_is_not_reached_by_either_side(crew):
    """N16"""
    factories.AgentFactory(name="stranger")
    with pytest.raises(Forbidden, match="not in this team"):
        send(crew, to="stranger")
    assert not Message.objects.exists()


def test_the_same_frame_four_times_is_one_message_and_a_finished_task_is_not_started_by_talk():
    """N19"""
    crew = world.make(agents=1)
    world.Task.objects.update(status="completed")
    for _ in range(4):
        messages.send(
            crew.team.pk, sender_agent_id=None, to="builder-1", body="task_assignment T-1", actor="user:ada", dedupe_key="t1"
        )
    assert Message.objects.count() == 1
    assert world.kinds(crew.team).count("message.sent") == 1
    assert crew.task().status == "completed"
    assert not world.Run.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_the_same_frame_at_the_same_moment_is_one_message():
    crew = world.make(agents=1)

    def one(_):
        return messages.send(crew.team.pk, sender_agent_id=None, to="builder-1", body="x", actor="user:ada", dedupe_key="same").pk

    assert len(set(world.at_once(6, one))) == 1
    assert Message.objects.count() == 1


def test_a_message_is_handed_to_one_life_and_read_when_the_transcript_holds_it(crew):
    held = crew.claim()
    sent = send(crew)
    assert (due(held), due(held)) == (["Hello."], [])
    assert Message.objects.get().read_at is None
    read(held, sent.pk)
    assert Message.objects.get().read_at is not None
    assert due(world.next_life(held)) == []


def test_one_that_no_transcript_holds_is_handed_to_the_next_life_also_of_another_run(crew):
    held = crew.claim()
    send(crew)
    due(held)
    later = world.next_life(held)
    assert due(later) == ["Hello."]
    actions.stop_run(later.id, actor="user:ada")
    world.Run.objects.filter(pk=later.id).update(status="killed")
    assert due(crew.claim(1)) == ["Hello."], "a run that ended without having read it has not read it"


def test_a_stale_life_takes_nothing_away(crew):
    held = crew.claim()
    later = world.next_life(held)
    send(crew)
    with pytest.raises(LeaseLost):
        due(held)
    assert due(later) == ["Hello."]


@pytest.mark.django_db(transaction=True)
def test_of_many_that_ask_at_once_each_message_reaches_one(hints):
    crew = world.make(agents=1)
    held = crew.claim()
    for n in range(5):
        messages.send(crew.team.pk, sender_agent_id=None, to="builder-1", body=str(n), actor="user:ada")
    assert hints.runs == [held.id] * 5
    found = world.at_once(4, lambda _: due(held))
    assert sorted(b for some in found for b in some) == list("01234")


def test_a_run_reads_only_what_was_handed_to_it(crew):
    mine, other = crew.claim(0, 0), crew.claim(1, 1)
    to_other = send(crew, to="tester")
    due(other)
    read(mine, to_other.pk)
    assert Message.objects.get().read_at is None


def test_between_agents_and_to_the_lead(crew):
    assert send(crew, to="tester", sender=0).sender_name == "engineer"
    for name in ("lead", "The Lead", " human "):
        assert send(crew, to=name, sender=0).recipient_name == "lead"
    with pytest.raises(Invalid, match="to yourself"):
        send(crew, sender=0)


def test_size_emptiness_and_priority_are_checked_and_the_rest_is_exact(crew):
    """N20"""
    with pytest.raises(TooLarge, match="1,050,000 characters; at most 100,000") as refused:
        send(crew, "🚀é漢" * 350_000)
    assert refused.value.status == 413
    with pytest.raises(Invalid, match="empty"):
        send(crew, "\0 \n")
    with pytest.raises(Invalid, match="Priority is one of"):
        send(crew, priority="urgent")
    body = "현 보유현황 👩‍👩‍👧‍👦 <b>x</b> \x1b[31m"
    assert send(crew, body).body == body
    assert send(crew, "현\ud99c \0end").body == "현\ufffd end"
