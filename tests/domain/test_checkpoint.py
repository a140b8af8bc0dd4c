"""What a checkpoint holds is read back as it was saved, or refused whole; and what a restore changes is said beforehand."""

import copy
import datetime as dt

import pytest

from tasks_app.domain import checkpoint
from tasks_app.domain.checkpoint import AgentState, Content, EntryState, Position, TaskState, TeamMark
from tasks_app.domain.checkpoint_diff import Turn, difference
from tasks_app.domain.errors import Invalid

ATLAS = TeamMark(slug="atlas", created_at="2026-11-28T10:00:00+00:00")
NOW = dt.datetime(2026, 11, 28, 12, tzinfo=dt.UTC)
STATE = {"attempts": 0, "attempts_allowed": 3, "failed": False, "held": False, "assignee": "", "worker": "", "guidance": ""}
STATE |= {"output": "", "evidence": "{}", "completed_by": "", "completed_while_blocked_by": "", "started_at": None}
STATE |= {"completed_at": None, "review_of": None}


def task(number, status="pending", **more):
    return TaskState(**{**STATE, "number": number, "title": f"Task {number}", "status": status, **more})


def entry(name, value="1", **more):
    facts = {"version": 1, "scope": "team", "task_number": None, "owner": "agent:ada", "author": "agent:ada", "expires_at": None}
    return EntryState(name=name, digest=checkpoint.digest(value), size=1, json_text=value, **{**facts, **more})


def agent(name="ada", session="", lines=0):
    place = Position(session_id=session, lines=lines, last=f"line-{lines}" if lines else "")
    return AgentState(name=name, position=place, handover="", context_tokens=None, context_window=None)


def content(*tasks, context=(), agents=(), workspace="", team=ATLAS):
    words = {"tasks": list(tasks), "context": list(context), "agents": list(agents), "runs": []}
    return Content(team=team, last_seq=1, workspace=workspace, **words)


def compare(then, now, held=None, **more):
    return difference(then, now, at=NOW, held=held or {}, **more)


def test_what_was_sealed_is_read_back_as_it_was():
    kept = content(task(1, guidance="漢\n"), context=[entry("port")], agents=[agent(session="s", lines=3)], workspace="abc")
    assert checkpoint.read(checkpoint.sealed(kept), team=ATLAS) == kept


def broken(change):
    data = copy.deepcopy(checkpoint.sealed(content(task(1))))
    change(data)
    return data


def resealed(change):
    data = broken(change)
    data[checkpoint.HASH] = checkpoint._hash({k: v for k, v in data.items() if k != checkpoint.HASH})
    return data


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (None, "damaged: it does not say what it is"),
        ({}, "damaged: it does not say what it is"),
        ({"schema": "2"}, "damaged: it does not say what it is"),
        ({"schema": 1, "tasks": []}, r"older version of Crewdesk \(schema 1\)"),
        ({"schema": 3}, r"newer version of Crewdesk \(schema 3; this reads 2\)"),
        (broken(lambda d: d["tasks"][0].update(status="completed")), "damaged: what it holds is not what was saved"),
        (broken(lambda d: d.pop("hash")), "damaged: what it holds is not what was saved"),
        (broken(lambda d: d.update(extra=1)), "damaged: what it holds is not what was saved"),
        (resealed(lambda d: d["tasks"][0].update(status="done")), r"damaged: tasks\.0\.status"),
        (resealed(lambda d: d.update(extra=1)), "damaged: extra"),
        (resealed(lambda d: d.pop("agents")), "damaged: agents"),
        (resealed(lambda d: d["team"].update(slug="borealis")), "of another team, “borealis”"),
        (resealed(lambda d: d["team"].update(created_at="2020-01-01T00:00:00+00:00")), "of another team, “atlas”"),
    ],
)
def test_what_is_damaged_foreign_or_of_another_schema_is_refused_in_words(data, said):
    with pytest.raises(Invalid, match=said) as refused:
        checkpoint.read(data, team=ATLAS)
    assert refused.value.message.endswith("Nothing was changed.")


