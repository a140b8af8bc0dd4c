"""What happens to Atlas while its pages stand open in a browser; called in the process of tests/dashboard/live_world.py."""

from typing import Any

from tasks_app.domain.statuses import DecisionKind, Reason
from tasks_app.execution import outcome
from tasks_app.models import Agent, Decision, Run, Team
from tasks_app.runners.port import Outcome, OutcomeKind
from tasks_app.services import actions, decisions, task_edits, tasks
from tests.services import world

CREW = ("engineer", "tester", "writer", "drawer", "reader", "announcer", "mover", "away")
"""Each has a role of its own, so that nobody takes another's task; `away` is stopped."""


def crew() -> list[int]:
    """Give Atlas its agents; returns their primary keys."""
    team = Team.objects.get(slug="atlas")
    for place, name in enumerate(CREW):
        Agent.objects.get_or_create(team=team, name=name, role=name, position=place)
    Agent.objects.filter(team=team, name="away").update(status="stopped")
    Team.objects.filter(pk=team.pk).update(limits={"parallel": 10}, last_task_number=3)
    return list(Agent.objects.filter(team=team).order_by("position").values_list("pk", flat=True))


def asking(kind: str, agent: str) -> dict[str, Any]:
    """Let an agent work on a new task and ask; returns where the request, the task and the run are."""
    team = Team.objects.get(slug="atlas")
    task = tasks.create(team.pk, tasks.Draft(title=f"Asks for a {kind}", role=agent), actor="system")
    found = Agent.objects.get(team=team, name=agent)
    held = world.World(team, (found,), (task,)).claim()
    decision = decisions.open_for_run(held.id, held.fence, world.ask(DecisionKind(kind)))
    return {"id": decision.pk, "task": task.pk, "run": held.id, "agent": found.pk}


def take_back(decision: str) -> None:
    """Claude Code cancels its request."""
    decisions.withdraw(decision, why="the agent took the request back")


def seen_gone(run: str) -> None:
    """The worker sees the process of a run gone."""
    row = Run.objects.get(pk=run)
    held = outcome.Held(row.pk, row.fence, row.team_id, row.task_id, row.agent_id)
    outcome.settle(held, Outcome(OutcomeKind.STOPPED, Reason.STOPPED), leaving_for=None)


def answer_of(decision: str) -> list[str]:
    """Return status, choice and who gave it."""
    row = Decision.objects.get(pk=decision)
    return [row.status, row.choice, row.answered_by]


def status_of(run: str) -> str:
    """Return the state of a run."""
    return str(Run.objects.get(pk=run).status)


def blocked() -> list[int]:
    """Make two tasks, the second blocked by the first; returns both."""
    team = Team.objects.get(slug="atlas")
    made = [tasks.create(team.pk, tasks.Draft(title=title, role="away"), actor="system") for title in ("First", "Then")]
    task_edits.add_dependencies(made[1].pk, needs=[made[0].pk], actor="user:lead")
    return [task.pk for task in made]


def complete(task: int) -> None:
    """A task is completed by hand."""
    actions.complete_by_hand(task, actor="user:lead")


def send_back(decision: str) -> None:
    """Somebody else sends a plan back."""
    world.answer(decisions.get(decision), "revise", note="Smaller steps.", by="other")
