"""A clean start takes back what all earlier attempts at the task changed, and nothing that is, or may be, somebody else's."""

from datetime import timedelta

import pytest
from django.utils import timezone

from tasks_app.domain.statuses import Reason, StepKind
from tasks_app.execution import clean_start, dossier, outcome, spec
from tasks_app.models import Decision, Event, Run
from tasks_app.runners.port import Outcome, OutcomeKind
from tasks_app.services import actions, recovery, runs, scheduling, snapshots, steps, workspaces
from tests.services import world


@pytest.fixture
def crew(db, home, tmp_path):
    """Two tasks and three agents in one folder."""
    made = world.make(agents=3, titles=("Build", "Test"))
    world.workspace(made.team, tmp_path / "work")
    (tmp_path / "work" / "old.py").write_text("old\n")
    return made


@pytest.fixture
def work(crew, tmp_path):
    return tmp_path / "work"


def begun(held):
    dossier.begin(held.id, held.fence)
    return held


def calls(held, tool, **given):
    after = Run.objects.get(pk=held.id).last_seq
    draft = world.StepDraft(StepKind.TOOL_CALL, tool, {"tool": tool, "input": given}, f"t{after}")
    steps.record(held.id, held.fence, after=after, drafts=[draft])


def writes(held, path, text):
    path.write_text(text)
    calls(held, "Write", file_path=str(path))


def fails(held):
    outcome.settle(held, Outcome(OutcomeKind.FAILED, Reason.TURN_LIMIT), leaving_for=None)


def next_attempt(crew, *, start):
    """The next attempt at the first task, begun."""
    run = Run.objects.filter(task=crew.tasks[0]).order_by("-attempt").first()
    if run.status != "pending":
        run = runs.claim_task(crew.tasks[0].pk, agent_id=crew.agents[0].pk, actor="system")
    Run.objects.filter(pk=run.pk).update(start_from=start)
    return begun(world.take(run.pk))


def told(held):
    return spec.build(held.id, held.fence).spec.prompt


def test_every_attempt_since_the_first_is_taken_back_with_what_its_commands_made(crew, work):
    first = begun(crew.claim())
    writes(first, work / "old.py", "broken\n")
    calls(first, "Bash", command="touch made-by-command.txt")
    (work / "made-by-command.txt").write_text("x")
    fails(first)
    second = next_attempt(crew, start="last")
    assert (work / "made-by-command.txt").exists(), "it goes on from the last attempt's state"
    writes(second, work / "second.py", "2\n")
    calls(second, "Bash", command="rm old.py")
    (work / "old.py").unlink()
    fails(second)
    third = next_attempt(crew, start="clean")
    assert sorted(path.name for path in work.iterdir()) == ["old.py"]
    assert (work / "old.py").read_text() == "old\n"
    assert "starts clean" in told(third)
    assert "made-by-command.txt, old.py, second.py" in told(third)
    assert "starts clean" in Event.objects.get(kind="note", run_id=third.id).data["text"]


def test_what_another_task_did_meanwhile_stays_and_what_cannot_be_told_apart_is_named(crew, work):
    first, other = begun(crew.claim()), begun(crew.claim(1, 1))
    writes(first, work / "mine.py", "1\n")
    writes(first, work / "shared.py", "1\n")
    writes(other, work / "shared.py", "2\n")
    writes(other, work / "theirs.py", "2\n")
    calls(other, "Bash", command="make")
    (work / "whose.txt").write_text("x")
    fails(first)
    again = next_attempt(crew, start="clean")
    assert not (work / "mine.py").exists()
    assert all((work / name).exists() for name in ("shared.py", "theirs.py", "whose.txt"))
    prompt = told(again)
    assert "(mine.py)" in prompt
    assert "cannot be told who did: shared.py, theirs.py, whose.txt." in prompt


def test_beside_a_task_that_ran_no_commands_all_else_is_known_to_be_the_attempts_own(crew, work):
    first, other = begun(crew.claim()), begun(crew.claim(1, 1))
    writes(other, work / "theirs.py", "2\n")
    calls(first, "Bash", command="make")
    (work / "by-command.txt").write_text("x")
    fails(first)
    next_attempt(crew, start="clean")
    assert not (work / "by-command.txt").exists()
    assert (work / "theirs.py").exists()


