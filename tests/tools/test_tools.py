"""Each crew tool doing what it is for."""

import json

import pytest

from tasks_app.models import Checkpoint, Dependency, Event, Message, Run, Task, Team
from tasks_app.services import messages, tasks
from tests import factories
from tests.services import world
from tests.tools.calls import bad, caller, good

pytestmark = pytest.mark.django_db


def test_a_task_is_made_with_what_it_waits_for(me, crew):
    made = json.loads(
        good(me, "TaskCreate", subject="Docs", description="All of it", criteria=["ok", " "], addBlockedBy=["T-1", "2", "2"])
    )
    assert {name: made[name] for name in ("taskId", "subject", "status")} == {
        "taskId": "4",
        "subject": "Docs",
        "status": "pending",
    }
    assert "title: “Docs” could be any task." in made["hints"][0]
    assert made["hints"][0].endswith("Poor: Improve the login. Good: Lock an account for 15 minutes after 5 wrong passwords.")
    task = Task.objects.get(number=4)
    assert (task.criteria, task.created_by) == (["ok"], "agent:builder-1")
    assert sorted(Dependency.objects.filter(task=task).values_list("needs__number", flat=True)) == [1, 2]


def test_a_new_task_in_a_file_of_another_one_is_told_so(me, crew):
    Task.objects.filter(number=3).update(description="Change billing/page.py.")
    words = {"subject": "Show the total", "description": "Show it in billing/page.py.", "criteria": ["GET /page shows 3.00"]}
    (hint,) = json.loads(good(me, "TaskCreate", **words))["hints"]
    assert "as “T-3” does" in hint
    assert "Add addBlockedBy: [T-3]" in hint
    assert "hints" not in json.loads(good(me, "TaskCreate", **words, addBlockedBy=["T-3", "T-4"]))


def test_task_get_list_and_output_show_what_is_so(me, crew):
    Dependency.objects.create(task=crew.tasks[1], needs=crew.tasks[0])
    detail = json.loads(good(me, "TaskGet", taskId=2))
    assert (detail["id"], detail["blockedBy"], detail["criteria"]) == ("2", ["1"], {"1": "It works."})
    assert json.loads(good(me, "TaskGet", taskId="#1"))["blocks"] == ["2"]
    listed = json.loads(good(me, "TaskList"))
    assert [(t["id"], t["status"], t["owner"], t["blockedBy"]) for t in listed] == [
        ("1", "in_progress", "builder-1", []),
        ("2", "pending", "", ["1"]),
        ("3", "pending", "", []),
    ]
    Task.objects.filter(pk=crew.tasks[0].pk).update(output="🚀é漢" * 350_000)
    assert len(good(me, "TaskOutput", task_id="1")) < 25_000


def test_the_output_of_an_unfinished_task_comes_at_once_and_says_that_nobody_waited(me, crew):
    early = json.loads(good(me, "TaskOutput", task_id="2", block=True, timeout=600))
    assert (early["status"], "does not wait" in early["notice"], "addBlockedBy" in early["notice"]) == ("pending", True, True)
    Task.objects.filter(number=2).update(status="completed", output="There.")
    assert "notice" not in json.loads(good(me, "TaskOutput", task_id="2", block=True))


def test_completing_needs_evidence_for_each_criterion_by_number_or_text_and_takes_effect_at_the_end(me, crew):
    evidence = {"1": "opened it", "tests pass": "42 passed"}
    text = good(me, "TaskUpdate", taskId="T-1", status="completed", evidence=evidence, summary="All there\0.")
    assert "T-1 is completed. End your turn now." in text
    report = Run.objects.get().report
    assert (report["status"], report["summary"], set(report["evidence"])) == ("completed", "All there.", set(evidence))
    assert crew.task().status == "in_progress"
    good(me, "TaskUpdate", taskId="1", status="in_progress")
    assert Run.objects.get().report is None, "it works on"


def test_a_list_of_evidence_goes_by_the_order_of_the_criteria(me):
    good(me, "TaskUpdate", taskId="1", status="completed", evidence=["opened it", "42 passed"])
    assert Run.objects.get().report["evidence"] == {"1": "opened it", "2": "42 passed"}


def test_giving_back_says_why_and_what_was_tried(me):
    why = {"failure": "401", "approaches": ["key", 2]}
    assert "goes back" in good(me, "TaskUpdate", taskId="1", status="pending", metadata=why)
    assert Run.objects.get().report == {"status": "pending", "failure": "401", "approaches": ["key", "2"], "summary": ""}
    assert "goes back" in good(me, "TaskUpdate", taskId="1", status="pending", metadata=why, evidence=["42 passed"])
    assert Run.objects.get().report["evidence"] == {"1": "42 passed"}, "what is met is told to the next agent"
    assert "goes back" in good(me, "TaskStop", task_id="1")


def test_ones_own_and_self_made_tasks_may_be_changed(me, crew):
    good(me, "TaskCreate", subject="Sub", description="y")
    good(me, "TaskUpdate", taskId="4", subject="Better", metadata={"area": "ui"})
    assert "waits for it now" in good(me, "TaskUpdate", taskId="1", description="New", addBlocks=["4"])
    task = Task.objects.get(number=4)
    assert (task.title, task.metadata) == ("Better", {"area": "ui"})
    assert Dependency.objects.get().task == task
    assert good(me, "TaskUpdate", taskId="1") == "Nothing to change."


