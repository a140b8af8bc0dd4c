"""`manage.py task … add` and the options that change what a task says and what it waits for."""

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from tasks_app.domain import criteria_lines
from tasks_app.domain.errors import NotFound
from tasks_app.domain.task_review import Finding
from tasks_app.domain.text import one_line
from tasks_app.management.cli import actor, find_task
from tasks_app.selectors import journal
from tasks_app.selectors.tasks import TaskCard
from tasks_app.selectors.teams import TeamSummary
from tasks_app.services import actions, drafts, task_edits, tasks
from tasks_app.services.tasks import Draft

ADD = "add"
WORDS = ("title", "description", "criterion", "role", "assignee", "priority", "minutes")


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options that a new task and a change of one that waits have in common."""
    words = parser.add_argument_group("a new task (`add`), or a change of one that waits")
    words.add_argument("--title", help="what is to be done, in a few words")
    words.add_argument("--description", help="what to build, in which files, what not to touch")
    words.add_argument(
        "--criterion", action="append", metavar="TEXT", help="how to see that it is done; `check: COMMAND`; again for more"
    )
    words.add_argument("--role", help="who may do it; empty: any agent")
    words.add_argument("--assignee", metavar="AGENT", help="who must do it; empty: whoever fits")
    words.add_argument("--priority", type=int, help="0 (first) to 9")
    words.add_argument("--minutes", metavar="5-30", help="how long it should take")
    words.add_argument("--depends-on", action="append", default=[], metavar="T-3", help="let it wait for this one too")
    words.add_argument("--unblock", action="append", default=[], metavar="T-3", help="let it no longer wait for this one")


def add(team: TeamSummary, given: dict[str, Any]) -> tuple[str, Sequence[Finding]]:
    """Add a task; return its label and what could be written better in it."""
    needs = tuple(find_task(team, label).pk for label in given["depends_on"])
    draft = Draft(**{"title": "", **_fields(team, given, before=())}, depends_on=needs)
    task = actions.add_task(team.pk, draft, actor=actor())
    return task.label, drafts.findings(draft, label=task.label, task_id=task.pk)


def change(team: TeamSummary, card: TaskCard, given: dict[str, Any]) -> Sequence[Finding]:
    """Change what the options name; return what could be written better, where words were changed."""
    found: Sequence[Finding] = ()
    if any(given[name] is not None for name in WORDS):
        fields = _fields(team, given, before=tasks.get(card.pk).criteria)
        found = drafts.findings(drafts.of(actions.edit_task(card.pk, fields, actor=actor())), label=card.label, task_id=card.pk)
    if given["depends_on"]:
        needs = [find_task(team, label).pk for label in given["depends_on"]]
        task_edits.add_dependencies(card.pk, needs=needs, actor=actor())
    for label in given["unblock"]:
        actions.unblock(card.pk, needs=find_task(team, label).pk, actor=actor())
    return found


def agent(team: TeamSummary, name: str, *, field: str) -> int:
    """Return the agent of that name. Raises `NotFound` that names those there are."""
    found = journal.agent_named(team.pk, name)
    if found is None:
        known = ", ".join(journal.agent_names(team.pk))
        raise NotFound(f"{team.name} has no agent “{one_line(name, 40)}”. There are: {known}.", field=field)
    return found


def _fields(team: TeamSummary, given: dict[str, Any], *, before: Sequence[Any]) -> dict[str, Any]:
    named = {name: given[name] for name in ("title", "description", "role", "priority") if given[name] is not None}
    if given["criterion"] is not None:
        named["criteria"] = criteria_lines.read("\n".join(one_line(one, 3000) for one in given["criterion"]), before=before)
    if given["assignee"] is not None:
        named["assignee_id"] = agent(team, given["assignee"], field="assignee") if given["assignee"] else None
    if given["minutes"] is not None:
        named["expected_min"], named["expected_max"] = drafts.minutes(given["minutes"])
    return named
