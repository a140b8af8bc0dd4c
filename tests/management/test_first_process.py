"""The first process of the worker's container, in a namespace of processes of its own where the tests may make one."""

import os
import pty
import signal
import subprocess
import sys
import time

import pytest

from tests.management.desks import ROOT, wait_for

INIT = [sys.executable, "-S", "-m", "tasks_app.first_process"]
FIRST = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
root = pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="a namespace of processes is wanted")


def started(*command: str, before: tuple[str, ...] = (), **env: str) -> "subprocess.Popen[str]":
    argv = [*before, *INIT, *command]
    return subprocess.Popen(argv, cwd=ROOT, env={**os.environ, **env}, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -KILL $$", 137)])
def test_it_ends_as_its_command_ends(script: str, code: int) -> None:
    assert started("sh", "-c", script).wait(timeout=10) == code


def test_a_command_that_is_not_there_is_said() -> None:
    assert started("no-such-command").wait(timeout=10) == 127


IGNORING = ("sh", "-c", "trap '' INT TERM; exec \"$@\"", "sh")


@pytest.mark.parametrize("before", [(), IGNORING], ids=["", "that was ignored before"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_reaches_the_command(number: signal.Signals, before: tuple[str, ...]) -> None:
    name = number.name.removeprefix("SIG")
    script = f"trap 'echo got; exit 3' {name}; echo ready; for i in $(seq 200); do sleep 0.05; done"
    with started("sh", "-c", script, before=before) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.stdout.readline() == "got\n"
        assert process.wait(timeout=10) == 3


COUNTS = """
import os, signal, time
got = []
signal.signal(signal.SIGINT, lambda *_: got.append(1))
print("ready", os.getpgrp() == os.getpid() == os.tcgetpgrp(1), flush=True)
end = time.monotonic() + 10
while not got and time.monotonic() < end:
    time.sleep(0.02)
time.sleep(0.5)
print("SIGINTs:", len(got), flush=True)
"""


def lines_to(terminal: int, words: bytes) -> bytes:
    said = b""
    while words not in said or not said.endswith(b"\n"):
        said += os.read(terminal, 1000)
    return said


@pytest.mark.parametrize("stdin", ["terminal", "nothing"])
def test_ctrl_c_in_a_terminal_comes_once(stdin: str) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        if stdin == "nothing":
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.execv(sys.executable, [*INIT, sys.executable, "-c", COUNTS])
    try:
        ready = lines_to(terminal, b"ready")
        os.write(terminal, b"\x03")
        counted = lines_to(terminal, b"SIGINTs")
    finally:
        os.close(terminal)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert f"ready {stdin == 'terminal'}".encode() in ready
    assert b"SIGINTs: 1" in counted


def test_ctrl_z_in_a_terminal_stops_nothing_for_good() -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        os.execv(sys.executable, [*INIT, "sh", "-c", "echo ready; for i in $(seq 200); do sleep 0.05; done"])
    try:
        lines_to(terminal, b"ready")
        os.write(terminal, b"\x1a")
        time.sleep(0.3)
        os.kill(pid, signal.SIGTERM)
        wait_for(lambda: os.waitpid(pid, os.WNOHANG)[0] == pid, seconds=5)
    finally:
        os.close(terminal)


@root
@pytest.mark.parametrize(("inspectable", "secrets"), [("", "0"), ("1", "1")])
def test_as_the_first_process_it_leaves_no_zombie_and_shows_nobody_its_environment(inspectable: str, secrets: str) -> None:
    script = (
        "(sleep 0.2 & exec true); sleep 1; echo zombies $(cat /proc/[0-9]*/status 2>/dev/null | grep -c '^State:.Z');"
        " cat /proc/1/environ | grep -c topsecret; cat /proc/1/cmdline | tr '\\0' '\\n' | tail -n +4 | head -1; exit 0"
    )
    powerless = (*FIRST, "setpriv", "--bounding-set", "-all")
    env = {"CREWDESK_X": "topsecret", "CREWDESK_INSPECTABLE": inspectable}
    with started("sh", "-c", script, before=powerless, **env) as process:
        assert process.communicate(timeout=30)[0].split() == ["zombies", "0", secrets, "tasks_app.first_process"]
    assert process.returncode == 0


@root
def test_a_signal_to_the_first_process_ends_the_command() -> None:
    script = "trap 'exit 5' TERM; echo ready; for i in $(seq 200); do sleep 0.05; done"
    with started("sh", "-c", script, before=tuple(FIRST)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        children = f"/proc/{process.pid}/task/{process.pid}/children"
        wait_for(lambda: open(children).read().strip(), seconds=5)  # noqa: SIM115 - of the kernel
        os.kill(int(open(children).read()), signal.SIGTERM)  # noqa: SIM115
        assert process.wait(timeout=10) == 5