def test_an_update_that_is_refused_in_part_changes_nothing_at_all(me, crew):
    before = world.frozen(crew.team)
    bad(me, "TaskUpdate", taskId="1", subject="Half", addBlockedBy=["2"], status="completed", evidence={"1": "x"})
    bad(me, "TaskUpdate", taskId="1", subject="Half", addBlockedBy=["2"], addBlocks=["2"])
    assert world.frozen(crew.team) == before


def test_a_message_is_sent_once_whatever_repeats_the_call(me, crew):
    """N19"""
    for _ in range(4):
        good(me, "SendMessage", "toolu_9", to="Builder-2", message="The schema is ready.")
    assert Message.objects.count() == 1
    assert world.kinds(crew.team).count("message.sent") == 1
    good(me, "SendMessage", "toolu_10", to="builder-2", message="The schema is ready.")
    assert Message.objects.count() == 2
    good(me, "SendMessage", "x" * 500, to="builder-2", message="y")
    good(me, "SendMessage", "x" * 500, to="builder-2", message="y")
    assert Message.objects.count() == 3


def test_a_message_to_an_agent_that_does_not_run_is_queued_and_says_so(me, crew):
    """N16"""
    assert "Queued for builder-2, who is not running" in good(me, "SendMessage", to="builder-2", message="x")
    assert Message.objects.get().delivered_at is None
    caller(crew, 1, 1)
    assert "Sent to builder-2" in good(me, "SendMessage", to="builder-2", message="y")
    assert "Sent to lead" in good(me, "SendMessage", to="lead", message="z")


def test_an_agent_of_another_team_gets_no_message(me, crew):
    """N16"""
    other = factories.AgentFactory(name="zebra")
    assert "not in this team" in bad(me, "SendMessage", to="zebra", message="x")
    assert not Message.objects.filter(recipient=other).exists()


def test_reading_messages_shows_the_latest_oldest_first(me, crew):
    for n in range(25):
        messages.send(crew.team.pk, sender_agent_id=None, to="builder-1", body=f"note {n}", actor="user:ada")
    shown = json.loads(good(me, "ReadMessages"))
    assert [m["message"] for m in shown] == [f"note {n}" for n in range(5, 25)]
    assert shown[0]["from"] == "lead"


def test_the_text_of_escalate_without_an_answer_is_no_consent(me):
    assert "has not answered" in good(me, "Escalate", problem="401", options=[{"label": "Mock"}])


def test_a_checkpoint_holds_where_everything_stands(me, crew):
    assert "Saved checkpoint k" in good(me, "SaveCheckpoint", name="before\0 the migration")
    saved = Checkpoint.objects.get()
    assert (saved.name, saved.run_id, saved.by) == ("before the migration", me.run_id, "agent:builder-1")
    assert [t["number"] for t in saved.data["tasks"]] == [1, 2, 3]


@pytest.mark.django_db(transaction=True)
def test_the_tools_commit_with_their_events():
    crew = world.make(titles=("Build", "Test"))
    me = caller(crew)
    good(me, "TaskUpdate", taskId="1", subject="New", addBlockedBy=["2"])
    assert Event.objects.filter(kind="task.edited", actor="agent:builder-1").count() == 2
    assert tasks.open_blockers(me.task_id)[0].number == 2


def test_hostile_text_goes_through_exact_where_it_is_valid(me, crew):
    """N20"""
    good(me, "SendMessage", to="builder-2", message="현\ud99c 보유현황 👩‍👩‍👧‍👦 \0 end")
    assert Message.objects.get().body == "현\ufffd 보유현황 👩‍👩‍👧‍👦  end"


def test_a_message_that_the_guard_holds_back_is_told_to_the_agent_and_to_people(me, crew):
    Team.objects.filter(pk=crew.team.pk).update(messaging={"per_minute": 2})
    for n in range(2):
        good(me, "SendMessage", to="builder-2", message=f"Look at {n}")
    assert "You have sent builder-2 2 messages within a minute" in bad(me, "SendMessage", to="builder-2", message="And this")
    assert Message.objects.count() == 2
    assert Event.objects.get(kind="message.refused").data["recipient"] == "builder-2"


def test_a_message_to_everyone_through_the_hub_and_a_status_say_where_they_went(me, crew):
    assert "builder-2" in good(me, "SendMessage", to="all", message="Frozen.")
    assert "No agent is told" in good(me, "SendMessage", to="builder-2", message="Thanks!")
    Team.objects.filter(pk=crew.team.pk).update(messaging={"mode": "hub"})
    assert "go through lead: it was sent to lead, meant for builder-2" in good(me, "SendMessage", to="builder-2", message="Hi.")


def test_an_agent_says_what_it_did_about_a_message(me, crew):
    sent = messages.send(crew.team.pk, sender_agent_id=None, to="builder-1", body="Use port 81.", actor="user:ada")
    assert json.loads(good(me, "ReadMessages"))[0]["id"] == sent.pk
    assert "you acted on the message of lead" in good(me, "MessageDone", message_id=sent.pk, did="Port 81 now.")
    assert Message.objects.get().acted_note == "Port 81 now."
    assert "said already" in bad(me, "MessageDone", message_id=sent.pk)
