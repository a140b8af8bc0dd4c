"""The chaos benchmark at a small size: the command itself, its killer, its story and its auditor."""

import json
import os
import subprocess
import sys

import pytest

from bench.place import ROOT


@pytest.mark.engine
@pytest.mark.chaos
@pytest.mark.parametrize("seed", range(1, 1 + int(os.environ.get("CREWDESK_TEST_CHAOS_SEEDS", "1"))))
def test_a_team_survives_whatever_is_killed_and_the_books_are_right(seed: int) -> None:
    command = [sys.executable, "-m", "bench", "chaos", "--tasks", "20", "--seed", str(seed), "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=400)
    report = json.loads(done.stdout)
    figures = {figure["name"]: figure.get("p50") for figure in report["figures"]}
    assert report["failures"] == [], report["notes"]
    assert figures["tasks completed, each exactly once"] == 20
    assert figures["acts of the killer whose effect was seen"] >= 3, "hardly anything was killed, so hardly anything is proved"
    assert figures["runs compared to the last token and cent"] > 0
