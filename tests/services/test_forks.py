"""A fork: a new attempt that begins with the conversation of an earlier one. What cannot be forked is refused, in words."""

import json
from pathlib import Path

import pytest

from tasks_app.domain.errors import Conflict, DomainError, Invalid, NotFound, TooLarge
from tasks_app.domain.statuses import AgentStatus
from tasks_app.models import Event, Run, Step, Task, TranscriptEntry
from tasks_app.services import actions, agents, forks, runs, tasks, transcripts
from tests.services import world
from tests.services.forking import SESSION, Tried, key, row, tried

pytestmark = pytest.mark.django_db
ME = "user:lead"


@pytest.fixture
def one(tmp_path: Path) -> Tried:
    return tried(tmp_path / "work")


def now(tried: Tried) -> Task:
    return tried.crew.task()


def nothing_changed(tried: Tried) -> bool:
    runs_left = Run.objects.filter(task=tried.crew.tasks[0]).count()
    return runs_left == 1 and now(tried).fork == {} and (tried.folder / "a.txt").read_text() == "after"


def test_the_new_attempt_begins_as_a_fork_and_the_old_one_stays_as_it_is(one: Tried) -> None:
    rows, steps = TranscriptEntry.objects.count(), Step.objects.count()
    forks.fork(one.run.pk, at=5, guidance="Try it with Decimal.", actor=ME)
    made = Run.objects.get(task=one.run.task_id, attempt=2)
    assert made.agent_id == one.run.agent_id
    assert made.guidance == "Try it with Decimal."
    assert (made.fork["run"], made.fork["attempt"], made.fork["step"]) == (one.run.pk, 1, 5)
    assert (made.fork["session"], made.fork["message"], made.fork["said"]) == (SESSION, "u5", "two")
    assert made.session_id not in ("", SESSION)
    assert not made.started_session
    assert (TranscriptEntry.objects.count(), Step.objects.count()) == (rows, steps)
    event = Event.objects.get(kind="task.forked")
    assert (event.data["attempt"], event.data["step"], event.data["to"]) == (1, 5, one.run.agent.name)
    assert now(one).fork == {}, "it is used up"


def test_another_agent_can_be_chosen(one: Tried) -> None:
    forks.fork(one.run.pk, at=2, agent_id=one.crew.agents[1].pk, actor=ME)
    assert Run.objects.get(attempt=2).agent == one.crew.agents[1]


def test_the_files_go_back_with_it_where_that_is_asked_for(one: Tried) -> None:
    forks.fork(one.run.pk, at=1, files="then", actor=ME)
    made = Run.objects.get(attempt=2)
    assert (one.folder / "a.txt").read_text() == "before"
    assert not (one.folder / "new").exists()
    assert (made.start_from, made.fork["files"], made.fork["files_step"]) == ("last", "then", 1)
    assert Event.objects.get(kind="files.rewound").data["count"] == 2


def test_without_that_the_files_stay(one: Tried) -> None:
    forks.fork(one.run.pk, at=1, actor=ME)
    assert (one.folder / "a.txt").read_text() == "after"
    assert not Event.objects.filter(kind="files.rewound").exists()


def test_a_completed_task_is_opened_again(one: Tried) -> None:
    Task.objects.filter(pk=one.run.task_id).update(status="completed", failed=False)
    forks.fork(one.run.pk, at=5, actor=ME)
    assert now(one).status == "in_progress"
    assert {"task.reopened", "task.forked"} <= set(world.kinds(one.crew.team))


def test_only_messages_of_the_conversation_itself_can_be_forked_from(one: Tried) -> None:
    assert [step.seq for step in forks.points(one.run.pk)] == [1, 2, 5, 6]
    with pytest.raises(Invalid, match="Step 3 is no message"):
        forks.fork(one.run.pk, at=3, actor=ME)
    with pytest.raises(NotFound, match="no step 99"):
        forks.fork(one.run.pk, at=99, actor=ME)
    with pytest.raises(NotFound, match="does not exist"):
        forks.fork("r0000000", at=1, actor=ME)
    assert nothing_changed(one)


def test_a_run_of_another_team_is_not_found(one: Tried) -> None:
    other = world.make()
    with pytest.raises(NotFound, match="no such attempt in this team"):
        forks.fork(one.run.pk, at=1, team_id=other.team.pk, actor=ME)
    with pytest.raises(NotFound, match="no such agent in this team"):
        forks.fork(one.run.pk, at=1, agent_id=other.agents[0].pk, actor=ME)
    assert nothing_changed(one)


def test_an_agent_that_is_gone_or_stopped_gets_nothing(one: Tried) -> None:
    with pytest.raises(NotFound, match="no such agent"):
        forks.fork(one.run.pk, at=1, agent_id=10**9, actor=ME)
    agents.set_status(one.run.agent_id, status=AgentStatus.STOPPED, actor=ME)
    with pytest.raises(Conflict, match=r"is stopped\. Start it again, or choose another"):
        forks.fork(one.run.pk, at=1, files="then", actor=ME)
    assert nothing_changed(one)


def test_while_an_attempt_is_open_it_says_what_to_do_first(one: Tried) -> None:
    actions.reassign(one.run.task_id, agent_id=one.crew.agents[1].pk, actor=ME)
    with pytest.raises(Conflict, match=r"builder-2 is on attempt 2 of T-1\. Stop it first"):
        forks.fork(one.run.pk, at=1, actor=ME)


