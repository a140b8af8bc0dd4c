"""What the next agent will be told is what it is told then; the lead's words in it are edited under a version."""

import pytest

from tasks_app.domain.errors import Conflict, Stale, TooLarge
from tasks_app.execution import handover, spec
from tasks_app.models import Agent, ContextRead, Event, Task, TranscriptEntry
from tasks_app.services import context, task_edits
from tests import factories


def change(crew, words, made_from=""):
    seen = handover.told(crew.tasks[0].pk).seen
    task_edits.set_guidance(crew.tasks[0].pk, words, made_from=made_from or seen, actor="user:anna")


def full(crew):
    needed = factories.TaskFactory(team=crew.team, number=7, done=True, title="Schema", output="The table is `invoice`.")
    task_edits.add_dependencies(crew.tasks[0].pk, needs=[needed.pk], actor="user:ada")
    context.share(crew.team.pk, name="api.url", value="http://x", by=context.Writer("agent:builder-2"))
    dossier = {"attempt": 1, "agent": "builder-2", "reason": "reported", "error": "401", "approaches": ["key"]}
    dossier["proofs"] = [{"number": 2, "met": False, "says": "`pytest`: exit code 1"}]
    factories.RunFactory(task=crew.tasks[0], team=crew.team, agent=crew.agents[1], failed=True, dossier=dossier)
    Agent.objects.filter(pk=crew.agents[0].pk).update(handover="- T-9 Schema: done")
    Task.objects.filter(pk=crew.tasks[0].pk).update(assignee=crew.agents[0], description="Make the page.")


def test_what_is_shown_is_exactly_what_the_agent_is_told(crew):
    full(crew)
    change(crew, "  Look at <DST> first.\nThen ask. ")
    shown = handover.told(crew.tasks[0].pk)
    assert not ContextRead.objects.exists(), "nobody has been told yet"
    held = crew.claim()
    prompt = spec.build(held.id, held.fence).spec.prompt
    assert prompt.partition("\n")[2] == shown.text
    assert "## Guidance of the lead\nLook at <DST> first.\nThen ask." in prompt
    assert "- criterion 2 was not met: `pytest`: exit code 1" in prompt
    assert [part.title for part in shown.parts] == [
        "Task",
        "Description",
        "Acceptance criteria",
        "Outputs of what it depends on",
        "Shared context",
        "What was already tried",
        "Guidance",
        "Where it left off",
        "How to report",
    ]


def test_an_agent_that_goes_on_in_its_session_is_not_told_again_where_it_left_off(crew):
    full(crew)
    TranscriptEntry.objects.create(project_key="p", session_id="own", uuid="1", entry="{}", mtime_ms=1)
    Agent.objects.update(session_id="own", context_tokens=100, context_window=200_000)
    shown = handover.told(crew.tasks[0].pk)
    assert (shown.goes_on, "Where it left off" in [part.title for part in shown.parts]) == (True, False)


def test_a_preview_shows_other_words_and_another_agent_and_changes_nothing(crew):
    shown = handover.told(crew.tasks[0].pk, agent_id=crew.agents[1].pk, guidance="Only a try.")
    assert (shown.agent, "Only a try." in shown.text) == ("builder-2", True)
    assert crew.task().guidance == ""


def test_an_edit_of_an_older_text_is_refused(crew):
    old = handover.told(crew.tasks[0].pk).seen
    change(crew, "Mine.")
    with pytest.raises(Stale, match="changed while you wrote"):
        change(crew, "Yours.", made_from=old)
    assert crew.task().guidance == "Mine."
    assert [e.data for e in Event.objects.filter(kind="task.edited")] == [{"fields": ["guidance"]}]


def test_what_has_begun_or_is_over_is_not_changed_any_more(crew):
    crew.claim()
    with pytest.raises(Conflict, match="has begun"):
        change(crew, "Too late.")
    Task.objects.update(status="cancelled")
    with pytest.raises(Conflict, match="is over"):
        change(crew, "Too late.")


def test_guidance_has_a_limit(crew):
    with pytest.raises(TooLarge):
        change(crew, "x" * 20_001)
