"""A check that cannot fail is no check: each guard is broken on purpose, and the auditor says so."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from bench.place import ROOT

NOTICED = {
    "fence": "a step of an old life",
    "fence, before the new life": "is of life 1, and life 2 had the run",
    "fence of an end": "ended by life 1, and life 2 had it",
    "dependencies": "was given out before T-1 was completed",
    "team at rest": "was started in a team that did not work",
    "requests closed": "is open, and the run that asks has ended",
    "lease": "was started while held",
    "claimed together": "was started while held",
    "first answer wins": "was answered 2 times",
    "delivered once": "reached life 1 2 times",
    "sweep": "is still pending",
    "completed once": "was completed twice",
    "counted once": "input_tokens is 202, counted 101",
    "process kill": "a process is left",
}


@pytest.fixture(scope="module")
def audits(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    home = tmp_path_factory.mktemp("guards")
    env = {**os.environ, "CREWDESK_HOME": str(home), "DATABASE_URL": "", "DJANGO_SETTINGS_MODULE": "dashboard.settings"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.broken_guards"], cwd=ROOT, env=env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("guard", NOTICED)
def test_with_the_guard_in_place_the_auditor_has_nothing_to_say(audits: dict[str, Any], guard: str) -> None:
    assert audits[guard]["intact"] == []


@pytest.mark.parametrize("guard", NOTICED)
def test_the_auditor_notices_that_the_guard_is_broken(audits: dict[str, Any], guard: str) -> None:
    assert any(NOTICED[guard] in line for line in audits[guard]["broken"]), audits[guard]["broken"]


def test_every_guard_that_is_broken_is_looked_for(audits: dict[str, Any]) -> None:
    assert set(audits) == set(NOTICED)
