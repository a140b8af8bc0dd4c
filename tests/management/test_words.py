"""How the terminal says things."""

import ast
import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dashboard.templatetags.crew_words import TEAM
from tasks_app.domain.events import EventKind
from tasks_app.management import entry as entries
from tasks_app.management import words
from tasks_app.selectors.journal import Entry, Request
from tasks_app.selectors.states import TEAM_WORD
from tests.factories import TaskFactory, TeamFactory
from tests.management.commands import run

ROOT = Path(__file__).resolve().parents[2]
AT = dt.datetime(2026, 3, 1, 10, 20, 30, tzinfo=dt.UTC)


def entry(event: str, /, request: Request | None = None, **data: object) -> Entry:
    return Entry(7, event, AT, "system", data, task="T-2", task_title="API", agent="ada", decision="d1", request=request)


def test_an_age_is_said_in_words_and_no_moment_has_none() -> None:
    assert words.since(AT, AT + dt.timedelta(minutes=10, seconds=7)) == "10 min 7 s"
    assert words.since(None, AT) == ""


@pytest.mark.parametrize(
    ("count", "said"),
    [(None, "–"), (0, "0"), (999, "999"), (41_200, "41 k"), (999_499, "999 k"), (999_500, "1.0 M"), (1_240_000, "1.2 M")],
)
def test_tokens_are_short_and_an_unknown_figure_is_never_zero(count: int | None, said: str) -> None:
    assert words.tokens(count) == said


def test_an_event_is_a_line_with_its_time() -> None:
    assert words.line(entry(EventKind.TASK_CLAIMED, attempt=2)) == "10:20:30 ada took T-2 API (attempt 2)"


def test_a_request_says_how_to_answer_it_while_it_is_open() -> None:
    asked = Request("plan", "ada proposes a plan", open=True)
    said = "10:20:30 ada proposes a plan for T-2 API"
    assert words.line(entry(EventKind.DECISION_OPENED, asked)) == f"{said}  → uv run manage.py decide d1"
    assert words.line(entry(EventKind.DECISION_OPENED, replace(asked, open=False))) == said


def test_hostile_text_in_an_event_is_one_harmless_line() -> None:
    said = words.line(entry(EventKind.TASK_CANCELLED, why="a\x1b[2Jb\nc\u202ed" + "x" * 5000))
    assert not {"\x1b", "\n", "\u202e"} & set(said)
    assert len(said) <= words.WIDTH + len("10:20:30 ")


def test_a_team_is_said_as_on_its_page() -> None:
    assert {state: look.word for state, look in TEAM.items()} == TEAM_WORD


@pytest.mark.django_db
def test_a_finished_team_is_done_and_not_active() -> None:
    team = TeamFactory(slug="atlas")
    TaskFactory(team=team, done=True)
    assert "Done" in run("team", "list")[1]
    assert "atlas  Done" in run("team", "status", "atlas")[1]
    assert "active" not in run("team", "list")[1]
    type(team).objects.update(status="paused")
    assert "atlas  Done, paused" in run("team", "status", "atlas")[1]


@pytest.mark.django_db
def test_a_team_that_is_held_is_not_called_queued_and_one_task_is_no_tasks() -> None:
    team = TeamFactory(slug="atlas")
    TaskFactory(team=team)
    for status, said in (("active", "Queued"), ("stopped", "Stopped"), ("paused", "Paused")):
        type(team).objects.update(status=status)
        out = run("team", "status", "atlas")[1]
        assert f"atlas  {said}\n" in out
        assert "0 of 1 task completed" in out


def texts() -> Iterator[tuple[str, str]]:
    """What the product may say, by its file: texts that are no docstring, and templates."""
    for folder in ("dashboard", "tasks_app"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            tree = ast.parse(path.read_text())
            bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            for node in ast.walk(tree):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare:
                    yield path.name, node.value
    for path in sorted((ROOT / "templates").rglob("*.html")):
        yield path.name, path.read_text()


def test_every_command_that_is_named_runs_when_it_is_copied() -> None:
    named = re.compile(rf"(?<!uv run )manage\.py (?:{'|'.join([*entries.COMMANDS, 'migrate'])})\b")
    assert [(name, found[0]) for name, text in texts() for found in named.finditer(text)] == []
