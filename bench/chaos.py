"""Chaos: a rehearsed team works while a killer does to its installation what life does; then the auditor reads the log."""

import argparse
import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from django.core.management import call_command
from django.db import connection, connections

from bench import audit, desk, leftovers, story
from bench.desk import Desk
from bench.killer import Killer
from bench.place import ROOT, Place
from bench.places import most_at_work
from bench.report import Report
from bench.story import Story
from tasks_app.domain.statuses import Reason, RunStatus, TaskStatus
from tasks_app.models import Run, Task, Team

WORKERS, WEBS = 3, 2
TRY_AGAIN_S = 1.0
BACK_S = 45.0
"""A process that died again and again is started after half a minute."""
PAUSE_S = 3.0
FULL = 100
"""With so many tasks there is time for every kind of act."""


class Disturber(Protocol):
    """What makes the story hard: begins once the team works."""

    def start(self) -> None:
        """Begin."""


def run(place: Place, options: argparse.Namespace) -> Report:
    """Play the story once with the seed; every violation is a failure of the report."""
    tasks = options.tasks or (12 if options.quick else FULL)
    report = Report("chaos")
    told = story.make(tasks=tasks, seed=options.seed)
    with desk.running(place, workers=WORKERS, webs=WEBS) as house, story_files(told) as (plan, lead):
        most = 12 + tasks // 2 if options.acts < 0 else options.acts
        killer = Killer(house, options.seed, most=most, pause_s=PAUSE_S if tasks >= FULL else PAUSE_S / 2)
        begun = time.monotonic()
        try:
            ended = play(place, plan, lead, killer, limit_s=180 + 12 * tasks)
        finally:
            killer.stop()
        took = time.monotonic() - begun
        connections.close_all()
        report.failures += leftovers.orphans(place.home) + _whole(house)
        found = audit.audit()
        left_s = house.leave()
        if options.keep:
            _keep(place, Path(options.keep))
        report.failures += _left(house) + leftovers.processes(place.home) + leftovers.files(place.home)
        report.failures += ended + found.violations + asked(told, found) + unproved(told, found)
        report.failures += killer.without_effect(every_kind=tasks >= FULL and options.acts < 0)
        _figures(report, killer, found, took=took, left_s=left_s, place=place)
        if report.failures:
            report.notes.append(f"the desk's last words: {house.text()[-600:]}")
    report.notes += [f"seed {options.seed}: {dict(told.kinds)}", *_in_words(killer)]
    return report


def _keep(place: Place, folder: Path) -> None:
    """Copy the logs and a dump of the database, for whoever looks into a violation."""
    shutil.copytree(place.home / "log", folder / "log", dirs_exist_ok=True)
    with (folder / "data.json").open("w") as file:
        call_command("dumpdata", "tasks_app", stdout=file, verbosity=0)


@contextlib.contextmanager
def story_files(told: Story) -> Iterator[tuple[Path, Path]]:
    """Yield the paths of the plan and of the lead's file."""
    with tempfile.TemporaryDirectory(prefix="crewdesk-story-") as folder:
        yield told.write(Path(folder))


def play(place: Place, plan: Path, lead: Path, killer: Disturber, *, limit_s: float) -> list[str]:
    """Start the team and answer for it until its end. The lead's command may die of what is killed: then it is started again."""
    end = time.monotonic() + limit_s
    started = _command(place, "start", str(plan), "--rehearse", "--json", limit_s=60)
    answer = _last_json(started)
    if answer is None:
        return [f"the team did not start: {started.stderr[-500:]}"]
    killer.start()
    why = "time was up"
    while (left := end - time.monotonic()) > 1:
        waited = _command(
            place, "wait", answer["team"], "--lead", str(lead), "--json", "--timeout", f"{left:.0f}", limit_s=left + 30
        )
        ending = _last_json(waited)
        if ending is not None and ending.get("outcome") == "completed":
            return []
        why = (
            ending.get("why") or str(ending.get("error")) if ending else waited.stderr[-500:]
        )  # the database may be away just now
        time.sleep(TRY_AGAIN_S)
    return [f"the team did not come to its end: {why}"]


def _command(place: Place, *words: str, limit_s: float) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "manage.py", "team", *words]
    try:
        return subprocess.run(argv, cwd=ROOT, env=place.env, capture_output=True, text=True, timeout=limit_s, check=False)
    except subprocess.TimeoutExpired as late:
        return subprocess.CompletedProcess(argv, 1, "", f"did not end: {late}")


