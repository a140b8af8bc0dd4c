"""`manage.py` itself: its help names our commands first, and whatever goes wrong ends in a sentence, not in a traceback."""

import os
import signal
import sys
from collections.abc import Mapping, Sequence

from django.core.exceptions import ImproperlyConfigured
from django.core.management import BaseCommand, ManagementUtility

from tasks_app.domain.text import mask_secrets
from tasks_app.starting import settings_are_wrong

BAD_INPUT = 2
INTERRUPTED = 130
PIPE_CLOSED = 141
"""As a shell says it of a program that was ended by SIGPIPE, such as by `| head`."""
COMMANDS: Mapping[str, str] = {
    "up": "run everything on this machine; prints a sign-in link; Ctrl-C ends it",
    "team": "start a team from a plan; see, wait for, pause, resume, stop, archive it",
    "decide": "what waits for you; with an id: look at it and answer it",
    "decides": "who decides what in a team, and what its lead agent did",
    "task": "look at a task; complete, cancel, reopen, stop, retry or reassign it",
    "tail": "what happened in a team; with --follow what happens",
    "context": "show, write and delete what a team shares",
    "checkpoint": "what a team can go on from; save a checkpoint, and go back to one",
    "message": "the messages of a team; write to an agent or to all; set how agents talk",
    "retention": "count or remove what has aged out by the rules of the settings",
    "backup": "keep every team elsewhere; see, verify and restore backups",
    "account": "who may sign in; make accounts, let people into teams, shut them out",
    "doctor": "is everything there that Crewdesk needs, and if not, what to do",
    "sign_in_link": "a new one-time link to sign in; with a name for that account",
    "healthcheck": "exit code 0 when the web server or worker of this host is well",
}
HELP = """Crewdesk: the desk of a team lead whose team is made of Claude agents.

{commands}

More about one: {name} COMMAND --help. Begin with: {name} up
Django's own commands, such as migrate and shell: {name} help --commands"""


class Entry(ManagementUtility):
    """Django's, with a help text for people who do not know Django."""

    def main_help_text(self, commands_only: bool = False) -> str:
        """Return our commands with one line each; with `commands_only` the names of all."""
        if commands_only:
            return super().main_help_text(commands_only=True)
        lines = "\n".join(f"  {name:<13} {text}" for name, text in COMMANDS.items())
        text = HELP.format(commands=lines, name=self.prog_name)
        return f"{text}\n\n{settings_are_wrong(self.settings_exception)}" if self.settings_exception else text

    def fetch_command(self, subcommand: str) -> BaseCommand:
        """Return the command of that name. One that there is not ends it as wrong input does, after Django's words for it."""
        try:
            return super().fetch_command(subcommand)
        except SystemExit:
            sys.exit(BAD_INPUT)


def main(argv: Sequence[str]) -> None:
    """Run one command. An exception becomes a sentence and an exit code; with `--traceback` it is shown as it came."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        try:
            Entry(list(argv)).execute()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left to be written has no reader
        sys.exit(PIPE_CLOSED)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.stderr.write("Interrupted.\n")
        sys.exit(INTERRUPTED)
    except Exception as error:
        if "--traceback" in argv:
            raise
        sys.stderr.write(f"{_sentence(error)}\n")
        sys.exit(1)


def _sentence(error: Exception) -> str:
    if isinstance(error, ImproperlyConfigured):
        return settings_are_wrong(error)
    words = " ".join(mask_secrets(str(error)).split())
    return (
        f"Crewdesk met an error that it does not know: {type(error).__name__}: {words}\n"
        "`uv run manage.py doctor` may say why. If not, run this again with --traceback and report what it prints."
    )