@pytest.mark.parametrize("folder", [".", "inside", ".."])
def test_what_another_team_did_meanwhile_in_the_same_folder_in_one_inside_or_around_it_stays(crew, work, folder):
    other = world.make(titles=("Elsewhere",))
    world.workspace(other.team, (work / folder).resolve())
    first, theirs = begun(crew.claim()), begun(other.claim())
    writes(first, work / "mine.py", "1\n")
    calls(first, "Bash", command="make")
    (work / "inside").mkdir(exist_ok=True)
    for name in ("old.py", "inside/theirs.py"):
        writes(theirs, work / name, "of another team\n")
    fails(first)
    again = next_attempt(crew, start="clean")
    assert (work / "old.py").read_text() == (work / "inside/theirs.py").read_text() == "of another team\n"
    assert not (work / "mine.py").exists()
    assert "Not put back, because somebody else changed it too, or it cannot be told who did: inside/theirs.py, old.py" in told(
        again
    )


def test_the_commands_of_another_team_make_it_unknown_whose_a_file_is(crew, work):
    other = world.make(titles=("Elsewhere",))
    world.workspace(other.team, work)
    first, theirs = begun(crew.claim()), begun(other.claim())
    for held in (first, theirs):
        calls(held, "Bash", command="make")
    (work / "whose.txt").write_text("x")
    fails(first)
    assert "cannot be told who did: whose.txt." in told(next_attempt(crew, start="clean"))
    assert (work / "whose.txt").exists()


def test_what_a_person_writes_beside_an_attempt_that_ran_no_command_stays(crew, work):
    first = begun(crew.claim())
    writes(first, work / "mine.py", "1\n")
    (work / "lead.md").write_text("written by the lead meanwhile\n")
    fails(first)
    again = next_attempt(crew, start="clean")
    assert (work / "lead.md").exists()
    assert not (work / "mine.py").exists()
    assert "cannot be told who did: lead.md." in told(again)


def test_what_somebody_changed_after_the_attempt_had_ended_stays(crew, work):
    first = begun(crew.claim())
    writes(first, work / "a.py", "1\n")
    writes(first, work / "b.py", "1\n")
    fails(first)
    (work / "a.py").write_text("mended by the lead\n")
    again = next_attempt(crew, start="clean")
    assert (work / "a.py").read_text() == "mended by the lead\n"
    assert not (work / "b.py").exists()
    assert "Not put back" in told(again)


def test_after_a_clean_start_only_what_came_since_is_taken_back_the_next_time(crew, work):
    first = begun(crew.claim())
    writes(first, work / "a.py", "1\n")
    fails(first)
    second = next_attempt(crew, start="clean")
    assert not (work / "a.py").exists()
    writes(second, work / "a.py", "2\n")
    fails(second)
    third = next_attempt(crew, start="clean")
    assert not (work / "a.py").exists()
    assert "Not put back" not in told(third)


def test_of_an_attempt_whose_end_nobody_saw_only_the_files_that_it_named_are_taken_back(crew, work):
    first = begun(crew.claim())
    writes(first, work / "named.py", "1\n")
    (work / "unknown.txt").write_text("x")
    fails(first)
    Run.objects.filter(pk=first.id).update(dossier={}, ended_at=timezone.now())
    again = next_attempt(crew, start="clean")
    assert not (work / "named.py").exists()
    assert (work / "unknown.txt").exists()
    assert "unknown.txt" in told(again)


@pytest.mark.parametrize(("there", "why"), [(False, "git is not installed"), (True, "git could not do it (the log says why)")])
def test_without_git_it_is_said_that_nothing_was_put_back(crew, work, monkeypatch, there, why):
    first = begun(crew.claim())
    fails(first)
    monkeypatch.setattr(clean_start.snapshots, "take", lambda slug, workspace: "")
    monkeypatch.setattr(workspaces, "has_git", lambda: there)
    assert clean_start.BLIND.format(why=why) in told(next_attempt(crew, start="clean"))


