"""The files of a workspace put back to how they were at a prompt: looked at first, undone at will, never under an agent."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError

from tasks_app.domain.errors import Conflict, Invalid, NotFound, Stale
from tasks_app.models import Event, Run, Step, Task, Team
from tasks_app.selectors import shown
from tasks_app.services import actions, context, forks, restores, rewinds, runs, scheduling, snapshot_store, snapshots, steps
from tests.services import world
from tests.services.forking import Tried, tried

pytestmark = [pytest.mark.django_db, pytest.mark.files]
ME = "user:lead"


@pytest.fixture
def one(tmp_path: Path) -> Tried:
    return tried(tmp_path / "work")


def files(one: Tried) -> dict[str, str]:
    return {str(path.relative_to(one.folder)): path.read_text() for path in one.folder.rglob("*") if path.is_file()}


AFTER = {"a.txt": "after", "new/b.txt": "b"}


def test_the_preview_shows_what_would_change_and_changes_nothing(one: Tried) -> None:
    looked = rewinds.preview(one.run.pk, at=1)
    assert looked.files == ("a.txt", "new/b.txt")
    assert "2 files changed" in looked.summary
    assert "-after" in looked.patch
    assert files(one) == AFTER


def test_the_files_go_back_and_what_was_there_can_be_had_again(one: Tried) -> None:
    (one.folder / "c.txt").write_text("made by hand")
    rewinds.rewind(one.run.pk, at=1, seen=rewinds.preview(one.run.pk, at=1).seen, actor=ME)
    assert files(one) == {"a.txt": "before"}
    assert not (one.folder / "new").exists()
    assert Event.objects.get(kind="files.rewound").data["count"] == 3
    assert rewinds.undo(one.crew.team.pk, actor=ME) == 3
    assert files(one) == AFTER | {"c.txt": "made by hand"}
    rewinds.undo(one.crew.team.pk, actor=ME)
    assert files(one) == {"a.txt": "before"}, "undone twice is done again"


def test_what_a_failed_attempt_had_shown_is_not_shown_any_more_when_its_files_are_gone(one: Tried) -> None:
    task = one.run.task
    Task.objects.filter(pk=task.pk).update(status="pending", failed=True)
    Run.objects.filter(pk=one.run.pk).update(status="failed", report={"evidence": {"1": "seen"}}, ended_at=world.now())
    task.refresh_from_db()
    assert shown.last(task)[1] == {"evidence": {"1": "seen"}}
    rewinds.rewind(one.run.pk, at=1, seen=rewinds.preview(one.run.pk, at=1).seen, actor=ME)
    assert shown.last(task) == ([], {})
    rewinds.undo(one.crew.team.pk, actor=ME)
    assert shown.last(task)[1], "they are back"
    rewinds.undo(one.crew.team.pk, actor=ME)
    assert shown.last(task) == ([], {})
    (one.folder / "a.txt").write_text("by hand")
    rewinds.rewind(one.run.pk, at=1, actor=ME)
    assert shown.last(task) == ([], {}), "two rewinds in a row are none that was undone"
    rewinds.undo(one.crew.team.pk, actor=ME)
    assert shown.last(task) == ([], {}), "only the second of them was undone"


def test_a_rewind_from_before_an_attempt_that_is_undone_after_it_takes_its_files_too(one: Tried) -> None:
    task = one.run.task
    rewinds.rewind(one.run.pk, at=1, actor=ME)
    Task.objects.filter(pk=task.pk).update(status="pending", failed=True)
    Run.objects.filter(pk=one.run.pk).update(status="failed", report={"evidence": {"1": "seen"}}, ended_at=world.now())
    (one.folder / "a.txt").write_text("what the next attempt made")
    task.refresh_from_db()
    assert shown.last(task)[1]
    rewinds.undo(one.crew.team.pk, actor=ME)
    assert shown.last(task) == ([], {})


def test_a_preview_of_files_that_have_changed_since_is_refused(one: Tried) -> None:
    seen = rewinds.preview(one.run.pk, at=1).seen
    (one.folder / "a.txt").write_text("by hand")
    with pytest.raises(Stale, match="have changed since"):
        rewinds.rewind(one.run.pk, at=1, seen=seen, actor=ME)
    assert (one.folder / "a.txt").read_text() == "by hand"


def test_what_the_workspace_ignores_and_its_own_repository_stay(one: Tried) -> None:
    (one.folder / ".git").mkdir()
    (one.folder / ".git" / "HEAD").write_text("ref: refs/heads/x")
    (one.folder / ".gitignore").write_text("*.log\n")
    (one.folder / "big.log").write_text("kept")
    rewinds.rewind(one.run.pk, at=6, actor=ME)
    assert (one.folder / "big.log").read_text() == "kept"
    assert (one.folder / ".git" / "HEAD").exists()
    assert not (one.folder / ".gitignore").exists()


def test_odd_names_and_links_come_back(one: Tried) -> None:
    name = "ünï *cödé*\n[x].txt"
    (one.folder / name).write_text("odd")
    (one.folder / "link").symlink_to("a.txt")
    (one.folder / "run.sh").write_text("#!/bin/sh\n")
    (one.folder / "run.sh").chmod(0o755)
    commit = snapshots.take(one.crew.team.slug, str(one.folder))
    Step.objects.filter(seq=6).update(data={"uuid": "u6", "files": commit})
    for made in (name, "link", "run.sh"):
        (one.folder / made).unlink()
    (one.folder / "link").write_text("no link")
    rewinds.rewind(one.run.pk, at=6, actor=ME)
    assert (one.folder / name).read_text() == "odd"
    assert (one.folder / "link").is_symlink()
    assert (one.folder / "run.sh").stat().st_mode & 0o100


def test_it_is_refused_while_an_attempt_is_open_there_and_says_who(one: Tried) -> None:
    actions.reassign(one.run.task_id, agent_id=one.crew.agents[1].pk, actor=ME)
    for act in (lambda: rewinds.rewind(one.run.pk, at=1, actor=ME), lambda: rewinds.undo(one.crew.team.pk, actor=ME)):
        with pytest.raises(Conflict, match=r"builder-2 is on T-1 \(attempt 2\) in this workspace"):
            act()
    assert files(one) == AFTER


@pytest.mark.parametrize("folder", [".", "sub", ".."])
def test_it_is_refused_while_another_team_works_there_inside_it_or_around_it(one: Tried, folder: str) -> None:
    other = world.make(role="tester")
    world.workspace(other.team, (one.folder / folder).resolve())
    held = other.claim()
    with pytest.raises(Conflict, match=r"tester-1 is on T-1 \(attempt 1\) in this workspace"):
        rewinds.rewind(one.run.pk, at=1, actor=ME)
    Run.objects.filter(pk=held.id).update(status="failed")
    rewinds.rewind(one.run.pk, at=1, actor=ME)


def test_only_prompts_have_files_and_only_where_they_were_kept(one: Tried) -> None:
    with pytest.raises(Invalid, match="Step 5 is no prompt"):
        rewinds.rewind(one.run.pk, at=5, actor=ME)
    with pytest.raises(NotFound, match="no step 50"):
        rewinds.rewind(one.run.pk, at=50, actor=ME)
    Step.objects.filter(seq=6).update(data={"uuid": "u6"})
    with pytest.raises(Conflict, match="not kept at that moment"):
        rewinds.rewind(one.run.pk, at=6, actor=ME)
    with pytest.raises(Conflict, match="nothing to undo"):
        rewinds.undo(one.crew.team.pk, actor=ME)


def test_the_first_prompt_of_an_older_attempt_has_the_files_that_it_started_from(one: Tried) -> None:
    Step.objects.filter(seq=1).update(data={})
    assert rewinds.preview(one.run.pk, at=1).files == ("a.txt", "new/b.txt")


def test_a_snapshot_that_is_damaged_changes_nothing(one: Tried) -> None:
    Step.objects.filter(seq=1).update(data={"files": "0" * 40})
    with pytest.raises(Conflict, match="damaged or gone"):
        rewinds.rewind(one.run.pk, at=1, actor=ME)
    assert files(one) == AFTER
    assert not Event.objects.filter(kind="files.rewound").exists()


def test_for_something_said_the_newest_moment_before_it_is_known(one: Tried) -> None:
    run = Run.objects.get(pk=one.run.pk)
    found = {at: rewinds.moment(run, at) for at in (1, 2, 5, 6)}
    assert {at: (each.step, each.calls) for at, each in found.items() if each} == {1: (1, 0), 2: (1, 0), 5: (1, 1), 6: (6, 0)}


def beside(work: Callable[[], object]) -> list[object]:
    """Do it in another connection while this one waits; returns what came of it, nothing where it is not done in time."""
    found: list[object] = []
    other = threading.Thread(target=lambda: found.extend(world.at_once(1, lambda _: work())), daemon=True)
    other.start()
    other.join(20)
    return found


ACTS: dict[str, Callable[[Tried], object]] = {
    "rewind": lambda one: rewinds.rewind(one.run.pk, at=1, actor=ME),
    "fork": lambda one: forks.fork(one.run.pk, at=1, files="then", actor=ME),
    "undo": lambda one: rewinds.undo(one.crew.team.pk, actor=ME),
}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("act", ACTS)
def test_while_git_runs_others_write_and_nothing_starts(one: Tried, act: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if act == "undo":
        rewinds.rewind(one.run.pk, at=1, actor=ME)
    elsewhere = world.make(titles=("Other",))
    held = elsewhere.claim()
    real, found = snapshots.rewind, []

    def slow(*given: str) -> int:
        """Git at work."""
        found.append(beside(lambda: context.share(one.crew.team.pk, name="port", value=1, by=context.Writer(ME), version=None)))
        found.append(beside(lambda: steps.record(held.id, held.fence, after=0, drafts=[world.say()])))
        found.append(beside(lambda: runs.claim_task(one.run.task_id, agent_id=one.crew.agents[0].pk, actor=ME)))
        found.append(beside(lambda: scheduling.tick(one.crew.team.pk)))
        return real(*given)

    monkeypatch.setattr(snapshots, "rewind", slow)
    ACTS[act](one)
    shared, recorded, claimed, ticked = (each[0] for each in found)
    assert not isinstance(shared, Exception), shared
    assert not isinstance(recorded, Exception), recorded
    assert recorded.last == 1
    assert isinstance(claimed, Conflict)
    assert "are being put back" in str(claimed)
    assert ticked == []
    assert Team.objects.get(pk=one.crew.team.pk).workspace_due == ""


@pytest.mark.parametrize("act", ["rewind", "fork"])
def test_one_that_is_cut_off_is_taken_back_by_the_sweep(one: Tried, act: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker is killed when the files are back and nothing of it is written."""
    monkeypatch.setattr(rewinds.Moved, "over", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    monkeypatch.setattr(rewinds, "_as_before", lambda *_: None)
    with pytest.raises(KeyboardInterrupt):
        ACTS[act](one)
    assert files(one) == {"a.txt": "before"}
    assert restores.finish_due() == 1
    assert files(one) == AFTER
    assert (restores.finish_due(), Event.objects.filter(kind__in=("files.rewound", "task.forked")).count()) == (0, 0)
    assert Run.objects.filter(status="pending", attempt=2).exists(), "work goes on"


def test_what_fails_after_git_leaves_the_files_as_they_were(one: Tried, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forks, "_tell", lambda *_: (_ for _ in ()).throw(Conflict("No.")))
    with pytest.raises(Conflict, match="No"):
        ACTS["fork"](one)
    assert (files(one), Team.objects.get().workspace_due) == (AFTER, "")
    assert not Event.objects.filter(kind__in=("files.rewound", "task.forked")).exists()


@pytest.mark.parametrize("act", ["rewind", "fork"])
def test_a_commit_that_is_done_stays_done_though_its_answer_was_lost(
    one: Tried, act: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database restarts at the commit: what is stored says that the files were put back, so they are."""

    @contextmanager
    def lost(*given: Any, **more: Any) -> Iterator[rewinds.Moved]:
        with gone_back(*given, **more) as moved:
            yield moved
            raise OperationalError("the connection is lost")

    gone_back = rewinds.gone_back
    monkeypatch.setattr(rewinds, "gone_back", lost)
    with pytest.raises(OperationalError):
        ACTS[act](one)
    assert (files(one), Team.objects.get().workspace_due) == ({"a.txt": "before"}, "")
    assert Event.objects.filter(kind="files.rewound").count() == 1


def test_the_sweep_does_not_wait_for_git_that_is_at_work(one: Tried) -> None:
    Team.objects.update(workspace_due="0" * 40)
    with snapshot_store.store_of(one.crew.team.slug):
        assert restores.finish_due() == 0


@pytest.mark.django_db(transaction=True)
def test_of_two_rewinds_at_once_both_are_whole_or_one_is_refused(one: Tried) -> None:
    seen = rewinds.preview(one.run.pk, at=1).seen
    found = world.at_once(2, lambda _: rewinds.rewind(one.run.pk, at=1, seen=seen, actor=ME))
    assert sorted(type(each).__name__ for each in found) == ["Preview", "Stale"]
    assert files(one) == {"a.txt": "before"}
    assert Event.objects.filter(kind="files.rewound").count() == 1
