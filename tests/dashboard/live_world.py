"""The other process that changes the database while pages are open: reads `[name, args]` lines, answers with JSON lines."""

import io
import json
import sys
import traceback
from collections.abc import Callable
from typing import Any

import django

django.setup()

from django.contrib.auth import get_user_model  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import transaction  # noqa: E402
from django.test import Client  # noqa: E402

from tasks_app import wake  # noqa: E402
from tasks_app.domain.events import EventKind  # noqa: E402
from tasks_app.models import Event, Task, Team, TeamAccess  # noqa: E402
from tasks_app.services import events, keys  # noqa: E402
from tests import factories  # noqa: E402
from tests.cases import acts  # noqa: E402
from tests.dashboard import live_story  # noqa: E402

story_begin, story_tell = live_story.begin, live_story.tell


def make() -> dict[str, Any]:
    """Two teams; a lead and a viewer of the first, somebody of the second only; three tasks each."""
    users = {name: factories.UserFactory(username=name) for name in ("lead", "viewer", "other")}
    atlas = factories.TeamFactory(name="Atlas", slug="atlas", lead=users["lead"], viewer=users["viewer"])
    borealis = factories.TeamFactory(name="Borealis", slug="borealis", lead=users["other"])
    tasks = [
        factories.TaskFactory(team=team, number=n, title=f"{team.name} {n}").pk for team in (atlas, borealis) for n in (1, 2, 3)
    ]
    return {"atlas": atlas.pk, "borealis": borealis.pk, "tasks": tasks, "sessions": {name: sign_in(name) for name in users}}


def sign_in(name: str) -> str:
    browser = Client()
    browser.force_login(get_user_model().objects.get(username=name), "django.contrib.auth.backends.ModelBackend")
    return browser.cookies["crewdesk_session"].value


def sign_out(session: str) -> None:
    browser = Client()
    browser.cookies["crewdesk_session"] = session
    browser.logout()


@transaction.atomic
def rename(task: int, title: str) -> int:
    team = Task.objects.get(pk=task).team_id
    Task.objects.filter(pk=task).update(title=title)
    events.append(team, EventKind.TASK_EDITED, keys={keys.task(task)})
    return last_seq(team)


def rename_silently(task: int, title: str) -> int:
    """The same with every wake-up lost."""
    publish, wake._publish = wake._publish, lambda *_: False
    try:
        return rename(task, title)
    finally:
        wake._publish = publish


def rename_unlogged(task: int, title: str) -> None:
    """A change without an event: what depends on the clock."""
    Task.objects.filter(pk=task).update(title=title)


@transaction.atomic
def touch(task: int) -> None:
    """An event that names the task, and nothing else."""
    events.append(Task.objects.get(pk=task).team_id, EventKind.TASK_EDITED, keys={keys.task(task)})


def describe(task: int, text: str) -> None:
    Task.objects.filter(pk=task).update(description=text)
    touch(task)


def storm(tasks: list[int], times: int) -> None:
    """`times` changes, each an event of its own."""
    for n in range(times):
        rename(tasks[n % len(tasks)], f"storm {n}")


@transaction.atomic
def add(team: int, title: str) -> int:
    number = Task.objects.filter(team_id=team).count() + 1
    task = factories.TaskFactory(team_id=team, number=number, title=title)
    events.append(team, EventKind.TASK_CREATED, keys={keys.tasks(team), keys.task(task.pk)})
    return int(task.pk)


@transaction.atomic
def drop(task: int) -> None:
    team = Task.objects.get(pk=task).team_id
    Task.objects.filter(pk=task).delete()
    events.append(team, EventKind.TASK_CANCELLED, keys={keys.tasks(team), keys.task(task)})


@transaction.atomic
def new_team(name: str, username: str) -> int:
    team = factories.TeamFactory(name=name, slug=name.lower(), lead=get_user_model().objects.get(username=username))
    events.append(team.pk, EventKind.TEAM_STARTED, keys={keys.TEAMS})
    return int(team.pk)


def new_team_silently(name: str, username: str) -> int:
    publish, wake._publish = wake._publish, lambda *_: False
    try:
        return new_team(name, username)
    finally:
        wake._publish = publish


@transaction.atomic
def ask(team: int, title: str, answered: bool = False) -> str:
    of = {"team": Team.objects.get(pk=team), "task": None, "run": None, "agent": None}
    decision = factories.DecisionFactory(**of, title=title, answered=answered)
    events.append(team, EventKind.DECISION_OPENED, keys={keys.inbox(team)}, decision_id=decision.pk)
    return str(decision.pk)


@transaction.atomic
def steps(team: int, detail: str) -> None:
    """A fast block's change; the log block shows details of runs."""
    from tasks_app.models import Run  # noqa: PLC0415 - only here

    Run.objects.filter(team_id=team).update(detail=detail)
    events.append(team, EventKind.RUN_STEPS, keys={f"run:of-{team}"})


def run_of(task: int) -> None:
    row = Task.objects.get(pk=task)
    factories.RunFactory(task=row, team=row.team, agent=factories.AgentFactory(team=row.team))


def take_access(team: int, username: str) -> None:
    TeamAccess.objects.filter(team_id=team, user__username=username).delete()


def give_access(team: int, username: str, level: str) -> None:
    user = get_user_model().objects.get(username=username)
    TeamAccess.objects.update_or_create(team_id=team, user=user, defaults={"level": level})


def command(*words: str) -> None:
    """`manage.py`, as a person at the terminal types it."""
    call_command(*words, stdout=io.StringIO())


def hint(team: int, *names: str) -> None:
    """A wake-up without an event."""
    wake.browsers(team, 0, names)


def junk() -> None:
    """What somebody else may publish."""
    for text in ("", "{", "[1]", "null", '{"team":"x"}', '{"team":1,"keys":{"a":1}}', '{"team":1e400}', "\x00\xff", "[" * 5000):
        wake._client().publish("crewdesk:team:1", text)


def last_seq(team: int) -> int:
    return int(Team.objects.get(pk=team).last_seq)


def bulk(team: int, count: int) -> None:
    """Many events at once, as a long absence leaves them."""
    with transaction.atomic():
        events.append(team, EventKind.NOTE)
        first = last_seq(team)
        row = Event.objects.get(team_id=team, seq=first)
        Event.objects.bulk_create(
            Event(team_id=team, seq=first + n, kind=row.kind, at=row.at, actor=row.actor, keys=row.keys) for n in range(1, count)
        )
        Team.objects.filter(pk=team).update(last_seq=first + count - 1)


def act(name: str, *args: Any) -> Any:
    """What happens in the cases that are shown in a browser."""
    return getattr(acts, name)(*args)


def serve() -> None:
    for line in sys.stdin:
        name, args = json.loads(line)
        function: Callable[..., Any] = globals()[name]
        try:
            print(json.dumps({"done": function(*args)}), flush=True)
        except Exception:
            print(json.dumps({"failed": traceback.format_exc()}), flush=True)


if __name__ == "__main__":
    serve()
