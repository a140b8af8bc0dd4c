"""The page of one message of an attempt: fork the attempt from it, or put the files back to how they were at it."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET

from dashboard.access import require_team
from dashboard.forms import fields
from dashboard.http import post_only
from dashboard.idempotency import key_of
from dashboard.views.act import Act, choose, perform
from dashboard.views.page import Page
from tasks_app.domain.errors import DomainError, NotFound
from tasks_app.selectors import attempts, steps
from tasks_app.services import forks, rewinds
from tasks_app.services.forks import Point

GONE = "There is no such message, or you have no access to it."
FIELDS = {"fork": ["guidance"]}


@require_GET
def message(request: HttpRequest, id: str, seq: int) -> HttpResponse:
    """Show a message, with what can be done from it."""
    page = Page.open(request, "message")
    team_pk, task_pk = _where(page, id)
    return _render(page, id, seq, team_pk, task_pk)


@post_only
def act(request: HttpRequest, id: str, seq: int) -> HttpResponse:
    """Fork, put the files back, or undo that."""
    page = Page.open(request, "message")
    team_pk, task_pk = _where(page, id, act=True)
    forking = request.POST.get("do") == "fork"
    return perform(
        request,
        lambda: choose(request, _acts(request, id, seq, team_pk, page.viewer.actor))(),
        done=lambda: redirect("task", task_pk) if forking else redirect("run-message", id, seq),
        refused=lambda problem: _render(page, id, seq, team_pk, task_pk, problem=problem),
    )


def _where(page: Page, run_id: str, *, act: bool = False) -> tuple[int, int]:
    where = steps.where(run_id)
    if where is None or not page.viewer.can_see(where[0]):
        raise NotFound(GONE)
    require_team(page.viewer, where[0], act=act)
    return where[0], where[1]


def _acts(request: HttpRequest, run_id: str, seq: int, team_pk: int, actor: str) -> dict[str, Act]:
    post = request.POST

    def fork() -> str:
        agent, guidance = fields.pk(post, "agent"), fields.text(post, "guidance")
        files, key = post.get("files", "now"), key_of(request)
        forks.fork(run_id, at=seq, agent_id=agent, guidance=guidance, files=files, actor=actor, idempotency_key=key)
        return "Forked: the new attempt starts as soon as the agent is free. The old one stays as it is."

    def rewind() -> str:
        done = rewinds.rewind(run_id, at=seq, seen=post.get("seen", "")[:64] or "-", actor=actor)
        if not done.files:
            return "The files stand as they did at this prompt already."
        return f"The files were put back: {done.summary}. It can be undone."

    def undo() -> str:
        return f"Undone: {rewinds.undo(team_pk, actor=actor, idempotency_key=key_of(request))} files are as they were before."

    return {"fork": fork, "rewind": rewind, "undo": undo}


def _render(page: Page, run_id: str, seq: int, team_pk: int, task_pk: int, *, problem: DomainError | None = None) -> HttpResponse:
    point, task = forks.point(run_id, seq), attempts.page(task_pk)
    if task is None:
        raise NotFound(GONE)
    may_act, post = page.viewer.can_act(team_pk), page.request.POST
    agent = post.get("agent") or str(point.run.agent_id)
    context: dict[str, Any] = {
        "run": point.run,
        "step": point.step,
        "is_prompt": point.step.kind == "prompt",
        "moment": point.moment,
        "card": task.card,
        "slug": task.team_slug,
        "team_name": task.team_name,
        "rehearsal": task.rehearsal,
        "open": attempts.open_run(task_pk),
        "members": attempts.members(team_pk),
        "chosen": int(agent) if agent.isascii() and agent.isdigit() and len(agent) < 19 else 0,
        "posted": {"guidance": post.get("guidance", "")[: fields.MAX_TEXT], "files": post.get("files", "now")},
        "may_act": may_act,
        "can_undo": may_act and rewinds.last(team_pk) is not None,
        **(_preview(point) if may_act else {}),
    }
    return page.render("pages/message.html", context, problem=problem, fields=FIELDS.get(post.get("do", ""), ()))


def _preview(point: Point) -> dict[str, Any]:
    """Return what putting the files back would change, or why it cannot be; nothing for what is no prompt."""
    if point.step.kind != "prompt":
        return {}
    try:
        return {"preview": rewinds.preview(point.run.pk, at=point.step.seq)}
    except DomainError as problem:
        return {"no_preview": problem.message}
