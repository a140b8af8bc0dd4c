"""A team goes back to a checkpoint: all of it or nothing, once, and never over work that is going on."""

import json
from pathlib import Path

import pytest
from django.db import transaction

from tasks_app.domain import checkpoint
from tasks_app.domain.errors import Conflict, Invalid, NotFound, Stale
from tasks_app.models import Agent, Checkpoint, ContextBlob, Run, Task, Team, TranscriptEntry
from tasks_app.selectors import checkpoints as listed
from tasks_app.selectors import context as shared
from tasks_app.selectors import shown
from tasks_app.services import actions, checkpoints, context, restores, runs, scheduling, tasks, transcripts
from tasks_app.services.context import Writer
from tests import factories
from tests.services import world

ADA = Writer("agent:builder-1")
LEAD = "user:lead"
SESSION = "11111111-0000-4000-8000-000000000000"

pytestmark = pytest.mark.files


@pytest.fixture
def crew(tmp_path, settings):
    settings.HOME = tmp_path / "home"
    made = world.make(titles=("Schema", "API", "Docs"), chain=True, slug="atlas")
    world.workspace(made.team, tmp_path / "work")
    return made


def say(count, session=SESSION):
    for _ in range(count):
        at = TranscriptEntry.objects.filter(session_id=session).count()
        factories.TranscriptEntryFactory(session_id=session, uuid=f"line-{at}", entry=json.dumps({"n": at, "sessionId": session}))


def finish(crew, task, agent=0, output="done"):
    """Let a task be completed by a run, in the agent's session."""
    held = crew.claim(task, agent)
    Run.objects.filter(pk=held.id).update(
        session_id=SESSION, started_session=True, report={"evidence": {"1": "seen"}}, status="completed", ended_at=world.now()
    )
    with transaction.atomic():
        tasks.mark_completed(crew.task(task), by="builder-1", evidence={"1": "seen"}, output=output, actor="agent:builder-1")
    Agent.objects.filter(pk=crew.agents[agent].pk).update(session_id=SESSION, handover=f"did {task}", context_tokens=1000 * task)


def file(crew, name, text=None):
    path = Path(crew.team.workspace) / name
    if text is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return path.read_text() if path.exists() else None


def statuses():
    return list(Task.objects.order_by("number").values_list("status", flat=True))


def seq(crew):
    return Team.objects.get(pk=crew.team.pk).last_seq


def restore(crew, saved, **more):
    return restores.restore(crew.team.pk, saved.pk, **{"seen": seq(crew), "actor": LEAD, **more})


def story(crew):
    """T-1 is done, then a checkpoint, then T-2 is done as well, with what comes of it."""
    say(3)
    file(crew, "a.py", "a = 1")
    context.share(crew.team.pk, name="port", value=80, by=ADA)
    context.share(crew.team.pk, name="log", value="漢" * 50_000, by=ADA)
    finish(crew, 0, output="the table")
    saved = checkpoints.save(crew.team.pk, name="half", by=LEAD)
    say(2)
    file(crew, "a.py", "a = 2")
    file(crew, "new/b.py", "b = 1")
    finish(crew, 1)
    context.share(crew.team.pk, name="port", value=81, by=ADA)
    context.share(crew.team.pk, name="extra", value=1, by=ADA)
    context.delete(crew.team.pk, name="log", by=ADA)
    tasks.create(crew.team.pk, tasks.Draft(title="Afterthought", criteria=("x",)), actor=LEAD)
    actions.pause_team(crew.team.pk, actor=LEAD)
    return saved


