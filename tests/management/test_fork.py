"""`manage.py task --fork`, `--rewind`, `--messages` and `--undo-rewind`."""

from pathlib import Path

import pytest

from tasks_app.models import Run
from tests.management.commands import run, run_json
from tests.services.forking import Tried, tried

pytestmark = pytest.mark.django_db


@pytest.fixture
def one(tmp_path: Path) -> Tried:
    return tried(tmp_path / "work", slug="atlas")


def test_the_messages_to_fork_from_are_listed(one: Tried) -> None:
    code, out, _ = run("task", "atlas", "T-1", "--messages", "1")
    assert (code, [line.split()[0] for line in out.splitlines()]) == (0, ["1", "2", "5", "6"])
    listed = run_json("task", "atlas", "T-1", "--messages", one.run.pk)[1]
    assert [(each["at"], each["prompt"]) for each in listed] == [(1, True), (2, False), (5, False), (6, True)]


def test_an_attempt_is_forked_for_another_agent_with_guidance(one: Tried) -> None:
    words = ("--fork", "1", "--at", "5", "--to", "builder-2", "--guidance", "Use Decimal.", "--files", "then")
    assert run("task", "atlas", "T-1", *words)[::2] == (0, "")
    made = Run.objects.get(attempt=2)
    assert (made.agent.name, made.fork["step"], made.fork["files"], made.guidance) == ("builder-2", 5, "then", "Use Decimal.")


def test_files_are_looked_at_put_back_and_had_again(one: Tried) -> None:
    code, out, _ = run("task", "atlas", "T-1", "--rewind", "1", "--at", "1", "--preview")
    assert (code, out.splitlines()) == (
        0,
        ["Would change: 2 files changed, 1 insertion(+), 2 deletions(-)", "  a.txt", "  new/b.txt"],
    )
    assert (one.folder / "a.txt").read_text() == "after"
    assert run_json("task", "atlas", "T-1", "--rewind", "1", "--at", "1")[1]["done"] is True
    assert (one.folder / "a.txt").read_text() == "before"
    assert run("task", "atlas", "T-1", "--undo-rewind")[0] == 0
    assert (one.folder / "a.txt").read_text() == "after"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--fork", "1"), "Say at which message"),
        (("--fork", "9", "--at", "1"), "no attempt “9”. There are: 1."),
        (("--fork", "1", "--at", "3"), "Step 3 is no message"),
        (("--fork", "1", "--at", "1", "--to", "nobody"), "no agent “nobody”"),
        (("--rewind", "1", "--at", "5"), "Step 5 is no prompt"),
        (("--fork", "1", "--rewind", "1", "--at", "1"), "--fork and --rewind do not go together"),
        (("--undo-rewind",), "nothing to undo"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(one: Tried, words: tuple[str, ...], said: str) -> None:
    code, _, err = run("task", "atlas", "T-1", *words)
    assert code == 2
    assert said in err
    assert Run.objects.count() == 1
