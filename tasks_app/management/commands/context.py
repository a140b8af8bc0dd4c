"""`manage.py context`: what a team shares."""

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.utils import timezone

from tasks_app.domain import shared
from tasks_app.domain.errors import Invalid, NotFound
from tasks_app.domain.ids import parse_task_label
from tasks_app.domain.statuses import Scope
from tasks_app.domain.text import one_line
from tasks_app.management import shared_json
from tasks_app.management.cli import DeskCommand, actor, find_team
from tasks_app.selectors import context as reading
from tasks_app.selectors.context import Entry
from tasks_app.services import context
from tasks_app.services.context import Writer
from tasks_app.services.moments import one_moment

VERBS = ("list", "show", "set", "delete", "schema")


class Command(DeskCommand):
    help = "Show, write and delete what a team shares."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("team", help="address or name of the team")
        parser.add_argument("verb", nargs="?", choices=VERBS, default="list", help="what to do (list)")
        parser.add_argument("name", nargs="?", default="", help="name of the entry")
        parser.add_argument("value", nargs="?", help="with set and schema: JSON; with --text any text")
        parser.add_argument("--text", action="store_true", help="with set: the value is a text, not JSON")
        parser.add_argument("--file", metavar="FILE", help="with set and schema: read it from a file; - for standard input")
        parser.add_argument(
            "--at-version", dest="seen", type=int, help="with set and delete: only where it is still at this version"
        )
        parser.add_argument("--task", default="", help="with set: only for this task and what depends on it, as T-3")
        parser.add_argument("--ttl", type=float, metavar="SECONDS", help="with set: when it expires")
        parser.add_argument("--remove", action="store_true", help="with schema: any value is taken again")
        self.add_json(parser)

    def act(self, given: dict[str, Any]) -> int:
        team = find_team(given["team"])
        if given["verb"] != "list" and not given["name"]:
            raise Invalid(f"Name the entry: uv run manage.py context {team.slug} {given['verb']} NAME.", field="name")
        result = getattr(self, f"_{given['verb']}")(team.pk, given)
        if given["json"]:
            self.print_json(result)
        return 0

    def _list(self, team_id: int, given: dict[str, Any]) -> Any:
        entries = reading.of_team(team_id)
        if not given["json"]:
            self.stdout.write("\n".join(_line(one) for one in entries) or "Nothing is shared yet.")
        return {"entries": [shared_json.entry(one) for one in entries]}

    def _show(self, team_id: int, given: dict[str, Any]) -> Any:
        with one_moment():
            entry = _find(team_id, given["name"])
            found = shared_json.whole(entry, version=given["seen"])
        if not given["json"]:
            value = found["value"]
            self.stdout.write(_line(entry))
            self.stdout.write(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2))
            for read in found["reads"]:
                way = "was told" if read["how"] == "prompt" else "read"
                self.stdout.write(f"{read['reader']} {way} version {read['version']} at {read['at']}")
        return found

    def _set(self, team_id: int, given: dict[str, Any]) -> Any:
        number = parse_task_label(given["task"]) if given["task"] else None
        if given["task"] and number is None:
            raise Invalid("A task is written as T-3.", field="task")
        text = _given(given)
        written = context.share(
            team_id,
            name=given["name"],
            value=text if given["text"] else _json(text, "value"),
            by=Writer(actor()),
            version=given["seen"],
            ttl_s=given["ttl"],
            scope=Scope.TASK if number else Scope.TEAM,
            task_number=number,
        )
        return self._said(f"“{written.name}” is at version {written.version}.", given, version=written.version)

    def _delete(self, team_id: int, given: dict[str, Any]) -> Any:
        context.delete(team_id, name=given["name"], version=given["seen"], by=Writer(actor()))
        return self._said(f"“{given['name']}” is deleted.", given, deleted=True)

    def _schema(self, team_id: int, given: dict[str, Any]) -> Any:
        if given["remove"] or given["value"] is not None or given["file"]:
            wanted = None if given["remove"] else _json(_given(given), "schema")
            context.set_schema(team_id, name=given["name"], schema=wanted, by=Writer(actor()))
        found = reading.schema(team_id, given["name"])
        words = json.dumps(found, ensure_ascii=False, indent=2) if found is not None else "No schema: any value is taken."
        return self._said(words, given, schema=found)

    def _said(self, words: str, given: dict[str, Any], **facts: Any) -> dict[str, Any]:
        if not given["json"]:
            self.stdout.write(words)
        return {"name": given["name"], **facts}


def _find(team_id: int, name: str) -> Entry:
    found = reading.named(team_id, name)
    if found is None:
        known = ", ".join(one.name for one in reading.of_team(team_id)[:20])
        raise NotFound(f"Nothing of the name “{one_line(name, 60)}” is shared. {f'There are: {known}.' if known else ''}".strip())
    return found


def _given(given: dict[str, Any]) -> str:
    if (given["value"] is None) == (given["file"] is None):
        raise Invalid("Give either the value or --file.", field="value")
    if given["file"] is None:
        return str(given["value"])
    try:
        data = sys.stdin.buffer.read(shared.MOST + 1) if given["file"] == "-" else _file(Path(given["file"]))
        return data.decode()
    except OSError as error:
        raise Invalid(f"{given['file']} cannot be read: {error.strerror}.", field="file") from None
    except UnicodeDecodeError:
        raise Invalid("The file is not text in UTF-8. Share its path instead.", field="file") from None


def _file(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(2 * shared.MOST)


def _json(text: str, field: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Invalid(f"This is not JSON: {one_line(str(error), 120)}. For a text, add --text.", field=field) from None


def _line(one: Entry) -> str:
    left = f", expires in {int((one.expires_at - timezone.now()).total_seconds() // 60)} min" if one.expires_at else ""
    author = one.author.partition(":")[2] or one.author
    return (
        f"{one.name}  version {one.version} by {author}, {one.size:,} bytes, for {one.seen_by}{left}: {one_line(one.start, 60)}"
    )