@pytest.mark.django_db(transaction=True)
def test_everything_goes_back_and_the_restore_itself_can_be_undone(crew):
    saved = story(crew)
    looked = restores.preview(crew.team.pk, saved.pk)
    assert sorted(looked.files) == [("changed", "a.py"), ("removed", "new/b.py")]
    assert "1 task goes back to the queue, 1 made since is cancelled, files go back to" in looked.change.words
    before = world.frozen(crew.team)
    assert (looked.refused, looked.seq, world.frozen(crew.team)) == ("", seq(crew), before)

    assert shown.last(crew.task(1))[1]
    done = restore(crew, saved)
    assert statuses() == ["completed", "pending", "pending", "cancelled"]
    assert shown.last(crew.task(1)) == ([], {}), "its files are gone: it must be shown anew"
    assert shown.last(crew.task(0))[1]
    assert (crew.task(0).output, crew.task(1).output) == ("the table", "")
    values = {one.name: shared.value(one.pk) for one in shared.of_team(crew.team.pk)}
    assert values == {"port": 80, "log": "漢" * 50_000}
    assert {one.author for one in shared.of_team(crew.team.pk)} == {"agent:builder-1"}
    assert (file(crew, "a.py"), file(crew, "new/b.py")) == ("a = 1", None)
    agent = Agent.objects.get(pk=crew.agents[0].pk)
    assert (agent.handover, agent.context_tokens) == ("did 0", 0)
    lines = transcripts.load({"project_key": "project", "session_id": agent.session_id})
    assert [(one["n"], one["sessionId"]) for one in lines] == [(n, agent.session_id) for n in range(3)]
    assert transcripts.load({"project_key": "project", "session_id": SESSION})[-1]["n"] == 4
    assert world.kinds(crew.team)[-1] == "checkpoint.restored"
    assert Team.objects.get().workspace_due == ""

    restore(crew, Checkpoint.objects.get(pk=done.safety))
    assert list(Task.objects.order_by("number").values_list("status", flat=True)) == [
        "completed",
        "completed",
        "pending",
        "pending",
    ]
    assert {one.name: shared.value(one.pk) for one in shared.of_team(crew.team.pk)} == {"port": 81, "extra": 1}
    assert (file(crew, "a.py"), file(crew, "new/b.py")) == ("a = 2", "b = 1")
    assert Agent.objects.get(pk=crew.agents[0].pk).session_id == SESSION


@pytest.mark.django_db(transaction=True)
def test_of_two_restores_at_once_one_wins_and_the_other_is_refused_in_words(crew):
    saved = story(crew)
    looked = seq(crew)
    found = world.at_once(2, lambda n: restores.restore(crew.team.pk, saved.pk, seen=looked, actor=f"user:l{n}"))
    assert sorted(type(one).__name__ for one in found) == ["Restored", "Stale"], found
    (refused,) = [one for one in found if isinstance(one, Stale)]
    assert "has moved on since you looked" in refused.message
    assert world.kinds(crew.team).count("checkpoint.restored") == 1


@pytest.mark.django_db(transaction=True)
def test_who_looked_at_an_older_state_is_refused_and_nothing_changes(crew):
    saved = story(crew)
    before, files = world.frozen(crew.team), file(crew, "a.py")
    with pytest.raises(Stale, match=r"event \d+ then, \d+ now.*Nothing was changed"):
        restore(crew, saved, seen=seq(crew) - 1)
    assert (world.frozen(crew.team), file(crew, "a.py")) == (before, files)


@pytest.mark.django_db(transaction=True)
def test_nothing_is_restored_under_an_attempt_that_is_open(crew):
    saved = checkpoints.save(crew.team.pk, name="start", by=LEAD)
    crew.claim(0)
    before = world.frozen(crew.team)
    assert "has an open attempt at T-1. Stop the team" in restores.preview(crew.team.pk, saved.pk).refused
    with pytest.raises(Conflict, match=r"builder-1 has an open attempt at T-1\. Stop the team, then restore"):
        restore(crew, saved)
    assert world.frozen(crew.team) == before


@pytest.mark.django_db(transaction=True)
def test_an_attempt_that_ends_while_the_files_are_compared_still_holds_that_look_back(crew, monkeypatch):
    """Else the page would offer to restore as of an event that is over, and every press would be refused as stale."""
    saved = checkpoints.save(crew.team.pk, name="start", by=LEAD)
    crew.claim(0)

    def ends(*_args):
        Run.objects.update(status="killed")
        return []

    monkeypatch.setattr(restores.snapshots, "changes", ends)
    assert "has an open attempt at T-1" in restores.preview(crew.team.pk, saved.pk).refused


def spoil(data):
    data["tasks"][0]["status"] = "pending"


def foreign(data):
    data["team"]["slug"] = "borealis"
    data[checkpoint.HASH] = checkpoint._hash({k: v for k, v in data.items() if k != checkpoint.HASH})


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (spoil, "is damaged"),
        (foreign, "of another team"),
        (lambda data: data.update(schema=1), "older version"),
        (lambda data: data.update(schema=99), "newer version"),
        (lambda data: data.clear(), "is damaged"),
    ],
)
def test_what_is_damaged_foreign_old_or_new_is_refused_whole(crew, change, said):
    saved = story(crew)
    spoiled = Checkpoint.objects.get(pk=saved.pk)
    change(spoiled.data)
    Checkpoint.objects.filter(pk=saved.pk).update(data=spoiled.data)
    before, files = world.frozen(crew.team), file(crew, "a.py")
    with pytest.raises(Invalid, match=said):
        restore(crew, saved)
    assert (world.frozen(crew.team), file(crew, "a.py")) == (before, files)
    (row,) = [one for one in listed.overview(crew.team.pk).checkpoints if one.id == saved.pk]
    assert said in row.words
    assert row.change is None


