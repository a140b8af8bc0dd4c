"""N08, N34 and N37 with a whole life of a run: a process that dies in a call, and results that are not the prompt's own."""

import pytest
from django.urls import reverse

from tasks_app.models import Run, Step
from tests import factories as make
from tests.cases.conftest import driven
from tests.dashboard.conftest import words_of
from tests.services import world

pytestmark = pytest.mark.usefixtures("database_threads")


def test_a_process_that_exits_with_137_in_a_call_is_gone_on_from_once_and_the_transcript_names_the_call(
    crew, playing, browser_of, lead
):
    make.TeamAccessFactory(team=crew.team, user=lead)
    binary, held = playing("dies"), crew.claim()
    driven(held)
    make.WorkerFactory()
    run = Run.objects.get()
    assert (run.status, run.reason, run.attempt, run.interrupted, crew.task().status) == (
        "pending",
        "crashed",
        1,
        True,
        "in_progress",
    )
    page = words_of(browser_of(lead).get(reverse("task", args=[held.task_id])))
    assert "Attempt 1" in page
    assert "Waits for a free worker" in page
    driven(world.take(held.id))
    assert binary.told("resumes") == ["", run.session_id]
    assert len(binary.told("prompt")) == 2, "the task's own prompt is not repeated"
    assert "make release" in binary.told("prompt")[1]
    said = words_of(browser_of(lead).get(reverse("agent", args=[held.agent_id])))
    assert "[crewdesk:interrupted]" in said
    assert (Run.objects.get().status, Run.objects.get().attempt, crew.task().status) == ("completed", 1, "completed")


def test_a_prompt_is_closed_by_its_own_result_alone(crew, playing):
    binary = playing("left_over")
    driven(crew.claim())
    run = Run.objects.get()
    assert (run.status, run.result) == ("completed", "my own")
    assert len(binary.told("prompt")) == 1, "nothing was asked again because an answer seemed to be missing"
    assert Step.objects.filter(kind="result").count() == 3
