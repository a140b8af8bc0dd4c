"""`manage.py decide`: what waits for the lead, and the answers."""

from argparse import ArgumentParser
from typing import Any

from django.utils import timezone

from tasks_app.domain.errors import Invalid, NotFound, Stale
from tasks_app.domain.text import one_line
from tasks_app.management import answers, ways, words
from tasks_app.management.cli import DeskCommand, actor, find_team
from tasks_app.selectors import access, inbox
from tasks_app.selectors.inbox import Detail
from tasks_app.services import actions, decisions


class Command(DeskCommand):
    help = "List what waits for you; with an id show it; with an answer as well, answer it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("id", nargs="?", help="id of the request, such as d1k9x0a2b")
        parser.add_argument("--team", help="only of this team")
        for name, option in ways.OPTIONS.items():
            text = f"{', '.join(kind.value for kind in option.kinds)}: {option.help}"
            how: dict[str, Any] = {"metavar": option.value} if option.value else {"action": "store_true"}
            parser.add_argument(f"--{name}", help=text, **({**how, "action": "append"} if name == "pick" else how))
        parser.add_argument("--note", default="", metavar="WORDS", help="your words to the agent")
        parser.add_argument("--choice", default="", metavar="WORD", help="any answer by its word, as programs know it")
        parser.add_argument("--data", default="", metavar="JSON", help='the rest of such an answer, such as {"usd": "5"}')
        parser.add_argument(
            "--seen", type=int, metavar="VERSION", help="refuse the answer if the request has changed since this version"
        )
        self.add_json(parser)

    def act(self, given: dict[str, Any]) -> int:
        if not given["id"]:
            _must_name_one(given)
            return self._list(given)
        detail = _detail(given["id"])
        if _given(given):
            decisions.must_be_open(decisions.get(detail.item.id))  # before the answer itself is looked at
        typed = answers.typed(given, detail.item.kind)
        if typed is not None:
            choice, note, data = answers.stored(typed, detail)
            if given["seen"] not in (None, detail.version):
                raise Stale(f"It is version {detail.version} now. Look at it again before you answer.", field="version")
            actions.answer(
                detail.item.id,
                choice=choice,
                note=note,
                data=data,
                version=detail.version,
                payload_hash=detail.payload_hash,
                actor=actor(),
            )
            detail = _detail(given["id"])
        if given["json"]:
            self.print_json(answers.as_json(detail))
        elif typed is not None:
            self.stdout.write(f"Answered {detail.item.id}: {answers.said(detail)}")
        else:
            self.stdout.write("\n".join(answers.shown(detail)))
        return 0

    def _list(self, given: dict[str, Any]) -> int:
        teams = [find_team(given["team"]).pk] if given["team"] else list(access.team_ids())
        items = inbox.open_items(teams)
        now = timezone.now()
        if given["json"]:
            self.print_json([answers.item_json(item) for item in items])
            return 0
        ages = {item.id: words.since(item.opened_at, now) for item in items}
        self.stdout.write("\n".join(answers.listing(items, ages)) or "Nothing waits for you.")
        return 0


def _given(given: dict[str, Any], *more: str) -> bool:
    """Whether an answer is given, or a part of one."""
    return any(given[name.replace("-", "_")] for name in (*ways.OPTIONS, "note", "choice", "data", *more))


def _must_name_one(given: dict[str, Any]) -> None:
    if _given(given, "seen"):
        raise Invalid("Name the request that you answer: `uv run manage.py decide` lists what waits, with ids.", field="id")


def _detail(decision_id: str) -> Detail:
    found = inbox.detail(decision_id)
    if found is None:
        raise NotFound(
            f"There is no request “{one_line(decision_id, 40)}”. `uv run manage.py decide` lists what waits.", field="id"
        )
    return found
