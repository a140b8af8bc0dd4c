"""`manage.py message`: the messages of a team, and writing to its agents."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.utils import timezone

from tasks_app.domain.errors import Invalid
from tasks_app.domain.messaging import LIMIT, Mode, Priority, Receipt
from tasks_app.domain.text import one_line
from tasks_app.management import message_json
from tasks_app.management.cli import DeskCommand, actor, find_team
from tasks_app.selectors import messages as reading
from tasks_app.selectors.messages import Note, Wanted
from tasks_app.services import messages, talk
from tasks_app.services.messages import Draft

VERBS = ("list", "send", "pairs", "done", "pass-on", "talk")


PRIORITIES, RECEIPTS = ([each.value for each in kind] for kind in (Priority, Receipt))


class Command(DeskCommand):
    help = "Show the messages of a team with their receipts; write to an agent or to all; set how the agents talk."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("team", help="address or name of the team")
        parser.add_argument("verb", nargs="?", choices=VERBS, default="list", help="what to do (list)")
        parser.add_argument("to", nargs="?", default="", help="with send: an agent or all; with done and pass-on: a message")
        parser.add_argument("text", nargs="?", help="with send: the message; - for standard input")
        parser.add_argument("--priority", choices=PRIORITIES, help="with send: how it comes; with list: only these")
        parser.add_argument("--no-reply", action="store_true", help="with send: no reply is wanted")
        parser.add_argument("--reply-to", default="", metavar="ID", help="with send: the message to you that it answers")
        parser.add_argument("--who", default="", metavar="AGENT", help="with list: only from or to this one")
        parser.add_argument("--state", choices=RECEIPTS, default="", help="with list: only those that came so far")
        parser.add_argument("--limit", type=int, default=30, help="with list: how many (30)")
        parser.add_argument("--mode", choices=tuple(Mode), help="with talk: mesh or hub")
        parser.add_argument("--per-minute", type=int, metavar="N", help="with talk: messages of a pair in a minute")
        parser.add_argument("--chain", type=int, metavar="N", help="with talk: replies to replies in a row")
        self.add_json(parser)

    def act(self, given: dict[str, Any]) -> int:
        team = find_team(given["team"])
        result = getattr(self, f"_{given['verb'].replace('-', '_')}")(team.pk, given)
        if given["json"]:
            self.print_json(result)
        return 0

    def _list(self, team_id: int, given: dict[str, Any]) -> Any:
        wanted = Wanted(given["who"], given["state"], given["priority"] or "")
        notes = reading.of_team(team_id, wanted, limit=min(max(given["limit"], 1), 1000))
        self._say(given, "\n".join(_line(one) for one in reversed(notes)) or "No message.")
        return {"messages": [message_json.note(one) for one in notes]}

    def _send(self, team_id: int, given: dict[str, Any]) -> Any:
        if not given["to"] or given["text"] is None:
            raise Invalid("Say to whom and what: uv run manage.py message TEAM send AGENT TEXT.", field="to")
        text = given["text"]
        if text == "-":
            text = sys.stdin.buffer.read(4 * LIMIT + 1).decode(errors="replace")
        draft = Draft(text, given["priority"] or Priority.NORMAL, given["reply_to"], given["no_reply"])
        sent = message_json.sent(messages.post(team_id, draft, sender_agent_id=None, to=given["to"], actor=actor()))
        kept = {one["held_up"] for one in sent} - {None}
        lines = [f"{one['id']} to {one['to']}" for one in sent] + [f"Queued: {why}." for why in sorted(kept)]
        self._say(given, "\n".join(lines))
        return {"sent": sent}

    def _pairs(self, team_id: int, given: dict[str, Any]) -> Any:
        found = reading.pairs(team_id)
        lines = [
            f"{one.sender} → {one.recipient}: {one.count}, {one.waiting} not in context yet, {one.answered} answered or acted on"
            for one in found
        ]
        self._say(given, "\n".join(lines) or "Nobody has written yet.")
        return {"pairs": [vars(one) for one in found]}

    def _done(self, team_id: int, given: dict[str, Any]) -> Any:
        found = messages.act_on(given["to"], team_id=team_id, agent_id=None, note=given["text"] or "", actor=actor())
        self._say(given, f"{found.pk} is marked as acted on.")
        return {"id": found.pk}

    def _pass_on(self, team_id: int, given: dict[str, Any]) -> Any:
        passed = messages.pass_on(given["to"], team_id=team_id, actor=actor())
        self._say(given, f"Passed on to {passed.recipient_name}.")
        return {"id": passed.pk, "to": passed.recipient_name}

    def _talk(self, team_id: int, given: dict[str, Any]) -> Any:
        now = reading.settings(team_id)
        if any(given[name] is not None for name in ("mode", "per_minute", "chain")):
            wanted = {
                name: getattr(now, name) if given[name] is None else given[name] for name in ("mode", "per_minute", "chain")
            }
            now = talk.set_settings(team_id, **wanted, actor=actor())
        self._say(given, f"{now.mode}, {now.per_minute} messages of a pair in a minute, {now.chain} replies in a row at most")
        return vars(now)

    def _say(self, given: dict[str, Any], words: str) -> None:
        if not given["json"]:
            self.stdout.write(words)


def _line(one: Note) -> str:
    facts = [f"{one.receipt.value}: {one.held_up}" if one.held_up else one.receipt.value]
    facts += [one.priority] if one.priority != Priority.NORMAL else []
    facts += [f"stopped after {one.stop_s:.1f} s"] if one.stop_s is not None else []
    facts += [f"meant for {one.meant_for}"] if one.meant_for else []
    at = timezone.localtime(one.created_at)
    return f"{at:%H:%M:%S} {one.id} {one.sender} → {one.recipient} ({', '.join(facts)}): {one_line(one.body, 100)}"
