"""What a plan gives a new team: its tasks, in order, and what it shares from the start."""

from collections.abc import Sequence

from tasks_app.domain.errors import Invalid
from tasks_app.domain.plan_model import Plan
from tasks_app.models import Team
from tasks_app.services import context, tasks, teams
from tasks_app.services.tasks import Draft


def fill(team: Team, plan: Plan, *, actor: str) -> None:
    """Make the tasks and the shared entries of a plan. Raises `Invalid` where the tasks depend on each other in a circle."""
    _make_tasks(team, plan, actor)
    _share_context(team, plan, actor)


def _make_tasks(team: Team, plan: Plan, actor: str) -> None:
    ids = teams.agent_ids(team.pk)
    made: dict[int, int] = {}
    needs = plan.needs()
    for place in _in_order(needs):
        task = plan.tasks[place]
        draft = Draft(
            title=task.title,
            description=task.description,
            criteria=task.stored_criteria,
            depends_on=tuple(made[n] for n in needs[place]),
            key=task.key or "",
            type=task.type,
            role=task.role or "",
            assignee_id=ids[task.assignee] if task.assignee else None,
            priority=task.priority,
            expected_min=task.expected_minutes[0],
            expected_max=task.expected_minutes[1],
            budget_usd=task.budget.usd,
            budget_tokens=task.budget.tokens,
            run_budget_usd=task.run_budget.usd,
            run_budget_tokens=task.run_budget.tokens,
            plan_mode=task.plan_mode,
            attempts_allowed=plan.limits.attempts,
        )
        made[place] = tasks.create(team.pk, draft, actor=actor).pk


def _share_context(team: Team, plan: Plan, actor: str) -> None:
    by = context.Writer(actor)
    for name, schema in plan.context_schemas.items():
        context.set_schema(team.pk, name=name, schema=schema, by=by)
    for name, value in plan.context.items():
        context.share(team.pk, name=name, value=value, by=by)


def _in_order(needs: Sequence[Sequence[int]]) -> list[int]:
    """Places of the tasks, as written where possible, each after what it depends on."""
    order: dict[int, None] = {}
    left = list(range(len(needs)))
    while left:
        free = next((place for place in left if all(n in order for n in needs[place])), None)
        if free is None:
            raise Invalid("The tasks depend on each other in a circle.", field="tasks")
        order[free] = None
        left.remove(free)
    return list(order)
