"""`python -m bench`: every name has a module, says what it does, and leaves nothing behind."""

import contextlib
import json
import signal
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from bench import __main__ as main
from bench import chromium, cluster
from bench.place import ROOT
from bench.registry import BENCHES

NAMES = {
    "live",
    "fanout",
    "approve",
    "recover",
    "overhead",
    "record",
    "schedule",
    "pages",
    "parked",
    "chaos",
    "soak",
    "rolling",
    "flood",
}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "bench", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=120)


def test_every_benchmark_has_a_module_and_a_time_limit() -> None:
    assert set(BENCHES) >= NAMES
    for bench in BENCHES.values():
        assert find_spec(bench.module)
        assert 0 < bench.limit_s <= 4 * 3600


def test_the_page_on_performance_has_a_line_for_each() -> None:
    page = (ROOT / "docs" / "performance.md").read_text()
    assert [name for name in BENCHES if f"| `{name}` |" not in page] == []


def test_the_help_names_them_all() -> None:
    said = run("--help").stdout
    assert [name for name in BENCHES if name not in said] == []


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    done = run("spead")
    assert done.returncode == 2
    assert "record" in done.stderr


def test_a_small_one_prints_one_document_and_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(prefix="cb-") as folder:  # short: sockets lie in it
        monkeypatch.setenv("TMPDIR", folder)
        done = run("record", "--quick", "--json")
        found = json.loads(done.stdout)
        assert done.returncode == 0, done.stderr
        assert found["failures"] == []
        rate = next(figure for figure in found["figures"] if figure["unit"] == "steps/s")
        assert rate["p50"] > 0
        assert list(Path(folder).iterdir()) == []


def test_without_postgres_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(cluster.Path, "glob", lambda self, pattern: iter(()))
    with pytest.raises(cluster.NoPostgres, match="apt-get install postgresql"):
        cluster.binaries()


def test_without_chromium_it_says_how_to_get_it_and_is_no_result(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(sys, "argv", ["bench", "live", "--quick"])
    monkeypatch.setattr(main, "_one", lambda given: contextlib.ExitStack().enter_context(chromium.running()))
    monkeypatch.setattr(chromium.shutil, "which", lambda name: None)
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", "/nonexistent")
    assert main.main() == 2
    assert "apt-get install chromium" in capsys.readouterr().err


HANGS = """
import signal, sys, threading
from bench import __main__ as main
main.UNWIND_S = 1
signal.signal(signal.SIGALRM, main._too_long)
try:
    try:
        signal.raise_signal(signal.SIGALRM)
    finally:
        try:
            threading.Event().wait()  # a step of the way out that does not end
        finally:
            print("the next step", flush=True)
finally:
    threading.Thread(target=threading.Event().wait).start()  # Python would wait for it
    main.by_force()
"""


def test_what_hangs_when_time_is_up_is_broken_off_and_no_thread_keeps_it() -> None:
    done = subprocess.run([sys.executable, "-c", HANGS], cwd=ROOT, capture_output=True, text=True, timeout=30)
    assert done.stdout == "the next step\n"
    assert done.returncode == -signal.SIGALRM
    assert "ended by SIGALRM: it took too long" in done.stderr
