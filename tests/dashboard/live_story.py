"""What happens to a team, one service call at a time: run in the writing process while every page of the product is open."""

import time
from collections.abc import Callable
from typing import Any

from tasks_app.domain.statuses import DecisionKind, StepKind
from tasks_app.models import Agent, Decision, Run, Task, Team
from tasks_app.runners.port import Ask, StepDraft
from tasks_app.services import actions, budgets, context, decisions, messages, oncall, steps, task_edits, teams
from tasks_app.services.tasks import Draft
from tests import factories
from tests.payloads import PAYLOADS

BY = "user:lead"


def begin() -> dict[str, Any]:
    """Add to Atlas two agents, a running run with steps, a failed attempt, an open question. Return what pages there are."""
    team = Team.objects.get(slug="atlas")
    agents = [factories.AgentFactory(team=team, name=f"builder-{n}") for n in (1, 2)]
    first, second, third = Task.objects.filter(team=team).order_by("number")
    Task.objects.filter(pk=first.pk).update(status="in_progress", attempts=1, title="The running one")
    # its lease outlives the story, however slow the machine: an agent lost to the clock is no news to a live page
    run = factories.RunFactory(task=first, team=team, agent=agents[0], lease_until=time.time() + 86_400)
    for n in range(1, 25):
        factories.StepFactory(run=run, seq=n, text=f"step {n}")
    Run.objects.filter(pk=run.pk).update(last_seq=24)
    factories.RunFactory(task=second, team=team, agent=agents[1], failed=True)
    Task.objects.filter(pk=second.pk).update(attempts=1, failed=True)
    factories.TaskFactory(team=team, number=4, title="Waits for the third", needs=[third])
    Team.objects.filter(pk=team.pk).update(last_task_number=4)
    factories.DecisionFactory(run=run)
    ended = factories.TeamFactory(name="Ended", slug="ended", lead=team.access.get(level="lead").user)
    factories.TaskFactory(team=ended, done=True)
    return {
        "overview": "/",
        "inbox": "/inbox/",
        "request": f"/inbox/{Decision.objects.get(run=run).pk}/",
        "teams": "/teams/",
        "board": "/teams/atlas/",
        "table": "/teams/atlas/?view=table",
        "graph": "/teams/atlas/?view=graph",
        "running": f"/tasks/{first.pk}/",
        "failed": f"/tasks/{second.pk}/",
        "waiting": f"/tasks/{third.pk}/",
        "agent": f"/agents/{agents[0].pk}/",
        "other-agent": f"/agents/{agents[1].pk}/",
        "context": "/teams/atlas/context/",
        "history": "/history/",
        "ended": "/teams/ended/",
    }


def _team() -> Team:
    return Team.objects.get(slug="atlas")


def _task(number: int) -> Task:
    return Task.objects.get(team__slug="atlas", number=number)


def _run() -> Run:
    return Run.objects.get(team__slug="atlas", status="running")


def retitle() -> None:
    task_edits.edit(_task(3).pk, title="<script>alert(1)</script> & more", actor=BY)


def add_task() -> None:
    actions.add_task(_team().pk, Draft(title="Added while you look", criteria=("It is there.",), role="builder"), actor=BY)


def more_steps() -> None:
    run = _run()
    drafts = [StepDraft(StepKind.SAID, text=f"**now** {n}", context_tokens=162_000, context_window=200_000) for n in range(30)]
    steps.record(run.pk, run.fence, after=run.last_seq, drafts=drafts)


def ask() -> None:
    run = _run()
    decisions.open_for_run(run.pk, run.fence, Ask(DecisionKind.QUESTION, PAYLOADS[DecisionKind.QUESTION], tool_use_id="t1"))


def answer() -> None:
    row = Decision.objects.get(kind="permission", status="open")
    actions.answer(row.pk, choice="deny", note="no", version=row.version, payload_hash=row.payload_hash, actor=BY)


def snooze() -> None:
    actions.snooze(Decision.objects.get(kind="question", status="open").pk, minutes=5, actor=BY)


def message() -> None:
    messages.send(_team().pk, sender_agent_id=None, to="builder-1", body="Use the sandbox.\nPlease.", actor=BY)


def peer_message() -> None:
    sender = Agent.objects.get(name="builder-2", team=_team())
    messages.send(_team().pk, sender_agent_id=sender.pk, to="builder-1", body="done?", actor="agent:builder-2")


def pause() -> None:
    actions.pause_team(_team().pk, actor=BY)


def archive() -> None:
    teams.archive(Team.objects.get(slug="ended").pk, actor=BY)


def restore() -> None:
    teams.restore(Team.objects.get(slug="ended").pk, actor=BY)


def tell_on_call() -> None:
    notice = oncall.claim(after_min=0.0, origin="")
    assert notice is not None
    oncall.failed(notice, why="it answered 503")


def stop_agent() -> None:
    actions.stop_agent(Agent.objects.get(name="builder-2", team=_team()).pk, actor=BY)


def budget() -> None:
    budgets.set_team(_team().pk, usd="60.00", tokens=None, actor=BY)


def reassign() -> None:
    actions.reassign(_task(2).pk, agent_id=None, guidance="Use freezegun.", start="last", actor=BY)


def complete() -> None:
    actions.complete_by_hand(_task(3).pk, note="did it myself", actor=BY)


def reopen() -> None:
    actions.reopen(_task(3).pk, why="not good enough", actor=BY)


def cancel() -> None:
    actions.cancel(_task(4).pk, why="no longer needed", actor=BY)


def stop_run() -> None:
    actions.stop_run(_run().pk, actor=BY)


def resume_agent() -> None:
    actions.resume_agent(Agent.objects.get(name="builder-2", team=_team()).pk, actor=BY)


def share() -> None:
    context.share(_team().pk, name="port", value=8000, by=context.Writer("agent:builder-1"))


def share_again() -> None:
    context.share(_team().pk, name="port", value=8001, by=context.Writer("agent:builder-1"))


def unshare() -> None:
    context.delete(_team().pk, name="port", by=context.Writer(BY))


STORY: tuple[tuple[Callable[[], None], ...], ...] = (
    (retitle, add_task, more_steps, ask, answer, share),
    (tell_on_call, snooze, message, peer_message, pause, stop_agent, budget, archive, share_again),
    (reassign, complete, resume_agent, restore),
    (reopen, cancel, stop_run, unshare),
)
"""Chapters; what undoes something stands in another one than what it undoes."""


def tell(chapter: int) -> None:
    """Do everything of a chapter."""
    for step in STORY[chapter]:
        step()
