"""Plays a small life of a run twice, with a guard of the product in place and with it broken, and audits both; prints JSON.

`python -m tests.bench.broken_guards` with an empty CREWDESK_HOME. Output: {guard: {"intact": [violations], "broken": […]}}.
"""

import contextlib
import json
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.core.management import call_command  # noqa: E402

from bench import audit, leftovers  # noqa: E402
from tasks_app.domain.statuses import TeamStatus  # noqa: E402
from tasks_app.domain.usage import Tokens  # noqa: E402
from tasks_app.management import leftovers as ours  # noqa: E402
from tasks_app.models import Run, Task, Team  # noqa: E402
from tasks_app.runners.claude import processes  # noqa: E402
from tasks_app.services import claims, decisions, recovery, rows, runs, steps, tasks, usage  # noqa: E402
from tests.bench import guard_stories as stories  # noqa: E402

PATIENCE_S = 2.0
PENDING = ("status__in", "status", "due_at__lte")
"""What a claim looks for: that nobody has the run."""


class Blind:
    """A model whose `filter` does not see some of its conditions: what a guard would be if somebody had forgotten it."""

    def __init__(self, model: Any, *unseen: str) -> None:
        self._model, self._unseen = model, unseen
        self.objects = self

    def filter(self, *conditions: Any, **named: Any) -> Any:
        return self._model.objects.filter(*conditions, **{k: v for k, v in named.items() if k not in self._unseen})

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model.objects, name)


class Whatever(int):
    """A fence that is as old as anybody wants it."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


def whoever_asks(run_id: str, recorded: Callable[[str], Run | None] = rows.recorded) -> Run:
    run = recorded(run_id)
    assert run is not None
    run.fence = Whatever(run.fence)
    return run


@contextlib.contextmanager
def claimed_in_any_state() -> Iterator[None]:
    """Nobody looks whether a run waits, neither when it is looked up nor when it is taken."""

    def named(run_ids: Sequence[str], *, along: bool) -> dict[int, list[str]]:
        return {team: list(run_ids) for team in Run.objects.filter(pk__in=run_ids).values_list("team_id", flat=True)}

    with patch.object(claims, "Run", Blind(Run, *PENDING)), patch.object(claims, "_by_team", named):
        yield


@contextlib.contextmanager
def a_shell_left_behind(team: Team) -> Iterator[None]:
    """A process that carries the marker of a run that nobody runs any more."""
    env = {"CREWDESK_RUN": f"{stories.first_run(team)}:1", "HOME": f"{settings.HOME}/runs/x", "PATH": os.defpath}
    with subprocess.Popen(["sleep", "60"], env=env, start_new_session=True) as shell:
        try:
            yield
        finally:
            shell.kill()


def kept_shell(team: Team) -> list[str]:
    """What is left on the host after the desk has cleaned up."""
    with a_shell_left_behind(team):
        ours.end()
        return leftovers.processes(Path(settings.HOME), patience_s=PATIENCE_S)


async def kill_nothing(run_id: str, **given: Any) -> bool:
    return True


def forget(known: Tokens | None, row: Tokens) -> tuple[Tokens, Tokens]:
    return row, row


def let_anybody(run_id: str, fence: int, **changes: Any) -> None:
    Run.objects.filter(pk=run_id).update(**changes or {"id": run_id})


GUARDS: dict[str, tuple[Callable[[Team], None], Callable[[], Any]]] = {
    "fence": (stories.a_frozen_worker_goes_on, lambda: patch.object(steps.rows, "recorded", whoever_asks)),
    "fence, before the new life": (stories.a_frozen_worker_is_first, lambda: patch.object(steps.rows, "recorded", whoever_asks)),
    "fence of an end": (stories.a_frozen_worker_ends_its_run, lambda: patch.object(runs, "guard", let_anybody)),
    "dependencies": (stories.a_task_is_given_out_too_early, lambda: patch.object(tasks, "WAITS", decisions.Q(pk=None))),
    "team at rest": (
        stories.a_team_is_paused,
        lambda: patch.object(claims, "TeamStatus", SimpleNamespace(ACTIVE=TeamStatus.PAUSED)),
    ),
    "requests closed": (stories.a_run_fails_while_it_asks, lambda: patch.object(decisions, "withdraw_all", lambda **given: 0)),
    "lease": (stories.a_nudge_comes_twice, claimed_in_any_state),
    "claimed together": (stories.two_workers_take_the_same_along, claimed_in_any_state),
    "first answer wins": (stories.two_people_answer, lambda: patch.object(decisions, "must_be_open", lambda decision: None)),
    "delivered once": (
        stories.an_answer_is_fetched_twice,
        lambda: patch.object(decisions, "usable", lambda fence: decisions.Q()),
    ),
    "sweep": (stories.a_nudge_is_lost, lambda: patch.object(recovery, "renudge", list)),
    "completed once": (stories.a_task_is_completed_by_two, lambda: patch.object(tasks, "Task", Blind(Task, "status__in"))),
    "counted once": (stories.a_message_is_said_in_two_rows, lambda: patch.object(usage, "merge", forget)),
}


SIZES = {stories.two_workers_take_the_same_along: 3, stories.a_task_is_given_out_too_early: 2}


def play(story: Callable[[Team], None]) -> list[str]:
    team = stories.a_team(SIZES.get(story, 1))
    try:
        story(team)
        return audit.audit().violations
    finally:
        team.delete()


def main() -> dict[str, Any]:
    call_command("migrate", verbosity=0, interactive=False)
    found: dict[str, Any] = {}
    for name, (story, breaking) in GUARDS.items():
        found[name] = {"intact": play(story)}
        with breaking():
            found[name]["broken"] = play(story)
    team = stories.a_team()
    found["process kill"] = {"intact": kept_shell(team)}
    with patch.object(processes, "kill_run", kill_nothing):
        found["process kill"]["broken"] = kept_shell(team)
    return found


if __name__ == "__main__":
    print(json.dumps(main()))
