"""Matching: which ready task goes to which free agent."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import lru_cache

from django.db.models import Exists, OuterRef, QuerySet

from tasks_app.domain.statuses import AgentStatus, RunStatus
from tasks_app.models import Agent, Run, Task, Team
from tasks_app.selectors import queue
from tasks_app.selectors.compiled import Compiled
from tasks_app.selectors.written import OPEN_RUNS
from tasks_app.services import overruns
from tasks_app.services.agents import may_take, roles_of, takes


def _free(team_id: int) -> QuerySet[Agent]:
    """The agents that may be given a task: active ones that have none."""
    busy = Run.objects.filter(team_id=team_id, agent_id=OuterRef("pk"), status__in=OPEN_RUNS)
    return Agent.objects.filter(team_id=team_id, status=AgentStatus.ACTIVE.value).exclude(Exists(busy)).defer("handover")


@lru_cache(maxsize=64)
def _fitting(most: int) -> Compiled:
    """The first ready tasks of a team that some agents, who have some roles, may take, but for those with some keys."""
    return Compiled(lambda team_id, ids, roles, but: queue.ready(team_id).filter(takes(ids, roles)).exclude(pk__in=but)[:most])


_FREE = Compiled(_free)


def pairs(team: Team, *, most: int) -> list[tuple[Task, Agent]]:
    """Return which task goes to which of the free agents: at most so many, in the order of the tasks.

    Hundreds may be ready where one agent is free, so only as many are read as may be given, of those that a free agent may take;
    where some of these want the same agent, those for the others are read after them.
    """
    free, given = _FREE.found(Agent, team.pk), list[tuple[Task, Agent]]()
    while free and len(given) < most:
        fitting = _fitting(min(len(free), most - len(given)))
        found = fitting.found(Task, team.pk, [agent.pk for agent in free], roles_of(free), [task.pk for task, _ in given])
        if not found or (not given and overruns.holds(team, found)):
            break
        tried = _tried(found)
        for task in found:
            if agent := choose(task, free, tried=tried[task.pk]):
                free.remove(agent)
                given.append((task, agent))
    return given


def choose(task: Task, free: Sequence[Agent], *, tried: Collection[int]) -> Agent | None:
    """Return the free agent that gets the task, or None: its assignee; else one of its role, or anybody but the lead agent.

    Those who have not `tried` it yet (ids) come first.
    """
    suitable = [agent for agent in free if may_take(agent, task)]
    return min(suitable, key=lambda agent: (agent.pk in tried, agent.used_tokens, agent.position), default=None)


def _tried(ready: Sequence[Task]) -> dict[int, set[int]]:
    """Who has failed at each of these tasks: task id → ids of agents."""
    tried: dict[int, set[int]] = defaultdict(set)
    if open_to_all := [task.pk for task in ready if not task.assignee_id]:
        failed = Run.objects.filter(task_id__in=open_to_all, status=RunStatus.FAILED.value)
        for task_id, agent_id in failed.values_list("task_id", "agent_id"):
            tried[task_id].add(agent_id)
    return tried
