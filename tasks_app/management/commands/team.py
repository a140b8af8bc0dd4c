"""`manage.py team`: start a team from a plan, see it, pause, resume and stop it, archive, restore, export and import it."""

import shlex
import time
from argparse import ArgumentParser, BooleanOptionalAction
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils import timezone

from tasks_app.domain import plan as plans
from tasks_app.domain.errors import Invalid
from tasks_app.management import (
    credentials,
    desk,
    how_it_goes,
    lead,
    missing,
    plan_files,
    prepare,
    sign_in,
    status,
    team_files,
    team_list,
)
from tasks_app.management.cli import DeskCommand, actor, find_team
from tasks_app.management.scripted import ScriptedLead
from tasks_app.management.unattended import End, Ending, Watch
from tasks_app.management.words import COMMAND
from tasks_app.selectors import access, estimates, stored_teams, teams
from tasks_app.selectors import how_it_goes as reports
from tasks_app.services import actions, removals

VERBS = (
    *("start", "check", "wait", "status", "how-it-goes", "list", "pause", "resume", "stop", "archive", "restore"),
    "delete",
    *("export", "import", "schema"),
)


class Command(DeskCommand):
    help = "Start a team from a plan file, see how it stands, pause, resume, stop or archive it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = self.add_verbs(parser, "|".join(VERBS))
        self._add_start(verbs.add_parser("start", help="start a team from a plan file"))
        check = verbs.add_parser("check", help="look at a plan file without starting it")
        check.add_argument("plan", type=Path, help="the plan file")
        self.add_json(check)
        for verb, text in {
            "status": "the tree of tasks and the agents",
            "how-it-goes": "time, questions, rework, messages, waits: on the whole and by day",
            "pause": "nothing new starts; what runs goes on",
            "resume": "work goes on; after a stop by new attempts, from the files as they are",
            "stop": "stop every run; the files stay as they are",
            "archive": "put a team aside that has ended: out of the lists",
            "restore": "bring an archived team back",
        }.items():
            one = verbs.add_parser(verb, help=text)
            one.add_argument("team", help="address or name of the team")
            self.add_json(one)
        wait = verbs.add_parser("wait", help="wait for the end of a team that was started before")
        wait.add_argument("team", help="address or name of the team")
        self._add_waiting(wait)
        team_files.add_arguments(verbs, self.add_json)
        gone = verbs.add_parser("delete", help="delete a team with its whole history, for good")
        gone.add_argument("team", help="address or name of the team")
        gone.add_argument("--yes-i-mean", required=True, metavar="NAME", help="the team's name or address again")
        self.add_json(gone)
        every = verbs.add_parser("list", help="every team")
        every.add_argument("--archived", action="store_true", help="those that were put aside instead")
        self.add_json(every)
        self.add_json(verbs.add_parser("schema", help="the JSON Schema of plan files"))

    def _add_start(self, start: ArgumentParser) -> None:
        start.add_argument("plan", type=Path, help="the plan file")
        start.add_argument("--name", default="", help="another name for the team")
        start.add_argument(
            "--rehearse",
            action=BooleanOptionalAction,
            help="the model's replies are scripted, everything else is real; left out: as CREWDESK_REHEARSE or `up` says",
        )
        start.add_argument("--wait", action="store_true", help="wait for the end; starts a worker when there is none")
        self._add_waiting(start)

    def _add_waiting(self, parser: ArgumentParser) -> None:
        parser.add_argument("--lead", type=Path, help="a scripted lead: rules that answer what agents ask; waits for the end")
        parser.add_argument("--timeout", type=float, help="give up waiting after so many seconds")
        self.add_json(parser)

    def act(self, given: dict[str, Any]) -> int:
        verb = given["verb"]
        if verb in ("start", "wait"):
            return self._start(given) if verb == "start" else self._wait(given)
        if verb == "check":
            return self._check(given["plan"], given["json"])
        if verb == "list":
            return self._archived(given["json"]) if given["archived"] else self._list(given["json"])
        if verb == "schema":
            self.print_json(plans.json_schema())
            return 0
        if verb == "delete":
            return self._delete(given)
        if verb in team_files.VERBS:
            return self._say(team_files.VERBS[verb](given), given["json"])
        return self._one(verb, given)

    def _start(self, given: dict[str, Any]) -> int:
        _check_timeout(given["timeout"])
        rules = lead.load(given["lead"]) if given["lead"] else None
        prepare.everything()
        plan, source = plan_files.read(given["plan"], name=given["name"])
        hints = len(plans.review(plan))
        rehearse = _rehearses() if given["rehearse"] is None else bool(given["rehearse"])
        if not rehearse and not credentials.anywhere():
            raise Invalid(
                f"There is no API key and no signed-in Claude Code. Add --rehearse, or {credentials.HOW}.", field="rehearse"
            )
        user = sign_in.ensure_lead()
        who = f"user:{user.username}"
        start = partial(plan_files.start, plan, source=source, user_id=user.pk, rehearsal=rehearse, actor=who)
        if not given["wait"] and rules is None:
            return self._say_started(start().slug, given["json"], plan=given["plan"], hints=hints)
        if hints:
            self._teller(given["json"])(_hints(hints, given["plan"]))
        return self._wait_for(lambda: start().pk, rules=rules, rehearse=rehearse, given=given)

    def _check(self, path: Path, as_json: bool) -> int:
        """Say what is wrong with a plan (by the error of reading it), or what could be written better in it."""
        prepare.everything()  # as at a start: who may judge, and what such tasks took, is in the database
        plan, _ = plan_files.read(path)
        findings = plans.review(plan)
        if as_json:
            self.print_json({"ok": True, "findings": [asdict(finding) for finding in findings]})
            return 0
        count = f"{len(plan.tasks)} task{'s' * (len(plan.tasks) != 1)}, {len(plan.agents)} agent{'s' * (len(plan.agents) != 1)}"
        self.stdout.write(f"{path.name} can be started: {count}. {len(findings) or 'No'} hint{'s' * (len(findings) != 1)}.")
        if short := estimates.short_budget(plan, rehearsal=False):
            self.stdout.write(f"{short} You will be asked when it is used up; raise `budget` in the plan to avoid that.")
        for finding in findings:
            self.stdout.write(
                f"\n{finding.label}  {finding.path}\n  {finding.says} {finding.write}"
                f"\n  Poor: {finding.example.poor}\n  Good: {finding.example.good}"
            )
        return 0

    def _wait(self, given: dict[str, Any]) -> int:
        _check_timeout(given["timeout"])
        rules = lead.load(given["lead"]) if given["lead"] else None
        prepare.everything()
        team = find_team(given["team"])
        return self._wait_for(lambda: team.pk, rules=rules, rehearse=team.rehearsal, given=given, after=team.last_seq)

    def _wait_for(
        self, team: Callable[[], int], *, rules: lead.Lead | None, rehearse: bool, given: dict[str, Any], after: int = 0
    ) -> int:
        """Start what is missing, then the team, and wait for its end."""
        begun, tell, team_id = time.monotonic(), self._teller(given["json"]), None
        try:
            with missing.started(tell=tell, rehearse=rehearse) as helpers:
                team_id = team()
                scripted = ScriptedLead(rules, team_id, tell, time.monotonic) if rules else None
                ending = Watch(team_id, tell, scripted, helpers.look, given["timeout"], after=after).until_the_end()
        except KeyboardInterrupt:
            if team_id is None:
                raise
            ending = Ending(End.INTERRUPTED, _goes_on(team_id))
        return self._say_ended(team_id, ending, given["json"], elapsed_s=time.monotonic() - begun)

    def _teller(self, as_json: bool) -> Any:
        stream = self.stderr if as_json else self.stdout

        def tell(line: str) -> None:
            stream.write(line, ending="\n")
            stream.flush()

        return tell

    def _say_started(self, slug: str, as_json: bool, *, plan: Path, hints: int) -> int:
        works = missing.somebody_works()
        if as_json:
            self.print_json({"team": slug, "worker": works, "hints": hints})
        else:
            self.stdout.write(f"The team {slug} has started. `{COMMAND} team status {slug}` shows it.")
            if hints:
                self.stdout.write(_hints(hints, plan))
            if not works:
                self.stdout.write(f"No worker runs yet: start `{COMMAND} up`, or wait here: `{COMMAND} team wait {slug}`.")
        return 0

    def _say_ended(self, team_id: int, ending: Ending, as_json: bool, *, elapsed_s: float) -> int:
        facts = status.read(team_id, timezone.now())
        if as_json:
            outcome = {
                "outcome": ending.end.name.lower(),
                "why": ending.why,
                "exit": int(ending.end),
                "elapsed_s": round(elapsed_s, 1),
            }
            self.print_json(outcome | status.as_json(facts))
        else:
            self.stdout.write("")
            self.show(status.as_text(facts))
            self.stdout.write(f"\n{ending.why} ({elapsed_s:.0f} s)\nFiles: {facts.team.workspace}")
        return int(ending.end)

    def _say(self, said: team_files.Said, as_json: bool) -> int:
        if as_json:
            self.print_json(said.facts)
        else:
            self.stdout.write(said.text)
        return 0

    def _list(self, as_json: bool) -> int:
        found = teams.visible(list(access.team_ids()))
        if as_json:
            rows = [
                {"slug": t.slug, "name": t.name, "status": t.status, "state": t.state, "rehearsal": t.rehearsal} for t in found
            ]
            self.print_json([row | _counts(team) for row, team in zip(rows, found, strict=True)])
            return 0
        for line in team_list.of_teams(found):
            self.stdout.write(line)
        if not found and stored_teams.archived(list(access.team_ids())):
            self.stdout.write(f"Every team is archived: {COMMAND} team list --archived")
        elif not found:
            self.stdout.write(f"No team yet: {COMMAND} team start examples/billing/plan.yaml --rehearse")
        return 0

    def _archived(self, as_json: bool) -> int:
        found = stored_teams.archived(list(access.team_ids()))
        if as_json:
            self.print_json([{"slug": t.slug, "name": t.name, "archived_at": t.archived_at.isoformat()} for t in found])
            return 0
        for line in team_list.of_archived(found):
            self.stdout.write(line)
        if not found:
            self.stdout.write("No team is archived.")
        return 0

    def _one(self, verb: str, given: dict[str, Any]) -> int:
        team = find_team(given["team"])
        if verb in actions.TEAM_ACTS:
            actions.TEAM_ACTS[verb](team.pk, actor=actor())
        if verb == "how-it-goes":
            return self._how_it_goes(team, given["json"])
        facts = status.read(team.pk, timezone.now())
        if given["json"]:
            self.print_json(status.as_json(facts))
        else:
            self.show(status.as_text(facts))
        return 0

    def _delete(self, given: dict[str, Any]) -> int:
        team = find_team(given["team"])
        name = removals.delete(team.pk, name=given["yes_i_mean"], actor=actor())
        return self._say(team_files.Said(f"{name} is deleted with its history.", {"deleted": name}), given["json"])

    def _how_it_goes(self, team: teams.TeamSummary, as_json: bool) -> int:
        report = reports.of_team(team.pk)
        if as_json:
            self.print_json({"team": team.slug, **how_it_goes.as_json(report)})
        else:
            self.show(how_it_goes.as_text(report, team.name))
        return 0


def _hints(number: int, plan: Path) -> str:
    one = "1 hint" if number == 1 else f"{number} hints"
    return f"{one} on how its tasks are written: `{COMMAND} team check {shlex.quote(str(plan))}`."


def _goes_on(team_id: int) -> str:
    slug = teams.summary(team_id).slug
    how = "It goes on" if missing.somebody_works() else f"It goes on when a worker runs, such as that of `{COMMAND} up`"
    return f"Interrupted: nobody waits for the team any more. {how}. Wait again: `{COMMAND} team wait {slug}`."


def _rehearses() -> bool:
    """Whether a team is rehearsed of which nothing is said."""
    return bool(settings.REHEARSE or (desk.running(prepare.home()) or {}).get("rehearse", False))


def _check_timeout(seconds: float | None) -> None:
    if seconds is not None and not seconds > 0:
        raise Invalid("--timeout is a number of seconds above 0.", field="timeout")


def _counts(team: teams.TeamSummary) -> dict[str, Any]:
    return {"tasks_done": team.counts.done, "tasks_total": team.counts.total, "waiting": team.waiting}
