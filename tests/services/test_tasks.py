"""Tasks: what may be made, changed, blocked and completed, and what the log says of it."""

import pytest

from tasks_app.domain.errors import Blocked, Conflict, DomainError, Invalid, TooLarge
from tasks_app.domain.graph import Why
from tasks_app.domain.statuses import Reason, RunStatus, TaskStatus
from tasks_app.models import Dependency, Event, Run, Task
from tasks_app.selectors import crew as reading
from tasks_app.selectors import queue
from tasks_app.selectors import tasks as cards
from tasks_app.services import actions, endings, runs, task_edits, tasks
from tests import factories
from tests.services import world

pytestmark = pytest.mark.django_db


@pytest.fixture
def crew():
    return world.make(titles=("A", "B", "C"))


def edges():
    return sorted(Dependency.objects.values_list("task__number", "needs__number"))


def needs(crew, task, *others):
    task_edits.add_dependencies(crew.tasks[task].pk, needs=[crew.tasks[n].pk for n in others], actor="user:lead")


def test_a_completed_blocker_frees_what_waited_and_stays_as_history():
    """N01"""
    crew = world.make(titles=("Blocker", "Blocked"), chain=True)
    assert [t.title for t in queue.ready(crew.team.pk)] == ["Blocker"]
    actions.complete_by_hand(crew.tasks[0].pk, actor="user:ada")
    detail = reading.task_detail(crew.tasks[1].pk)
    assert (detail["blockedBy"], detail["wasBlockedBy"]) == ([], ["1"])
    assert reading.task_list(crew.team.pk)[1]["blockedBy"] == []
    assert Run.objects.get().task_id == crew.tasks[1].pk, "and it starts by itself"


def test_a_blocked_task_is_neither_started_nor_completed_by_hand_and_the_refusal_names_what_blocks_it():
    """N03"""
    crew = world.make(titles=("A", "B"), chain=True)
    before = world.frozen(crew.team)
    for refused in (
        lambda: runs.claim_task(crew.tasks[1].pk, agent_id=crew.agents[0].pk, actor="user:lead"),
        lambda: actions.complete_by_hand(crew.tasks[1].pk, actor="user:lead"),
    ):
        with pytest.raises(Blocked, match="T-2 is blocked by T-1 A") as error:
            refused()
        assert error.value.status == 409
        assert error.value.facts["blockers"] == ["T-1"]
    assert world.frozen(crew.team) == before


def test_what_happened_is_recorded_even_where_it_was_blocked_and_is_flagged():
    """N03: a report of the running agent is not refused, for it has happened."""
    crew = world.make(titles=("A", "B"))
    held = crew.claim(1)
    needs(crew, 1, 0)
    runs.report(held.id, held.fence, {"status": "completed", "evidence": {"1": "yes"}, "summary": "done"})
    endings.finish(held.id, held.fence, endings.Ending(RunStatus.COMPLETED, Reason.DONE))
    assert (crew.task(1).status, crew.task(1).completed_while_blocked_by) == ("completed", "T-1")
    assert Event.objects.get(kind="task.completed").data["while_blocked_by"] == "T-1"


def test_a_cycle_is_refused_with_its_whole_path_and_changes_nothing(crew):
    """N04"""
    with pytest.raises(Invalid, match=r"cycle: T-1 → T-1") as refused:
        needs(crew, 0, 0)
    assert refused.value.field == "depends_on"
    needs(crew, 0, 1)
    with pytest.raises(Invalid, match=r"cycle: T-2 → T-1 → T-2"):
        needs(crew, 1, 0)
    needs(crew, 1, 2)
    with pytest.raises(Invalid, match=r"cycle: T-3 → T-1 → T-2 → T-3"):
        needs(crew, 2, 0)
    assert edges() == [(1, 2), (2, 3)]


def test_of_several_new_dependencies_with_one_bad_none_is_stored(crew):
    needs(crew, 0, 1)
    with pytest.raises(Invalid):
        needs(crew, 1, 2, 0)
    assert edges() == [(1, 2)]


@pytest.mark.django_db(transaction=True)
def test_of_two_edits_that_together_close_a_cycle_exactly_one_is_refused():
    """N04: the two closing edges of a 2-cycle at the same moment from two connections."""
    crew = world.make(titles=("A", "B"))
    results = world.at_once(2, lambda n: needs(crew, n, 1 - n))
    refused = [r for r in results if isinstance(r, Exception)]
    assert [type(r) for r in refused] == [Invalid], results
    assert "→" in str(refused[0])
    assert len(edges()) == 1