@pytest.mark.django_db(transaction=True)
def test_a_large_value_that_was_tampered_with_or_files_that_are_gone_refuse_the_whole(crew, monkeypatch):
    saved = story(crew)
    chunk = ContextBlob.objects.get().chunks.first()
    data = bytes(chunk.data)
    type(chunk).objects.filter(pk=chunk.pk).update(data=b"x" + data[1:])
    before = world.frozen(crew.team)
    with pytest.raises(Invalid, match="the value of “log” is not what was saved"):
        restore(crew, saved)
    type(chunk).objects.filter(pk=chunk.pk).update(data=data)
    monkeypatch.setattr(restores.snapshots, "holds", lambda *_: False)
    with pytest.raises(Invalid, match="files of this checkpoint are not stored"):
        restore(crew, saved)
    assert world.frozen(crew.team) == before


@pytest.mark.django_db(transaction=True)
def test_a_restore_that_dies_before_the_files_are_back_is_finished_by_the_sweep_and_nothing_starts_before(crew, monkeypatch):
    saved = story(crew)
    Team.objects.filter(pk=crew.team.pk).update(status="active")
    real = restores.snapshots.put_back
    monkeypatch.setattr(restores.snapshots, "put_back", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        restore(crew, saved)
    assert (file(crew, "a.py"), crew.task(1).status) == ("a = 2", "pending")
    assert scheduling.tick(crew.team.pk) == []
    with pytest.raises(Conflict, match="are being put back"):
        runs.claim_task(crew.tasks[1].pk, agent_id=crew.agents[0].pk, actor=LEAD)
    with pytest.raises(Conflict, match="are being put back already"):
        restore(crew, saved)
    monkeypatch.setattr(restores.snapshots, "put_back", real)
    assert restores.finish_due() == 1
    assert (file(crew, "a.py"), Team.objects.get().workspace_due, crew.task(1).status) == ("a = 1", "", "in_progress")
    assert restores.finish_due() == 0


@pytest.mark.django_db(transaction=True)
def test_what_was_under_way_goes_back_to_its_agent_in_its_session(crew):
    say(2)
    held = crew.claim(0, 1)
    Run.objects.filter(pk=held.id).update(session_id=SESSION, started_session=True)
    saved = checkpoints.save(crew.team.pk, name="in the middle", by=LEAD)
    say(4)
    actions.stop_team(crew.team.pk, actor=LEAD)
    Run.objects.filter(pk=held.id).update(status="failed", ended_at=world.now())
    Task.objects.filter(pk=crew.tasks[0].pk).update(status="pending", failed=True, attempts=1)
    restore(crew, saved)
    task = crew.task(0)
    assert (task.status, task.assignee_id, task.attempts, task.failed, task.start_from) == (
        "pending",
        crew.agents[1].pk,
        0,
        False,
        "last",
    )
    session = Agent.objects.get(pk=crew.agents[1].pk).session_id
    assert len(transcripts.load({"project_key": "project", "session_id": session})) == 2
    actions.resume_team(crew.team.pk, actor=LEAD)
    assert Run.objects.get(status="pending").agent_id == crew.agents[1].pk


@pytest.mark.django_db(transaction=True)
def test_one_task_alone_goes_back_with_the_files_that_it_wrote(crew):
    file(crew, "mine.py", "1")
    file(crew, "other.py", "1")
    saved = checkpoints.save(crew.team.pk, name="start", by=LEAD)
    finish(crew, 0)
    run = Run.objects.get()
    for name in ("mine.py", "made.py"):
        path = f"{crew.team.workspace}/{name}"
        factories.StepFactory(run=run, kind="tool_call", data={"tool": "Write", "input": {"file_path": path}})
    for name in ("mine.py", "made.py", "other.py"):
        file(crew, name, "2")
    actions.pause_team(crew.team.pk, actor=LEAD)
    assert sorted(restores.preview(crew.team.pk, saved.pk, task=1).files) == [("changed", "mine.py"), ("removed", "made.py")]
    restore(crew, saved, task=1)
    assert (crew.task(0).status, file(crew, "mine.py"), file(crew, "made.py"), file(crew, "other.py")) == (
        "pending",
        "1",
        None,
        "2",
    )
    with pytest.raises(NotFound, match="T-9 is not in this checkpoint"):
        restore(crew, saved, task=9)
