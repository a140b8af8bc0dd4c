"""What asks "are you sure?": a button that opens a box, in it what would happen, the act itself, and the safe way out.

The box is a popover of the browser's own: it opens, closes (also with Escape) and puts the focus on the safe button without
any script.
"""

from typing import Any

from django import template
from django.template import Context

from dashboard.templatetags.crew_format import plural
from tasks_app.selectors.agents import AgentCard
from tasks_app.selectors.attempts import Attempt
from tasks_app.selectors.tasks import TaskCard
from tasks_app.selectors.teams import TeamSummary

register = template.Library()
STAYS = "What was changed in the workspace stays."


@register.inclusion_tag("parts/ask_first.html", takes_context=True)
def ask_first(
    context: Context,
    url_name: str,
    key: object,
    word: str,
    *,
    opener: str,
    says: str,
    keep: str,
    sign: str = "square",
    css: str = "",
    **fields: object,
) -> dict[str, Any]:
    """Return the button `opener` and its box: `word` as a question, what would happen (`says`), `word` and `keep`."""
    box = "-".join(("ask", url_name, str(key), *(str(value) for value in fields.values())))
    look = {"word": word, "opener": opener, "says": says, "keep": keep, "sign": sign, "css": css, "box": box}
    return {**look, "url_name": url_name, "key": key, "fields": fields, "csrf_token": context.get("csrf_token")}


@register.filter
def stopping_agent(card: AgentCard) -> str:
    """`T-38 goes back to Queued. What was changed in the workspace stays.`"""
    if card.run is None:
        return "It takes no task until you let it work again."
    open_ = " Its open request is withdrawn." if card.ask else ""
    return f"{card.run.label} goes back to Queued.{open_} {STAYS} It takes no task until you let it work again."


@register.filter
def stop_attempt(run: Attempt) -> str:
    """`Stop attempt 2`."""
    return f"Stop attempt {run.number}"


@register.filter
def stopping_run(run: Attempt, card: TaskCard) -> str:
    """`builder-1 stops now. T-38 waits until you start it again. …`"""
    open_ = " Its open request is withdrawn." if card.ask else ""
    return f"{run.agent} stops now. {card.label} waits until you start it again.{open_} {STAYS}"


@register.filter
def stopping_team(team: TeamSummary) -> str:
    """`2 agents stop now. 2 tasks in flight go back to Queued. 1 open request is withdrawn. …`"""
    parts = []
    if team.open_runs:
        one = team.open_runs == 1
        parts.append(f"{plural(team.open_runs, 'agent')} stop{'s' if one else ''} now.")
        parts.append(f"{plural(team.open_runs, 'task')} in flight go{'es' if one else ''} back to Queued.")
    if team.waiting:
        parts.append(f"{plural(team.waiting, 'open request')} {'is' if team.waiting == 1 else 'are'} withdrawn.")
    return " ".join([*parts, "Nothing new starts until you resume it.", *([STAYS] if team.open_runs else [])])