def test_a_dependency_on_another_teams_task_is_refused(crew):
    other = world.make()
    with pytest.raises(Invalid, match="same team"):
        task_edits.add_dependencies(crew.tasks[0].pk, needs=[other.tasks[0].pk], actor="user:lead")
    with pytest.raises(Invalid, match="not tasks of this team"):
        tasks.create(crew.team.pk, tasks.Draft("X", depends_on=(other.tasks[0].pk,)), actor="user:lead")


def test_the_same_dependency_twice_is_one(crew):
    made = tasks.create(crew.team.pk, tasks.Draft("X", depends_on=(crew.tasks[0].pk,) * 2), actor="user:lead")
    task_edits.add_dependencies(made.pk, needs=[crew.tasks[0].pk, crew.tasks[0].pk], actor="user:lead")
    assert edges() == [(4, 1)]


BAD = {
    "title": ({"title": " \0 "}, Invalid, "title is empty"),
    "description": ({"description": "x" * 200_001}, TooLarge, "longer than 200,000"),
    "criteria": ({"criteria": ("ok", "")}, Invalid, "criteria cannot be taken"),
    "role": ({"role": "tester"}, Invalid, "Nobody in this team has the role “tester”. There are: builder"),
    "assignee": ({"assignee_id": 10**6}, Invalid, "not an agent of this team"),
    "metadata": ({"metadata": {"x": "y" * 20_000}}, TooLarge, "metadata is larger"),
}


@pytest.mark.parametrize("field", list(BAD))
def test_a_bad_draft_is_refused_naming_the_field_and_leaves_no_number_used(crew, field):
    changes, error, words = BAD[field]
    before = world.frozen(crew.team)
    with pytest.raises(error, match=words) as refused:
        tasks.create(crew.team.pk, tasks.Draft(**{"title": "X", **changes}), actor="user:lead")
    problems = [p.path for p in getattr(refused.value, "problems", ())]
    assert refused.value.field == field or any(p.startswith(field) for p in problems)
    assert world.frozen(crew.team) == before


def test_hostile_words_are_cleaned_and_a_long_title_is_cut(crew):
    """N20"""
    draft = tasks.Draft("🚀" * 300 + "\0", description="a\ud800b\0", criteria=("It\0 works.",), metadata={"k\0": "\ud800"})
    made = Task.objects.get(pk=tasks.create(crew.team.pk, draft, actor="agent:x").pk)
    assert (len(made.title), made.description, made.criteria) == (200, "a\ufffdb", ["It works."])
    assert made.metadata == {"k": "\ufffd"}


def test_an_unfinished_task_can_be_changed_and_only_what_was_given(crew):
    pk = crew.tasks[0].pk
    task_edits.edit(pk, actor="agent:b", title=" New\0 title ", active_form="Doing " + "x" * 300, metadata={"a": 1, "b": 2})
    task_edits.edit(pk, actor="agent:b", metadata={"a": None, "c": 3})
    task = crew.task()
    assert (task.title, len(task.active_form), task.metadata, task.description) == ("New title", 200, {"b": 2, "c": 3}, "")
    assert Event.objects.filter(kind="task.edited").last().data == {"fields": ["metadata"]}
    with pytest.raises(Invalid, match="title is empty"):
        task_edits.edit(pk, actor="agent:b", title=" ")
    with pytest.raises(TooLarge, match="description"):
        task_edits.edit(pk, actor="agent:b", description="x" * 200_001)
    seq = world.frozen(crew.team)["seq"]
    task_edits.edit(pk, actor="agent:b")
    assert world.frozen(crew.team)["seq"] == seq, "nothing given, nothing said"


@pytest.mark.parametrize("status", ["completed", "cancelled"])
def test_a_finished_task_is_not_changed_any_more(crew, status):
    Task.objects.filter(pk=crew.tasks[0].pk).update(status=status)
    with pytest.raises(Conflict, match=f"T-1 is {status}"):
        task_edits.edit(crew.tasks[0].pk, actor="agent:b", title="X")
    with pytest.raises(Conflict, match=f"T-1 is {status}"):
        needs(crew, 0, 1)


@pytest.mark.django_db(transaction=True)
def test_edits_commit_together_with_their_event():
    crew = world.make(titles=("A", "B"))
    rule = factories.TaskRuleFactory(task=crew.tasks[0])
    task_edits.edit(crew.tasks[0].pk, actor="user:lead", title="New")
    needs(crew, 1, 0)
    task_edits.move(crew.tasks[1].pk, up=True, actor="user:lead")
    task_edits.revoke_rule(rule.pk, actor="user:lead")
    assert world.kinds(crew.team)[-4:] == ["task.edited"] * 4


