"""`manage.py checkpoint`: what the work of a team can go on from, and going back to a checkpoint."""

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.utils import timezone

from tasks_app.domain.errors import Invalid
from tasks_app.domain.ids import given_task_number
from tasks_app.management import checkpoint_json
from tasks_app.management.cli import DeskCommand, actor, find_team
from tasks_app.selectors import checkpoints as reading
from tasks_app.selectors.checkpoints import Overview, Saved
from tasks_app.services import checkpoints, restores
from tasks_app.services.restores import Preview

VERBS = ("list", "save", "show", "restore", "delete")
FILES = 40


class Command(DeskCommand):
    help = "List what a team can go on from; save a checkpoint; see what going back to one would change; go back to it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("verb", choices=VERBS, help="what to do")
        parser.add_argument("team", help="address or name of the team")
        parser.add_argument("which", nargs="?", default="", help="with save: a name for it; else: its id")
        parser.add_argument("--task", default="", help="with show and restore: only this task, as T-3")
        parser.add_argument("--at-seq", type=int, metavar="N", help="with restore: the event that `show` named")
        self.add_json(parser)

    def act(self, given: dict[str, Any]) -> int:
        team = find_team(given["team"])
        if given["verb"] not in ("list", "save") and not given["which"]:
            raise Invalid(f"Name the checkpoint: uv run manage.py checkpoint {given['verb']} {team.slug} ID.", field="which")
        result, words = getattr(self, f"_{given['verb']}")(team, given)
        if given["json"]:
            self.print_json(result)
        else:
            self.stdout.write(words)
        return 0

    def _list(self, team: Any, given: dict[str, Any]) -> tuple[Any, str]:
        found = reading.overview(team.pk)
        return checkpoint_json.overview(found), "\n".join(_lines(found))

    def _save(self, team: Any, given: dict[str, Any]) -> tuple[Any, str]:
        saved = checkpoints.save(team.pk, name=given["which"], by=actor())
        return {"id": saved.pk, "name": saved.name}, f"Saved checkpoint {saved.pk} “{saved.name}”."

    def _show(self, team: Any, given: dict[str, Any]) -> tuple[Any, str]:
        found = restores.preview(team.pk, given["which"], task=given_task_number(given["task"]))
        how = f"uv run manage.py checkpoint restore {team.slug} {found.checkpoint.pk} --at-seq {found.seq}"
        how += f" --task {given['task']}" if given["task"] else ""
        return checkpoint_json.preview(found), "\n".join([*_told(found), found.refused or f"To do it: {how}"])

    def _restore(self, team: Any, given: dict[str, Any]) -> tuple[Any, str]:
        if given["at_seq"] is None:
            how = f"uv run manage.py checkpoint show {team.slug} {given['which']}"
            raise Invalid(f"Look at what would change first: {how}. It names the event for --at-seq.", field="at_seq")
        task = given_task_number(given["task"])
        done = restores.restore(team.pk, given["which"], seen=given["at_seq"], actor=actor(), task=task)
        words = f"Restored “{done.name}”: {done.words}. How it was before is checkpoint {done.safety}."
        return checkpoint_json.restored(done), words

    def _delete(self, team: Any, given: dict[str, Any]) -> tuple[Any, str]:
        name = checkpoints.delete(team.pk, given["which"], actor=actor())
        return {"deleted": name}, f"“{name}” is deleted."


def _lines(found: Overview) -> Iterator[str]:
    for one in found.resumable:
        yield f"{one.what}: {one.why}. {one.then}"
    if found.putting_back:
        yield "The files are being put back at this moment."
    for saved in found.checkpoints:
        yield _line(saved)
    if not found.checkpoints:
        yield "No checkpoint is saved yet."


def _line(one: Saved) -> str:
    at = timezone.localtime(one.at)
    who = "by itself" if one.automatic else f"by {one.by.partition(':')[2] or one.by}"
    return f"{one.id}  {at:%Y-%m-%d %H:%M:%S}  “{one.name}”, {who}: {one.words}"


def _told(found: Preview) -> Iterator[str]:
    yield f"“{found.checkpoint.name}”, as of event {found.seq}: {found.change.words}."
    for task in found.change.tasks:
        yield f"  {task.label} {task.title} {task.words}"
    for entry in found.change.entries:
        yield f"  “{entry.name}” {entry.turn}"
    for session in found.change.sessions:
        yield f"  {session.agent} {session.turn}"
    for how, path in found.files[:FILES]:
        yield f"  {path} {'comes back' if how == 'back' else f'is {how}'}"
    if len(found.files) > FILES:
        yield f"  and {len(found.files) - FILES} more files"
