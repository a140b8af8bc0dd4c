"""A transcript is read in windows, each step once and in order, silent ones left out."""

import pytest

from tasks_app.domain.statuses import StepKind
from tasks_app.models import Step
from tasks_app.selectors import steps
from tests import factories as make

pytestmark = pytest.mark.django_db


@pytest.fixture
def run():
    return make.RunFactory()


@pytest.fixture
def numbered(run):
    Step.objects.bulk_create(
        [Step(run=run, seq=seq, fence=1, kind="said", text=f"step {seq}", at=run.started_at) for seq in range(1, 451)]
    )
    type(run).objects.filter(pk=run.pk).update(last_seq=450)
    return run


def test_the_newest_window_holds_the_last_two_hundred_and_says_where_earlier_ones_end(numbered):
    window = steps.window(numbered.pk)
    assert [line.seq for line in window.lines] == list(range(251, 451))
    assert window.earlier == 251


def test_paging_back_reaches_the_beginning_without_a_gap(numbered):
    seen, before = [], None
    while True:
        window = steps.window(numbered.pk, before=before)
        seen = [line.seq for line in window.lines] + seen
        if window.earlier is None:
            break
        before = window.earlier
    assert seen == list(range(1, 451))


def test_spans_give_each_part_its_own_steps(numbered):
    found = steps.between(numbered.pk, {(1, 20), (441, 460)})
    assert [line.seq for line in found[1, 20]] == list(range(1, 21))
    assert [line.seq for line in found[441, 460]] == list(range(441, 451))
    assert steps.between(numbered.pk, set()) == {}


def test_steps_that_carry_only_figures_are_not_shown(run):
    make.StepFactory(run=run, text="seen")
    make.StepFactory(run=run, kind=StepKind.NOTICE.value, text="", data={"silent": True})
    assert [line.text for line in steps.window(run.pk).lines] == ["seen"]
    assert [line.text for line in steps.between(run.pk, {(1, 20)})[1, 20]] == ["seen"]


def test_a_result_carries_the_name_of_the_tool_that_was_called(run):
    make.StepFactory(run=run, kind="tool_call", text="Bash", tool_use_id="t1")
    make.StepFactory(run=run, kind="tool_result", text="ok", tool_use_id="t1", data={"is_error": True})
    call, result = steps.window(run.pk).lines
    assert (call.tool, result.tool, result.failed) == ("Bash", "Bash", True)


@pytest.mark.parametrize("word", ["grep", "größe", '"hi"', "\\bfoo", "🎉", "100%", "Größe"])
def test_a_word_is_found_in_what_a_tool_was_called_with_whatever_its_letters(run, word):
    make.StepFactory(
        run=run, kind="tool_call", text="Bash", data={"input": {"command": r'grep größe \bfoo && echo "hi" 🎉 100% Größe'}}
    )
    make.StepFactory(run=run, kind="tool_call", text="Bash", data={"input": {"command": "gr__e hi bfoo"}})
    assert [line.seq for line in steps.window(run.pk, find=word).lines] == [1]


def test_filters_choose_by_kind(run):
    make.StepFactory(run=run, kind="said", text="hello")
    make.StepFactory(run=run, kind="tool_call", text="Bash")
    make.StepFactory(run=run, kind="tool_result", text="boom", data={"is_error": True})
    make.StepFactory(run=run, kind="tool_result", text="fine", data={"is_error": False})
    texts = {only: [line.text for line in steps.window(run.pk, only=only).lines] for only in steps.FILTERS}
    assert texts == {
        "": ["hello", "Bash", "boom", "fine"],
        "text": ["hello"],
        "tools": ["Bash", "boom", "fine"],
        "errors": ["boom"],
    }
