"""A forked attempt over its lives: it forks until its own beginning is stored, and never again after that."""

from pathlib import Path

import pytest

from tasks_app.execution import handover, spec
from tasks_app.models import Run
from tasks_app.services import forks, runs, transcripts
from tests.services import world
from tests.services.forking import SESSION, Tried, key, row, tried

pytestmark = pytest.mark.django_db
ME = "user:lead"


@pytest.fixture
def one(tmp_path: Path) -> Tried:
    return tried(tmp_path / "work")


def forked(one: Tried, **more: object) -> Run:
    forks.fork(one.run.pk, at=5, actor=ME, **more)  # type: ignore[arg-type]
    return Run.objects.get(task=one.run.task_id, attempt=2)


def test_the_first_life_forks_and_is_told_what_this_is(one: Tried) -> None:
    run = forked(one, guidance="Use Decimal.")
    held = world.take(run.pk)
    built = spec.build(run.pk, held.fence).spec
    assert (built.session_id, built.fork_of, built.fork_at, built.new_session_id) == (None, SESSION, "u5", run.session_id)
    assert f"[crewdesk:life {run.pk}:1]\n[crewdesk:fork T-1 attempt 2]" in built.prompt
    assert "a copy of attempt 1 at T-1 Build (by builder-1), up to this message (step 5): “two”" in built.prompt
    assert "as they are now, not as they were at that message" in built.prompt
    assert "## Guidance of the lead\nUse Decimal." in built.prompt


def test_it_is_told_which_files_it_has(one: Tried) -> None:
    run = forked(one, files="then")
    prompt = spec.build(run.pk, world.take(run.pk).fence).spec.prompt
    assert "put back to how they were at step 1 of that attempt, a little before that message" in prompt


def test_a_worker_killed_before_the_copy_is_whole_leaves_a_fork_to_be_made(one: Tried) -> None:
    """The copied beginning has the old attempt's own first prompt in it: that must not count as begun."""
    run = forked(one)
    held = world.take(run.pk)
    spec.build(run.pk, held.fence)
    copied = transcripts.load(key())[:3]  # type: ignore[index]
    transcripts.append(key(run.session_id), copied, run_id=run.pk, fence=held.fence)
    assert not runs.get(run.pk).started_session
    again = spec.build(run.pk, world.next_life(held).fence).spec
    assert (again.session_id, again.fork_of, again.new_session_id) == (None, SESSION, run.session_id)
    assert transcripts.load(key(run.session_id)) is None, "the half copy is gone"


def test_a_worker_killed_later_leaves_an_attempt_that_goes_on_and_forks_no_more(one: Tried) -> None:
    run = forked(one)
    held = world.take(run.pk)
    prompt = spec.build(run.pk, held.fence).spec.prompt
    lines = [*(transcripts.load(key()) or [])[:5], row("user", "n1", "u5", prompt)]
    transcripts.append(key(run.session_id), lines, run_id=run.pk, fence=held.fence)
    again = spec.build(run.pk, world.next_life(held).fence).spec
    assert (again.session_id, again.fork_of, again.fork_at) == (run.session_id, "", "")
    assert "[crewdesk:fork" not in again.prompt
    assert "You go on with T-1" in again.prompt


def test_what_a_fork_that_waits_will_be_told_is_shown_before(tmp_path: Path) -> None:
    one = tried(tmp_path / "work", titles=("Build", "Other"))
    runs.claim_task(one.crew.tasks[1].pk, agent_id=one.run.agent_id, actor="system")
    forks.fork(one.run.pk, at=5, guidance="Use Decimal.", actor=ME)
    told = handover.told(one.run.task_id)
    assert told.parts[0].title == "Fork"
    assert "up to this message (step 5)" in told.text
    assert told.agent == "builder-1"
