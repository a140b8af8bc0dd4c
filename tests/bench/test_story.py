"""The story of the chaos benchmark: the same for the same seed, playable, and every turn known by its figures."""

from pathlib import Path

import pytest

from bench import audit_script, story
from tasks_app.domain import plan as plans
from tasks_app.management import lead
from tasks_app.rehearsal import scripts
from tasks_app.task_types import registry


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("story")
    story.make(tasks=40, seed=7).write(folder)
    return folder


def test_the_same_seed_tells_the_same_story() -> None:
    assert story.make(tasks=40, seed=7) == story.make(tasks=40, seed=7)
    assert story.make(tasks=40, seed=7).plan != story.make(tasks=40, seed=8).plan


def test_its_files_are_a_plan_a_script_and_a_lead(files: Path) -> None:
    plan = plans.parse((files / "plan.yaml").read_text(), known_types=registry.TYPES)
    assert len(plan.tasks) == 40
    assert any(task.depends_on for task in plan.tasks)
    assert lead.load(files / "lead.yaml").rules
    assert len(scripts.load(files / "script.yaml").parts) > 40, "the tasks that fail have a part for each attempt"


def test_every_kind_of_request_and_failure_comes_early() -> None:
    assert set(story.make(tasks=11, seed=3).kinds) == set(story.KINDS)


def test_no_two_turns_share_their_figures(files: Path) -> None:
    parts = scripts.load(files / "script.yaml").parts
    assert len(audit_script.turns_by_figures(parts)) == sum(len(part.turns) for part in parts)


def test_a_script_without_figures_cannot_be_compared() -> None:
    parts = scripts.load("parts: [{turns: [{say: Hello.}]}]").parts
    assert audit_script.turns_by_figures(parts) == {}


def test_a_turn_costs_what_its_model_costs() -> None:
    parts = scripts.load(
        "parts: [{turns: [{say: One., usage: {input: 1000000, cache_read: 1000000, cache_write: 1000000, output: 1000000}}]}]"
    ).parts
    assert audit_script.usd(parts[0].turns[0].usage) == pytest.approx(3 + 0.3 + 3.75 + 15)  # type: ignore[arg-type]
