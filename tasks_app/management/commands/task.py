"""`manage.py task`: one task of a team, or a new one, and what the lead can do with it."""

from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tasks_app.domain.errors import Conflict, Invalid
from tasks_app.domain.task_review import Finding
from tasks_app.domain.text import one_line, strip_ansi
from tasks_app.execution import handover
from tasks_app.management import status, task_words
from tasks_app.management.cli import DeskCommand, actor, find_task, find_team
from tasks_app.selectors.tasks import TaskCard
from tasks_app.selectors.teams import TeamSummary
from tasks_app.services import actions, task_edits

VERBS = ("complete", "cancel", "reopen", "stop", "retry", "reassign")


class Command(DeskCommand):
    help = "Show, add or change a task; complete, cancel, reopen, stop, retry or reassign it."

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
        parser.add_argument("--guidance", default="", help="with --reassign and --retry: your words for the next attempt")
        parser.add_argument("--start", choices=actions.STARTS, default="clean", help="with --reassign: where it starts")
        parser.add_argument("--handover", action="store_true", help="show what its next attempt will be told")
        parser.add_argument("--tell", metavar="TEXT", help="set your words for an attempt that has not started")
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
            raise Invalid(f"Do one thing at a time: --{' and --'.join(verbs)} do not go together.")
        if verbs:
            _do(verbs[0], team, card, given)
        findings = task_words.change(team, card, given)
        card = find_task(team, given["task"])
        if given["tell"] is not None:
            task_edits.set_guidance(card.pk, given["tell"], made_from=task_edits.seen_of(card.pk), actor=actor())
        if given["handover"]:
            return self._told(card.pk, as_json=given["json"])
        self._show(card, findings, as_json=given["json"])
        return 0

    def _add(self, team: TeamSummary, given: dict[str, Any]) -> int:
        label, findings = task_words.add(team, given)
        self._show(find_task(team, label), findings, as_json=given["json"])
        return 0

    def _show(self, card: TaskCard, findings: Sequence[Finding], *, as_json: bool) -> None:
        if as_json:
            self.print_json({**status.task_json(card), **({"findings": [asdict(one) for one in findings]} if findings else {})})
            return
        hints = [f"Could be written better, {one.path}: {one.says} {one.write}" for one in findings]
        self.stdout.write("\n".join([*_lines(card), *hints]))

    def _told(self, task_id: int, *, as_json: bool) -> int:
        told = handover.told(task_id)
        if as_json:
            self.print_json({"attempt": told.attempt, "agent": told.agent, "guidance": told.guidance, "text": told.text})
        else:
            self.stdout.write(strip_ansi(told.text))
        return 0


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
    elif verb == "retry":
        actions.retry(card.pk, guidance=given["guidance"], actor=who)
    else:
        agent = None if given["reassign"] == "any" else task_words.agent(team, given["reassign"], field="reassign")
        actions.reassign(card.pk, agent_id=agent, guidance=given["guidance"], start=given["start"], actor=who)


def _lines(card: TaskCard) -> list[str]:
    facts = [
        f"{card.label} {one_line(card.title, 200)}",
        status.task_words(card),
        f"attempts {card.attempts} of {card.attempts_allowed}",
    ]
    if card.assignee or card.role:
        facts.append(f"for {card.assignee or f'any {card.role}'}")
    if card.run is not None:
        facts.append(f"attempt {card.run.attempt} is {card.run.status.value} with {card.agent}")
    return facts
