"""N38: Stop, pressed on the pages, with twenty agents in the background, twice, early, and on a process that ignores it."""

import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from django.urls import reverse

from tasks_app.execution import admission, supervisor
from tasks_app.models import Decision, Message, Run, Step
from tasks_app.services import actions, claims, messages, runs
from tests import factories as make
from tests.dashboard.conftest import words_of
from tests.execution.workers import living
from tests.runners.claude.fake_cli import AGENTS
from tests.services_fixtures import until

pytestmark = pytest.mark.usefixtures("database_threads")


@dataclass
class Post:
    """A worker at work on the first task, and the pages of Anna, who leads the team."""

    worker: supervisor.Supervisor
    desk: object
    crew: object
    run_id: str
    thread: threading.Thread

    def press_stop(self):
        """Press Stop on the task's page; returns the page that comes of it."""
        return self.desk.post(reverse("run-stop", args=[self.run_id]), follow=True)

    def page(self):
        """What the task's page says."""
        return words_of(self.desk.get(reverse("task", args=[self.crew.tasks[0].pk])))

    def ended(self) -> Run:
        """The run once the worker has let go of it."""
        self.thread.join(20)
        return Run.objects.get(pk=self.run_id)


@pytest.fixture
def at_work(crew, browser_of, monkeypatch) -> Callable[[], Post]:
    """Return a function that puts a worker to work; it ends with the test."""
    for name, value in (("HEARTBEAT_S", 0.05), ("SWEEP_S", 60.0)):
        monkeypatch.setattr(supervisor, name, value)
    monkeypatch.setattr(admission, "LOAD_PER_CORE", 1000.0)
    monkeypatch.setattr(tempfile, "tempdir", None)
    anna = make.UserFactory(username="anna")
    make.TeamAccessFactory(team=crew.team, user=anna)
    with living() as worker:

        def begin() -> Post:
            run = runs.claim_task(crew.tasks[0].pk, agent_id=crew.agents[0].pk, actor="system")
            thread = threading.Thread(target=worker.run, args=(run.pk,))
            thread.start()
            return Post(worker, browser_of(anna), crew, run.pk, thread)

        yield begin


def test_with_twenty_agents_in_the_background_all_end_their_requests_too_and_late_reports_start_nothing(at_work, playing):
    binary = playing("crowd", stored_s=0.2)
    post = at_work()
    until(lambda: Decision.objects.count() == 2)
    until(lambda: Step.objects.filter(kind="subtask").count() == AGENTS)
    assert "is being stopped" in words_of(post.press_stop())
    assert list(Decision.objects.values_list("status", "closed_why")) == [("withdrawn", "its run was stopped")] * 2
    run = post.ended()
    assert (run.status, run.reason, run.detail, run.pid) == ("killed", "stopped", "Stopped by anna.", 0)
    assert binary.alive() == []
    reported = [step.data["state"] for step in Step.objects.filter(kind="subtask")]
    assert reported.count("completed") == 3, "late notifications are shown"
    assert len(binary.told("prompt")) == 1, "and no turn is started"
    assert [(answer["behavior"], answer["interrupt"]) for answer in binary.told("answer")] == [("deny", True)]
    assert Decision.objects.count() == 2, "what it wanted then is not even asked"
    assert "Stopped by anna." in post.page()


def test_it_says_stopping_until_the_process_is_seen_gone_and_may_be_pressed_again(at_work, playing):
    """The process ignores the interrupt, the end of its input and TERM: only KILL ends it."""
    binary = playing("stubborn")
    post = at_work()
    until(lambda: Step.objects.filter(kind="said").exists())
    assert "is being stopped" in words_of(post.press_stop())
    again = post.press_stop()
    assert again.status_code == 200
    assert "is being stopped" in words_of(again)
    assert "Stopping…" in post.page()
    assert (Run.objects.get().status, len(binary.alive())) == ("running", 1), "no final state while it lives"
    assert post.ended().status == "killed"
    assert binary.alive() == []
    assert "Stopping…" not in post.page()
    refused = post.press_stop()
    assert (refused.status_code, "ended already" in words_of(refused)) == (409, True)


def test_pressed_before_the_process_has_answered_at_all_it_is_not_lost(at_work, playing):
    binary = playing("mute")
    post = at_work()
    until(lambda: binary.told("initialize"))
    post.press_stop()
    run = post.ended()
    assert (run.status, run.detail) == ("killed", "Stopped by anna.")
    assert binary.alive() == []
    assert binary.told("prompt") == []


def test_a_stopped_agent_takes_no_new_prompt(at_work, playing, monkeypatch):
    monkeypatch.setattr(claims, "_is_next", lambda run_id: False)  # the other agent's run is for another worker
    binary = playing("crowd", stored_s=0.2)
    post = at_work()
    until(lambda: Decision.objects.count() == 2)
    agent = post.crew.agents[0]
    stopped = post.desk.post(reverse("agent-action", args=[agent.pk]), {"do": "stop"}, follow=True)
    assert "takes no task and no prompt" in words_of(stopped)
    assert post.ended().status == "killed"
    messages.send(post.crew.team.pk, sender_agent_id=None, to=agent.name, body="Go on.", actor="user:anna")
    actions.reassign(post.crew.tasks[0].pk, agent_id=None, actor="user:anna")
    assert not Run.objects.filter(agent=agent).exclude(pk=post.run_id).exists()
    assert Message.objects.get().delivered_at is None
    assert len(binary.told("prompt")) == 1
