"""What the cases share: people with browsers, teams in a real folder, and workers whose agents are plays.

The cases, N01 to N38, are inputs that broke other systems; the tests here go through the pages or a whole worker.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from tasks_app.execution import drive
from tasks_app.services.runs import Held
from tests import factories as make
from tests.dashboard.conftest import browser_of, desk, lead, stranger, team  # noqa: F401
from tests.execution.conftest import crew, home  # noqa: F401
from tests.runners.claude.fakes import QUICK, Binary, Faked
from tests.services.fixtures import database_threads, hints  # noqa: F401


@pytest.fixture
def playing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Binary]]:
    """Return a function that lets every task be driven by a play of `fake_cli.py`; no process of it is left afterwards.

    Its `limits` shorten what the play lets the runner wait for in vain, such as a record of a call that it only asks about.
    """
    made: list[Binary] = []

    def play(name: str, **limits: float) -> Binary:
        made.append(Binary(tmp_path / "binary", name))
        monkeypatch.setattr(drive, "_runner", lambda _: Faked(made[-1], replace(QUICK, **limits)))
        return made[-1]

    yield play
    left = [pid for binary in made for pid in binary.alive()]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == []


@pytest.fixture
def anna(lead: Any, browser_of: Any) -> Callable[[Any], Client]:  # noqa: F811
    """Return a function that makes Anna a lead of a crew and gives her browser."""

    def leads(crew: Any) -> Client:  # noqa: F811
        make.TeamAccessFactory(team=crew.team, user=lead)
        return browser_of(lead)

    return leads


def driven(held: Held) -> None:
    """Drive this life to its end, as a worker does."""

    async def life() -> None:
        await asyncio.wait_for(drive.drive(held, await drive.open_port(held)), 60)

    asyncio.run(life())