def test_moving_swaps_neighbours_of_one_priority_and_stops_at_the_end(crew):
    def order():
        return [t.title for t in queue.ready(crew.team.pk)]

    task_edits.move(crew.tasks[2].pk, up=True, actor="user:lead")
    assert order() == ["A", "C", "B"]
    task_edits.move(crew.tasks[0].pk, up=True, actor="user:lead")
    assert order() == ["A", "C", "B"]
    task_edits.move(crew.tasks[0].pk, up=False, actor="user:lead")
    assert order() == ["C", "A", "B"]


def test_ready_tasks_come_by_priority_then_order(crew):
    Task.objects.filter(pk=crew.tasks[2].pk).update(priority=1)
    assert [t.title for t in queue.ready(crew.team.pk)] == ["C", "A", "B"]
    Task.objects.filter(pk=crew.tasks[2].pk).update(held=True)
    Task.objects.filter(pk=crew.tasks[0].pk).update(failed=True)
    assert [t.title for t in queue.ready(crew.team.pk)] == ["B"]


def test_a_cycle_that_is_in_the_tables_already_hangs_nothing_and_is_said(crew):
    """N04: an imported cycle; the scheduler starts none of its members and each says why."""
    for task, other in ((0, 1), (1, 0)):
        Dependency.objects.create(task=crew.tasks[task], needs=crew.tasks[other])
    assert [t.title for t in queue.ready(crew.team.pk)] == ["C"]
    with pytest.raises(DomainError):
        runs.claim_task(crew.tasks[0].pk, agent_id=crew.agents[0].pk, actor="user:lead")
    shown = {c.title: [(o.why, o.never) for o in c.obstacles] for c in cards.of_teams([crew.team.pk])[crew.team.pk]}
    assert shown == {"A": [(Why.CYCLE, True)], "B": [(Why.CYCLE, True)], "C": []}


def test_a_task_completed_by_hand_keeps_who_and_why(crew):
    actions.complete_by_hand(crew.tasks[0].pk, note="Did it in the shell.", actor="user:ada")
    task = crew.task()
    assert (task.completed_by, task.output) == ("ada", "Did it in the shell.")
    assert task.evidence == {"by hand": "Did it in the shell.", "not met": "1. It works.: no evidence was given"}
    with pytest.raises(Conflict, match="T-1 is completed already"):
        actions.complete_by_hand(crew.tasks[0].pk, actor="user:ada")


def test_reopening_gives_the_words_to_the_next_attempt_and_allows_one_more(crew):
    Task.objects.filter(pk=crew.tasks[0].pk).update(status="completed", attempts=3, attempts_allowed=3, completed_by="b")
    actions.pause_team(crew.team.pk, actor="user:ada")
    actions.reopen(crew.tasks[0].pk, why="The button is missing.", actor="user:ada")
    task = crew.task()
    assert (task.status, task.guidance, task.attempts_allowed) == ("pending", "The button is missing.", 4)
    with pytest.raises(Conflict, match="not finished"):
        actions.reopen(crew.tasks[0].pk, why="x", actor="user:ada")


def test_a_task_reopened_while_its_attempt_is_being_stopped_waits_until_that_is_gone():
    crew = world.make()
    held = crew.claim()
    actions.cancel(crew.tasks[0].pk, actor="user:ada")
    actions.reopen(crew.tasks[0].pk, why="No, do it.", actor="user:ada")
    assert crew.task().status == TaskStatus.PENDING.value
    assert not queue.ready(crew.team.pk)
    assert Run.objects.count() == 1
    runs.report(held.id, held.fence, {"status": "completed", "evidence": {"1": "x"}})
    endings.finish(held.id, held.fence, endings.Ending(RunStatus.COMPLETED, Reason.DONE))
    assert crew.task().status == TaskStatus.PENDING.value, "what the stopped attempt says is not about the reopened task"
    actions.reassign(crew.tasks[0].pk, agent_id=crew.agents[1].pk, actor="user:ada")
    assert Run.objects.count() == 2


@pytest.mark.parametrize("status", ["completed", "cancelled"])
def test_a_finished_task_cannot_be_cancelled_or_reassigned(crew, status):
    Task.objects.filter(pk=crew.tasks[0].pk).update(status=status)
    with pytest.raises(Conflict, match=status):
        actions.cancel(crew.tasks[0].pk, actor="user:ada")
    with pytest.raises(Conflict, match=status):
        actions.reassign(crew.tasks[0].pk, agent_id=None, actor="user:ada")