def test_a_completed_attempt_keeps_how_it_left_the_workspace(crew, work):
    first = begun(crew.claim())
    (work / "by-command.txt").write_text("x")
    runs.report(first.id, first.fence, {"status": "completed", "evidence": {"1": "yes"}})
    outcome.settle(first, Outcome(OutcomeKind.ENDED), leaving_for=None)
    assert len(Run.objects.get(pk=first.id).dossier[snapshots.END]) == 40


def test_the_dossier_shows_what_the_attempt_changed(crew, work):
    first = begun(crew.claim())
    writes(first, work / "old.py", "broken\n")
    (work / "new.py").write_text("new\n")
    fails(first)
    assert Run.objects.get(pk=first.id).dossier["diff"]["files"] == ["new.py", "old.py"]


def test_a_second_life_of_an_attempt_does_not_start_over(crew, work):
    first = begun(crew.claim())
    before = Run.objects.get(pk=first.id).workspace_commit
    (work / "new.py").write_text("x")
    begun(world.next_life(first))
    assert Run.objects.get(pk=first.id).workspace_commit == before


def begins_next(crew):
    """The attempt that the schedule gives out now, begun."""
    scheduling.tick(crew.team.pk)
    return begun(world.take(Run.objects.get(task=crew.tasks[0], status="pending").pk))


def stopped(held):
    outcome.settle(held, Outcome(OutcomeKind.STOPPED, Reason.STOPPED), leaving_for=None)


def stop_and_resume_the_team(crew, held):
    actions.stop_team(crew.team.pk, actor="user:ada")
    stopped(held)
    actions.resume_team(crew.team.pk, actor="user:ada")


def stop_and_resume_the_agent(crew, held):
    actions.stop_agent(held.agent_id, actor="user:ada")
    stopped(held)
    actions.resume_agent(held.agent_id, actor="user:ada")


def make_a_stuck_attempt_again(crew, held):
    past = timezone.now() - timedelta(hours=3)
    Run.objects.filter(pk=held.id).update(last_step_at=past, started_at=past, created_at=past)
    Event.objects.filter(run_id=held.id, kind="run.started").update(at=past)
    assert recovery.open_stalls() == 1
    world.answer(Decision.objects.get(status="open"), "retry")
    stopped(held)


@pytest.mark.parametrize("what", [stop_and_resume_the_team, stop_and_resume_the_agent, make_a_stuck_attempt_again])
def test_work_goes_on_from_the_files_after_a_stop(crew, work, what):
    first = begun(crew.claim())
    writes(first, work / "old.py", "new\n")
    what(crew, first)
    second = begins_next(crew)
    assert (work / "old.py").read_text() == "new\n"
    assert "starts clean" not in told(second)


def test_a_stop_before_an_attempt_has_begun_changes_nothing_in_how_its_task_starts(crew):
    fails(begun(crew.claim()))
    for start in ("last", "clean"):
        actions.reassign(crew.tasks[0].pk, agent_id=None, start=start, actor="user:ada")
        assert Run.objects.get(task=crew.tasks[0], status="pending").start_from == start
        actions.stop_team(crew.team.pk, actor="user:ada")
        actions.resume_team(crew.team.pk, actor="user:ada")
        assert Run.objects.get(task=crew.tasks[0], status="pending").start_from == start


@pytest.mark.parametrize("ended", ["completed", "cancelled"])
def test_a_reopened_task_goes_on_from_the_files_as_they_are(crew, work, ended):
    first = begun(crew.claim())
    writes(first, work / "old.py", "new\n")
    if ended == "completed":
        runs.report(first.id, first.fence, {"status": "completed", "evidence": {"1": "x"}})
        outcome.settle(first, Outcome(OutcomeKind.ENDED), leaving_for=None)
    else:
        actions.cancel(crew.tasks[0].pk, actor="user:ada")
        stopped(first)
    assert crew.task().status == ended
    actions.reopen(crew.tasks[0].pk, why="The button is missing.", actor="user:ada")
    begins_next(crew)
    assert (work / "old.py").read_text() == "new\n"
