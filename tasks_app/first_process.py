"""The first process of the worker's container: starts the worker, passes signals on, buries what has lost its parent.

As `tini`, of which agents, who run as the same user, could read the environment with all that the worker was given. Standard
library only; runs as `python -S -m tasks_app.first_process COMMAND…`.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Sequence

from tasks_app import own_memory

PASSED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH)
NOT_FOUND = 127
"""As a shell says it of a command that is not there."""


def main(command: Sequence[str]) -> int:
    """Run the command until it ends; returns its exit code, 128 and the signal where one ended it."""
    own_memory.keep_private()
    signal.pthread_sigmask(signal.SIG_BLOCK, PASSED)  # what comes before there is somebody to have it waits
    child = os.fork()
    if child == 0:
        _become(command)
    for number in PASSED:
        signal.signal(number, lambda received, _frame: os.kill(child, received))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED)
    while True:
        ended, status = os.waitpid(-1, os.WUNTRACED)
        if os.WIFSTOPPED(status):
            if ended == child and os.WSTOPSIG(status) == signal.SIGTSTP:
                os.killpg(child, signal.SIGCONT)  # Ctrl-Z: there is no shell here that would let it go on
        elif ended == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def _become(command: Sequence[str]) -> None:
    """Does not return."""
    _lead_a_group()
    for number in PASSED:
        signal.signal(number, signal.SIG_DFL)  # what was ignored before would be for ever, whatever the command wants
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED)
    try:
        os.execvp(command[0], list(command))  # noqa: S606 - that is what it is for
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
    finally:
        os._exit(NOT_FOUND)


def _lead_a_group() -> None:
    """What a terminal sends (Ctrl-C) would come twice: to each process of its foreground group, and passed on."""
    before = os.getpgrp()
    os.setpgid(0, 0)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])  # else it would stop whoever takes the foreground from outside it
    with contextlib.suppress(OSError):  # no terminal
        if os.tcgetpgrp(0) == before:
            os.tcsetpgrp(0, os.getpgrp())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTTOU])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
