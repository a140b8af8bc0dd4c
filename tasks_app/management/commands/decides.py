"""`manage.py decides`: who decides what in a team, and what its lead agent did."""

from argparse import ArgumentParser
from typing import Any

from tasks_app.domain.asked import line
from tasks_app.domain.deciders import MEANS
from tasks_app.domain.errors import Invalid
from tasks_app.management import decides_json
from tasks_app.management.cli import DeskCommand, actor, find_team
from tasks_app.selectors import leading
from tasks_app.selectors.leading import Overview
from tasks_app.services import actions


class Command(DeskCommand):
    help = "Show who decides what in a team and what its lead agent did; with --set NAME=VALUE change it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("team", help="address or name of the team")
        parser.add_argument(
            "--set",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="such as question=human; repeatable",
        )
        self.add_json(parser)

    def act(self, given: dict[str, Any]) -> int:
        team = find_team(given["team"])
        if given["set"]:
            actions.set_deciders(team.pk, dict(_pair(one) for one in given["set"]), actor=actor())
        found = leading.overview(team.pk)
        if given["json"]:
            self.print_json(decides_json.overview(found))
        else:
            self.stdout.write("\n".join(_lines(found)))
        return 0


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise Invalid(f"“{text[:60]}” is no setting. Write it as question=human.", field="set")
    return name.strip(), value.strip()


def _lines(found: Overview) -> list[str]:
    agent = found.agent
    state = "none: everything is yours" if agent is None else f"{agent.name}{'' if agent.active else ' (stopped)'}"
    lines = [f"Lead agent: {state}; {found.waiting} waiting for it, {found.turns} turns so far"]
    lines += [f"{subject.value:<11} {by.value:<7} {MEANS[subject]}" for subject, by in found.settings.by.items()]
    lines.append(
        f"It has {found.settings.wait_minutes:g} min for a request and {found.settings.wakes_per_hour} turns an hour at most."
    )
    for did, rows in (("decided", found.done), ("handed on", found.handed), ("moved", found.moved)):
        lines += [f"{one.at:%H:%M} {did} {one.task} {line(one.title, 300)}: {line(one.words, 1000)}" for one in rows]
    return lines
