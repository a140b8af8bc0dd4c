"""`manage.py task`: one task of a team, or a new one, and what the lead can do with it."""

from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tasks_app.domain.errors import Conflict, Invalid, NotFound
from tasks_app.domain.task_review import Finding
from tasks_app.domain.text import mask_secrets, strip_ansi
from tasks_app.execution import handover
from tasks_app.management import fork_json, fork_verbs, task_view, task_words
from tasks_app.management.cli import DeskCommand, actor, find_task, find_team
from tasks_app.selectors.tasks import TaskCard
from tasks_app.selectors.teams import TeamSummary
from tasks_app.services import actions, rewinds, task_edits

VERBS = ("complete", "cancel", "reopen", "stop", "retry", "reassign", *fork_verbs.VERBS)


class Command(DeskCommand):
    help = "Show, add or change a task; complete, cancel, reopen, stop, retry, reassign or fork it; put files back."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("team", help="address or name of the team")
        parser.add_argument("task", help="T-3 or 3; `add` for a new one")
        for name, text in {
            "complete": "you have done it, or take it as done",
            "cancel": "give it up",
            "reopen": "let it be done again",
            "stop": "stop its running attempt",
            "retry": "let the last agent try again",
        }.items():
            parser.add_argument(f"--{name}", action="store_true", help=text)
        parser.add_argument("--reassign", metavar="AGENT", help="give it to this agent; `any` for whoever fits")
        parser.add_argument("--guidance", default="", help="with --reassign, --retry and --fork: your words for the next attempt")
        parser.add_argument("--start", choices=actions.STARTS, default="clean", help="with --reassign: where it starts")
        parser.add_argument("--handover", action="store_true", help="show what its next attempt will be told")
        parser.add_argument("--tell", metavar="TEXT", help="set your words for an attempt that has not started")
        fork_verbs.add_arguments(parser)
        parser.add_argument("--note", default="", help="with the others: why")
        task_words.add_arguments(parser)
        self.add_json(parser)

    def act(self, given: dict[str, Any]) -> int:
        team = find_team(given["team"])
        if given["task"] == task_words.ADD:
            return self._add(team, given)
        card = find_task(team, given["task"])
        verbs = [verb for verb in VERBS if given[verb]]
        if len(verbs) > 1:
            words = " and --".join(verb.replace("_", "-") for verb in verbs)
            raise Invalid(f"Do one thing at a time: --{words} do not go together.")
        if verbs == ["rewind"]:
            found = fork_verbs.rewind(card.pk, given, actor=actor())
            return self._tell(found, fork_verbs.lines(found), as_json=given["json"])
        if given["messages"] is not None:
            listed = fork_json.messages(fork_json.run_of(card.pk, given["messages"]))
            return self._tell(listed, fork_verbs.message_lines(listed), as_json=given["json"])
        unmet = _unmet(card.pk) if verbs == ["complete"] else []
        if verbs:
            _do(verbs[0], team, card, given)
        findings = task_words.change(team, card, given)
        card = find_task(team, given["task"])
        if given["tell"] is not None:
            task_edits.set_guidance(card.pk, given["tell"], made_from=task_edits.seen_of(card.pk), actor=actor(), field="tell")
        if given["handover"]:
            return self._told(card.pk, as_json=given["json"])
        return self._show(card, findings, unmet, as_json=given["json"])

    def _tell(self, found: Any, lines: list[str], *, as_json: bool) -> int:
        if as_json:
            self.print_json(found)
        else:
            self.stdout.write("\n".join(lines))
        return 0

    def _add(self, team: TeamSummary, given: dict[str, Any]) -> int:
        label, findings = task_words.add(team, given)
        return self._show(find_task(team, label), findings, as_json=given["json"])

    def _show(self, card: TaskCard, findings: Sequence[Finding], unmet: Sequence[str] = (), *, as_json: bool) -> int:
        view = task_view.read(card.pk)
        if view is None:
            raise NotFound(f"{card.label} does not exist any more.", field="task")
        facts = task_view.as_json(view) | ({"findings": [asdict(one) for one in findings]} if findings else {})
        facts |= {"taken_as_met": list(unmet)} if unmet else {}
        hints = [f"Could be written better, {one.path}: {one.says} {one.write}" for one in findings]
        taken = [f"Not shown, taken as met on your word: {one}" for one in unmet]
        return self._tell(facts, [*task_view.as_lines(view), *taken, *hints], as_json=as_json)

    def _told(self, task_id: int, *, as_json: bool) -> int:
        told = handover.told(task_id)
        if as_json:
            self.print_json({"attempt": told.attempt, "agent": told.agent, "guidance": told.guidance, "text": told.text})
        else:
            self.stdout.write(strip_ansi(told.text))
        return 0


def _unmet(task_id: int) -> list[str]:
    """What nobody has shown to be met: whoever completes by hand is told, as on the page."""
    view = task_view.read(task_id)
    return [mask_secrets(one) for one in view.page.unmet] if view else []


def _do(verb: str, team: TeamSummary, card: TaskCard, given: dict[str, Any]) -> None:
    who = actor()
    if verb == "complete":
        actions.complete_by_hand(card.pk, note=given["note"], actor=who)
    elif verb == "cancel":
        actions.cancel(card.pk, why=given["note"], actor=who)
    elif verb == "reopen":
        actions.reopen(card.pk, why=given["note"], actor=who)
    elif verb == "stop":
        if card.run is None:
            raise Conflict(f"{card.label} has no attempt that could be stopped.")
        actions.stop_run(card.run.id, actor=who)
    elif verb == "fork":
        to = task_words.agent(team, given["to"], field="to") if given["to"] else None
        fork_verbs.fork(card.pk, given, agent_id=to, actor=who)
    elif verb == "undo_rewind":
        rewinds.undo(team.pk, actor=who)
    elif verb == "retry":
        actions.retry(card.pk, guidance=given["guidance"], actor=who)
    else:
        agent = None if given["reassign"] == "any" else task_words.agent(team, given["reassign"], field="reassign")
        actions.reassign(card.pk, agent_id=agent, guidance=given["guidance"], start=given["start"], actor=who)
