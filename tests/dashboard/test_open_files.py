"""A web server and a worker that are started with a Mac's 256 open files give themselves more."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CODE = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
import {module}
print(*resource.getrlimit(resource.RLIMIT_NOFILE))
"""


def limits_of(module: str, *, soft: int, hard: int) -> list[int]:
    code = CODE.format(module=module, soft=soft, hard=hard)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    return [int(word) for word in done.stdout.split()]


@pytest.mark.parametrize("module", ["dashboard.asgi", "dashboard.celery"])
def test_a_process_that_may_open_few_files_allows_itself_more(module: str) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    most = 10_000 if hard == resource.RLIM_INFINITY else min(10_000, hard)
    assert limits_of(module, soft=256, hard=hard) == [most, hard]


def test_what_the_system_forbids_is_no_reason_not_to_start() -> None:
    assert limits_of("dashboard.asgi", soft=256, hard=300) == [300, 300]
