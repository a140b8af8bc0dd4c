"""The clock of the chaos benchmark: the time of day jumps, for Python and for SQLite; what measures durations does not."""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.clock import Clock, NoClock

LOOK = """
import json, sqlite3, sys, time
database = sqlite3.connect(":memory:")
for line in sys.stdin:
    time.sleep(0.001)
    julian = database.execute("SELECT (julianday('now') - 2440587.5) * 86400.0").fetchone()[0]
    print(json.dumps([time.time(), julian, time.monotonic()]), flush=True)
"""
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="Debian: apt-get install gcc libc6-dev")


@needs_compiler
def test_the_time_of_day_jumps_at_once_and_the_monotonic_clock_does_not(tmp_path: Path) -> None:
    clock = Clock.make(tmp_path / "clock")
    with subprocess.Popen([sys.executable, "-c", LOOK], env=clock.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for offset in (0, 3600, -3600):
            clock.set(offset)
            process.stdin.write(b"now\n")
            process.stdin.flush()
            of_day, of_database, monotonic = json.loads(process.stdout.readline())
            assert of_day - time.time() == pytest.approx(offset, abs=5)
            assert of_database - time.time() == pytest.approx(offset, abs=5)
            assert monotonic == pytest.approx(time.monotonic(), abs=5)
        process.stdin.close()


def test_without_a_compiler_it_says_what_it_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoClock, match="apt-get install gcc"):
        Clock.make(tmp_path / "clock")
    assert not (tmp_path / "clock").exists()
