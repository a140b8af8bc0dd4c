"""New team: paste or upload a plan, check it, look at the preview, start. Nothing runs before the last button."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from dashboard.forms import limits
from dashboard.forms import plans as forms
from dashboard.forms.plans import EXAMPLE, Given
from dashboard.http import post_only, shows
from dashboard.idempotency import key_of
from dashboard.panels.graph import Node, drawing
from dashboard.views.page import Page
from tasks_app.domain import criteria, graph, layers
from tasks_app.domain import plan as plans
from tasks_app.domain.errors import DomainError, Invalid
from tasks_app.domain.estimate import Total
from tasks_app.domain.plan_model import Plan, Task
from tasks_app.domain.task_review import Finding
from tasks_app.management import credentials
from tasks_app.selectors import estimates
from tasks_app.services import actions, judges

AT_FIELDS = ("file", "base", "rehearsal", *limits.FIELDS)
"""Fields of the form at which the page says what is wrong with them; what is wrong with the plan stands in a table."""


@dataclass(frozen=True)
class Preview:
    """What a plan will do, before it does it."""

    plan: Plan
    tasks: tuple[tuple[int, Task], ...]
    drawing: dict[str, Any] | None  # what waits for what, as a picture; None: nothing waits for anything
    first: tuple[str, ...]  # labels of the tasks that start at once
    at_once: int  # agents that may work at the same time
    roles: int
    shortest_min: float  # minutes along the longest chain, by the lower estimates
    longest_min: float
    workspace: str
    short_budget: str  # why the budget will probably not do; empty: nothing speaks against it
    estimate: Total
    findings: tuple[Finding, ...]  # what could be written better; never in the way
    commands: tuple[tuple[str, str], ...]  # (task, command): what the server will run to check criteria
    judged: int  # criteria that wait for the lead


@shows
def new_team(request: HttpRequest) -> HttpResponse:
    """Show the empty form, or the example plan in it (`?example=1`)."""
    page = Page.open(request, "team-new")
    given = Given(rehearsal=_must_rehearse())
    if request.GET.get("example") and EXAMPLE.is_file():
        given = Given(EXAMPLE.read_text("utf-8"), str(EXAMPLE.parent), rehearsal=True)
    return _render(page, given)


@post_only
def create(request: HttpRequest) -> HttpResponse:
    """Check a plan (`do=check`), or start exactly the one that was checked (`do=start`)."""
    page = Page.open(request, "team-new")
    given = forms.typed(request)
    try:
        given = forms.chosen(request, given)
        plan, source = forms.check(given, anywhere=page.viewer.superuser)
        judges.must_exist(plan)
        forms.check_workspace(plan, source, given)
        if not given.rehearsal and _must_rehearse():
            raise Invalid(
                "There is no API key and no signed-in Claude Code: tick Rehearsal, or set ANTHROPIC_API_KEY.", field="rehearsal"
            )
        if request.POST.get("do") != "start" or given.checked != given.digest:
            return _render(page, given, preview=preview(plan, source.base, rehearsal=given.rehearsal))
        team = actions.start_team(
            plan,
            source=source,
            user_id=page.viewer.user_id,
            rehearsal=given.rehearsal,
            actor=page.viewer.actor,
            idempotency_key=key_of(request),
        )
    except DomainError as problem:
        return _render(page, given, problem=problem)
    messages.success(request, f"{team.name} is started.")
    return redirect("team", team.slug)


def preview(plan: Plan, base: Path, *, rehearsal: bool) -> Preview:
    """Return what the plan will do. Durations are along the longest chain of dependencies, with nobody waiting for anybody."""
    deps = dict(enumerate(plan.needs()))
    free = [task.label for place, task in enumerate(plan.tasks) if not deps[place]]
    windows = [_window(task) for task in plan.tasks]
    at_once = min(plan.limits.parallel, len(plan.agents))
    space = plan.workspace
    where = str((base / space.path).resolve()) if space.path else ""
    how = {"copy": "a copy of", "in_place": "in place:", "git": "a clone of"}[space.mode]
    return Preview(
        plan=plan,
        tasks=tuple(enumerate(plan.tasks, 1)),
        drawing=_drawing(plan) if any(deps.values()) else None,
        first=tuple(free[:at_once]),
        at_once=at_once,
        roles=len({agent.role for agent in plan.agents}),
        shortest_min=graph.critical_path(deps, {place: low for place, (low, _) in enumerate(windows)}).total,
        longest_min=graph.critical_path(deps, {place: high for place, (_, high) in enumerate(windows)}).total,
        workspace=f"{how} {where}" if where else "a new, empty folder",
        estimate=estimates.of_plan(plan, rehearsal=rehearsal),
        short_budget=estimates.short_budget(plan, rehearsal=rehearsal),
        findings=plans.review(plan),
        commands=tuple((task.title, one) for task in plan.tasks for one in criteria.commands(task.stored_criteria)),
        judged=sum(
            one.proof is criteria.Proof.JUDGE and (one.value == criteria.LEAD or bool(one.person))
            for task in plan.tasks
            for one in criteria.read(task.stored_criteria)
        ),
    )


def _drawing(plan: Plan) -> dict[str, Any]:
    edges = tuple((needed + 1, place) for place, needs in enumerate(plan.needs(), 1) for needed in needs)
    picture = layers.drawn(tuple(range(1, len(plan.tasks) + 1)), edges)
    nodes = [
        Node(*picture.corners[number], label=f"T-{number}", title=task.title, who=task.assignee or task.role or "any agent")
        for number, task in enumerate(plan.tasks, 1)
    ]
    return drawing(picture, nodes)


def _window(task: Task) -> tuple[float, float]:
    low, high = task.expected_minutes
    return float(low), float(high)


def _must_rehearse() -> bool:
    return settings.REHEARSE or not credentials.anywhere()


def _render(page: Page, given: Given, *, preview: Preview | None = None, problem: DomainError | None = None) -> HttpResponse:
    in_plan = isinstance(problem, Invalid) and problem.field not in AT_FIELDS
    context: dict[str, Any] = {
        "given": given,
        "preview": preview,
        "limits": limits.shown(preview.plan if preview else None, given.limits),
        "ask_all": limits.ASK_ALL in given.limits,
        "must_rehearse": _must_rehearse(),
        "problems": problem.problems if isinstance(problem, Invalid) and in_plan else (),
        "has_example": EXAMPLE.is_file(),
        "rehearsal": bool(preview and given.rehearsal),
    }
    if in_plan:
        context["notice"] = None  # the table says it all
    return page.render("pages/new_team.html", context, problem=problem, fields=(*AT_FIELDS, "plan"))