def _last_json(done: subprocess.CompletedProcess[str]) -> dict[str, Any] | None:
    try:
        found = json.loads(done.stdout)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _whole(house: Desk) -> list[str]:
    """After all of that everything must be there again, and the pages come."""
    try:
        desk.until(lambda: not house.missing(), seconds=BACK_S, pause_s=0.5, words="all of the desk")
    except desk.TooLate as late:
        return [f"{late}: {', '.join(house.missing())}"]
    return []


def _left(house: Desk) -> list[str]:
    """It was told to leave, and must have done so by itself and in order."""
    code = house.process.poll() if house.process is not None else None
    return [] if code == 0 else ["up did not leave when it was told to" if code is None else f"up ended with {code}"]


def _in_words(killer: Killer) -> list[str]:
    words = [f"acts: {'; '.join(killer.acts) or 'none'}"]
    words += [
        f"put off: {kind} ({', '.join(f'{why}, {n} times' for why, n in whys.items())})" for kind, whys in killer.put_off.items()
    ]
    return words + [f"left out: {what} ({why})" for what, why in killer.left.items()]


def unproved(told: Story, found: audit.Report) -> list[str]:
    """What the auditor could not look at, so that its silence says nothing."""
    planned, most = len(told.plan["tasks"]), told.plan["limits"]["parallel"]
    done = Task.objects.filter(status=TaskStatus.COMPLETED.value).count()
    wrong = [f"{done} tasks of {planned} were done"] if done != planned else []
    if (found.teams, found.tasks) != (1, planned):
        wrong.append(f"{found.teams} teams with {found.tasks} tasks were audited instead of 1 with {planned}")
    if found.cut:
        wrong.append("the first events are not in the log: most was not checked")
    if not found.scripted:
        wrong.append("not one message was compared with the script")
    elif planned >= FULL and not found.scripted["runs compared to the last token and cent"]:
        wrong.append("not one run was compared to the last token and cent")
    at_work = {team.slug: most_at_work(team) for team in Team.objects.all()}
    return wrong + [f"{team}: {n} runs were at work at once, {most} may be" for team, n in at_work.items() if n > most]


def asked(told: Story, found: audit.Report) -> list[str]:
    """The lead was asked what the story asks, once each; a task that failed by what was killed may ask once more per attempt."""
    failed = Run.objects.filter(status=RunStatus.FAILED.value).exclude(reason=Reason.REPORTED.value)
    repeated = set(failed.values_list("task__title", flat=True))
    wrong = []
    for what in sorted({*told.asks, *found.asked}):
        title = what.partition(" / ")[0]
        expected, asked = told.asks.get(what, 0), found.asked.get(what, 0)
        if title not in repeated and asked != expected:
            wrong.append(f"asked {asked} times instead of {expected}: {what}")
    return wrong


def _figures(report: Report, killer: Killer, found: audit.Report, *, took: float, left_s: float, place: Place) -> None:
    team = Team.objects.first()
    done = Task.objects.filter(team=team, status=TaskStatus.COMPLETED.value).count() if team else 0
    report.add("tasks completed, each exactly once", "tasks", [done])
    report.add("time to the end", "s", [took])
    report.add("acts of the killer whose effect was seen", "acts", [killer.done.total()])
    for kind in sorted(killer.kinds):
        report.add(f"  {kind}", "acts", [killer.done[kind]])
    report.add("acts without their effect", "acts", [sum(map(len, killer.failed.values()))])
    report.add("runs", "runs", [found.runs])
    report.add("runs at work at once, at most", "runs", [most_at_work(team)] if team else [])
    report.add("takeovers", "lives", [found.handoffs])
    report.add("events, gapless", "events", [found.events])
    report.add("violations", "", [len(report.failures)])
    report.add("external effects that happened twice", "effects", [_repeated_effects(team)])
    report.add("time to leave in order", "s", [left_s])
    for name, value in found.scripted.items():
        report.add(name, "", [value])
    connection.close()


def _repeated_effects(team: Team | None) -> int:
    """How often a shell command of an agent ran once more than scripted: at-least-once by nature, shown, not forbidden."""
    lines: list[str] = []
    for log in Path(team.workspace).glob("T-*.log") if team else []:
        lines += [f"{log.name} {line}" for line in log.read_text("utf-8", "replace").splitlines()]
    return len(lines) - len(set(lines))