def test_what_was_worked_on_goes_back_to_the_queue_for_the_agent_that_had_it():
    found = compare(content(task(1, "in_progress", worker="ada")), content(task(1, "completed", output="done")))
    (change,) = found.tasks
    assert (change.target.status, change.target.assignee, change.target.output) == ("pending", "ada", "")
    assert change.words == "goes back to the queue, for ada"


def test_what_was_done_is_done_again_and_what_was_made_since_is_cancelled():
    then = content(task(1, "completed", output="table"), task(2))
    now = content(task(1, output=""), task(2), task(3, "completed"), task(4, "cancelled"))
    found = compare(then, now)
    assert [(one.label, one.target.status) for one in found.tasks] == [("T-1", "completed"), ("T-3", "cancelled")]
    assert found.words == "1 task is completed again, 1 made since is cancelled"


def test_a_review_that_was_open_is_over_and_its_task_is_done_again():
    then = content(task(1, "in_progress"), task(2, "pending", review_of=1))
    found = compare(then, content(task(1, "completed"), task(2, "completed", review_of=1)))
    assert [(one.number, one.target.status, one.words) for one in found.tasks] == [
        (1, "pending", "goes back to the queue"),
        (2, "cancelled", "is cancelled: its review begins anew"),
    ]


def test_entries_change_come_back_go_or_stay_away_where_their_time_is_over():
    then = content(
        context=[
            entry("same"),
            entry("changed"),
            entry("deleted"),
            entry("over", expires_at="2026-11-28T11:00:00+00:00"),
            entry("lives", expires_at="2026-11-28T13:00:00+00:00"),
        ]
    )
    found = compare(then, content(context=[entry("same", version=9), entry("changed", "2"), entry("new")]))
    turns = {one.name: one.turn for one in found.entries}
    assert turns == {
        "changed": Turn.CHANGES,
        "deleted": Turn.COMES_BACK,
        "over": Turn.EXPIRED,
        "lives": Turn.COMES_BACK,
        "new": Turn.GOES,
    }
    assert found.words == "4 shared entries change"


def test_agents_go_back_in_their_sessions_or_start_fresh_where_the_transcript_is_gone():
    then = content(agents=[agent("ada", "s1", 3), agent("bob", "s2", 3), agent("cid"), agent("dan", "s4", 2)])
    now = content(agents=[agent("ada", "s1", 9), agent("bob", "s9", 1), agent("cid", "s3", 1), agent("dan", "s4", 2)])
    found = compare(then, now, {"s1": 9, "s4": 2})
    assert {one.agent: one.turn for one in found.sessions} == {
        "ada": Turn.GOES_BACK,
        "bob": Turn.STARTS_FRESH,
        "cid": Turn.STARTS_FRESH,
    }
    assert found.words == "3 agents go on from an earlier place"


def test_of_one_task_only_that_and_its_agent_change():
    then = content(
        task(1, "in_progress", worker="ada"), task(2), context=[entry("x")], agents=[agent("ada", "s1", 1), agent("bob", "s2", 1)]
    )
    now = content(task(1, "completed"), task(2, "completed"), agents=[agent("ada", "s1", 5), agent("bob", "s2", 5)])
    found = compare(then, now, {"s1": 5, "s2": 5}, only=1)
    assert ([one.number for one in found.tasks], found.entries) == ([1], ())
    assert [one.agent for one in found.sessions] == ["ada"]


def test_nothing_to_change_is_said_so_and_files_are_named_by_their_snapshot():
    same = content(task(1))
    assert compare(same, same).words == "nothing would change"
    found = compare(content(task(1), workspace="abcdef0123456789"), content(task(1), workspace="1234"))
    assert found.words == "files go back to abcdef0"