def test_a_second_fork_is_refused_while_the_first_waits_for_its_agent(tmp_path: Path) -> None:
    one = tried(tmp_path / "work", titles=("Build", "Other"))
    runs.claim_task(one.crew.tasks[1].pk, agent_id=one.run.agent_id, actor="system")
    forks.fork(one.run.pk, at=1, actor=ME)
    assert now(one).fork["step"] == 1
    with pytest.raises(Conflict, match="starts already as a fork of attempt 1"):
        forks.fork(one.run.pk, at=5, actor=ME)
    actions.reassign(one.run.task_id, agent_id=one.crew.agents[1].pk, actor=ME)
    assert Run.objects.get(task=one.run.task_id, attempt=2).fork == {}, "who reassigns wants no fork any more"


@pytest.mark.django_db(transaction=True)
def test_of_two_forks_at_once_exactly_one_lands(tmp_path: Path) -> None:
    one = tried(tmp_path / "work")
    found = world.at_once(2, lambda n: forks.fork(one.run.pk, at=(1, 5)[n], actor=ME))
    refused = [each for each in found if isinstance(each, DomainError)]
    assert len(refused) == 1, found
    assert Run.objects.filter(task=one.run.task_id).count() == 2


def test_a_conversation_that_has_aged_out_is_refused(one: Tried) -> None:
    TranscriptEntry.objects.all().delete()
    with pytest.raises(Conflict, match="not kept any more"):
        forks.fork(one.run.pk, at=1, files="then", actor=ME)
    runs.forget_sessions([SESSION])
    with pytest.raises(Conflict, match="not kept any more"):
        forks.fork(one.run.pk, at=1, files="then", actor=ME)
    assert nothing_changed(one)


@pytest.mark.parametrize("damage", ["gone", "torn", "circle"])
def test_a_damaged_conversation_is_refused_and_an_earlier_message_is_not(one: Tried, damage: str) -> None:
    if damage == "gone":
        TranscriptEntry.objects.filter(uuid="u4").delete()
    else:
        text = '{"uuid": "u4", "parentUuid": "u5"}' if damage == "circle" else '{"uuid": "u4", "par'
        TranscriptEntry.objects.filter(uuid="u4").update(entry=text)
    with pytest.raises(Conflict, match="has a gap before that message"):
        forks.fork(one.run.pk, at=5, files="then", actor=ME)
    assert nothing_changed(one)
    forks.fork(one.run.pk, at=2, actor=ME)


def test_what_was_lost_before_the_attempt_began_is_no_gap_in_its_conversation(one: Tried) -> None:
    opening = transcripts.load(key())[0]
    TranscriptEntry.objects.filter(uuid="u1").update(entry=json.dumps({**opening, "parentUuid": "lost"}))
    forks.fork(one.run.pk, at=5, actor=ME)


def test_an_attempt_of_an_older_version_says_so(one: Tried) -> None:
    Step.objects.filter(seq=5).update(data={})
    with pytest.raises(Conflict, match="recorded by an older version"):
        forks.fork(one.run.pk, at=5, actor=ME)


def test_words_out_of_bounds_are_refused(one: Tried) -> None:
    with pytest.raises(TooLarge):
        forks.fork(one.run.pk, at=5, guidance="x" * 20_001, actor=ME)
    with pytest.raises(Invalid, match="`now` or of `then`"):
        forks.fork(one.run.pk, at=5, files="later", actor=ME)


def test_the_files_of_that_time_are_refused_while_another_works_in_the_workspace(tmp_path: Path) -> None:
    one = tried(tmp_path / "work", titles=("Build", "Other"))
    runs.claim_task(one.crew.tasks[1].pk, agent_id=one.crew.agents[1].pk, actor="system")
    with pytest.raises(Conflict, match="builder-2 is on T-2"):
        forks.fork(one.run.pk, at=1, files="then", actor=ME)
    assert nothing_changed(one)
    forks.fork(one.run.pk, at=1, actor=ME)


def test_reopening_forgets_a_fork_that_never_started(tmp_path: Path) -> None:
    one = tried(tmp_path / "work", titles=("Build", "Other"))
    runs.claim_task(one.crew.tasks[1].pk, agent_id=one.run.agent_id, actor="system")
    forks.fork(one.run.pk, at=1, actor=ME)
    actions.cancel(one.run.task_id, actor=ME)
    tasks.mark_reopened(now(one), why="again", actor=ME)
    assert now(one).fork == {}


def test_a_prompt_that_quotes_an_earlier_attempts_prompt_is_the_attempts_own_and_a_copied_one_is_not(one: Tried) -> None:
    held, mine = world.make().claim(), "[crewdesk:life {}:1]\n[crewdesk:task T-1 attempt 2]\n"
    earlier = mine.format(one.run.pk)
    for name, words, its_own in (("q1", earlier + mine.format(held.id), False), ("q2", mine.format(held.id) + earlier, True)):
        transcripts.append(key("s2"), [row("user", name, "", words)], run_id=held.id, fence=held.fence)
        assert Run.objects.get(pk=held.id).started_session is its_own
