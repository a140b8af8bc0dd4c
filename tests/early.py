"""What mostly waits is begun when the tests have been collected, and looked at when its test comes: it waits beside others.

A test names its module by `@pytest.mark.early(module)`. `python -m module` runs the story and prints what came of it as JSON.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
PATIENCE_S = 240.0
_begun: dict[str, subprocess.Popen[bytes]] = {}


def _file(config: pytest.Config, module: str, ending: str) -> Path:
    """In a folder that all processes of a test run share, and that pytest removes."""
    own = config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    return (own.parent if hasattr(config, "workerinput") else own) / f"{module}.{ending}"


def begin(config: pytest.Config, modules: Iterable[str]) -> None:
    """Begin each story once, in the first process of a test run."""
    if os.environ.get("PYTEST_XDIST_WORKER", "gw0") != "gw0":
        return
    for module in sorted(set(modules)):
        with _file(config, module, "out").open("wb") as out, _file(config, module, "err").open("wb") as err:
            _begun[module] = subprocess.Popen([sys.executable, "-m", module], cwd=ROOT, stdout=out, stderr=err)


def end(config: pytest.Config) -> None:
    """Wait for the stories that were begun here: a test in another process may still look at one."""
    for module, process in _begun.items():
        process.wait(PATIENCE_S)
        _file(config, module, "end").write_text(str(process.returncode))


def told(config: pytest.Config, module: str) -> dict[str, Any]:
    """Return what the story says, as soon as it is over; fails with its error output where it says nothing."""
    out, until = _file(config, module, "out"), time.monotonic() + PATIENCE_S
    while not (text := out.read_text("utf-8") if out.exists() else "").endswith("}\n"):
        ended = module in _begun and _begun[module].poll() is not None
        if ended or _file(config, module, "end").exists() or time.monotonic() > until:
            pytest.fail(_file(config, module, "err").read_text("utf-8", "replace")[-3000:])
        time.sleep(0.1)
    found: dict[str, Any] = json.loads(text.splitlines()[-1])
    return found
