"""Process groups: seen gone when nothing of them is left but zombies, also where the kernel says "not permitted" of those."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from tasks_app.management import processes
from tests.management.desks import wait_for

Popen = subprocess.Popen


@pytest.fixture
def leader() -> Iterator[Popen[bytes]]:
    """A process that leads a group of its own and that nobody has waited for."""
    process = Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def as_on_a_mac(monkeypatch: pytest.MonkeyPatch) -> None:
    """XNU's killpg passes zombies over and then answers EPERM where Linux says that all is well (bsd/kern/kern_sig.c)."""
    real = os.killpg

    def killpg(group: int, number: int) -> None:
        real(group, number)
        if not any(processes._in_group(process, group) for process in processes.psutil.process_iter()):
            raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "killpg", killpg)


@pytest.mark.usefixtures("as_on_a_mac")
def test_a_group_of_zombies_is_gone_and_nobody_waits_for_it(leader: Popen[bytes]) -> None:
    assert processes.group_lives(leader.pid)
    os.kill(leader.pid, signal.SIGKILL)
    wait_for(lambda: processes.psutil.Process(leader.pid).status() == processes.psutil.STATUS_ZOMBIE, seconds=5)
    assert not processes.group_lives(leader.pid)
    begun = time.monotonic()
    processes.end_groups([leader.pid], patience_s=30)
    assert time.monotonic() - begun < 10


def test_a_group_of_somebody_else_that_lives_is_not_taken_for_gone(leader: Popen[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(group: int, number: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "killpg", refuse)
    assert processes.group_lives(leader.pid)
