"""The options of `manage.py task` about forks and about the files of a workspace."""

from argparse import ArgumentParser
from typing import Any

from tasks_app.domain.errors import Invalid
from tasks_app.domain.text import strip_ansi
from tasks_app.management import fork_json
from tasks_app.services import forks, rewinds

VERBS = ("fork", "rewind", "undo_rewind")


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--messages", metavar="RUN", help="list the messages of an attempt (its number or id) to fork from")
    parser.add_argument("--fork", metavar="RUN", help="start again as a fork of this attempt, at the message --at")
    parser.add_argument("--rewind", metavar="RUN", help="put the workspace's files back to the prompt --at of this attempt")
    parser.add_argument("--at", metavar="STEP", type=int, help="with --fork and --rewind: the number of the message")
    parser.add_argument("--to", metavar="AGENT", help="with --fork: which agent; without: the same one")
    parser.add_argument("--files", choices=forks.FILES, default="now", help="with --fork: the files as they are, or of then")
    parser.add_argument("--preview", action="store_true", help="with --rewind: only show which files would change")
    parser.add_argument("--undo-rewind", action="store_true", help="put back what the last rewind of the team's files changed")


def fork(task_id: int, given: dict[str, Any], *, agent_id: int | None, actor: str) -> None:
    """Fork as the options say."""
    run = fork_json.run_of(task_id, given["fork"])
    forks.fork(run, at=_at(given), agent_id=agent_id, guidance=given["guidance"], files=given["files"], actor=actor)


def rewind(task_id: int, given: dict[str, Any], *, actor: str) -> dict[str, Any]:
    """Show what a rewind would change, or put the files back; returns it."""
    run, at = fork_json.run_of(task_id, given["rewind"]), _at(given)
    found = rewinds.preview(run, at=at) if given["preview"] else rewinds.rewind(run, at=at, actor=actor)
    return fork_json.rewind(found, done=not given["preview"])


def lines(found: dict[str, Any]) -> list[str]:
    """Return a rewind for people."""
    head = "Put back" if found["done"] else "Would change"
    return [f"{head}: {found['summary']}", *(f"  {strip_ansi(name)}" for name in found["files"])]


def message_lines(found: list[dict[str, Any]]) -> list[str]:
    """Return the messages for people: those of the agent, and the prompts, to which the files can be put back."""
    return [f"{one['at']:>5}  {'prompt' if one['prompt'] else 'said':6}  {strip_ansi(one['text'])}" for one in found]


def _at(given: dict[str, Any]) -> int:
    if given["at"] is None:
        raise Invalid("Say at which message: --at STEP. `--messages RUN` lists them.", field="at")
    return int(given["at"])
