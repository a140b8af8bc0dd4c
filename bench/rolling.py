"""Rolling: every part of an installation is replaced in order while a team works and people use the pages; then the auditor.

What a deploy does, and what `kill` without -9 does: workers and web servers get SIGTERM one by one, Valkey and PostgreSQL are
restarted. Nothing may be lost, and nobody may be turned away.
"""

import argparse
import signal
import threading
import time
from dataclasses import dataclass, field
from functools import partial

import psutil
from django.db import connection, connections

from bench import audit, chaos, desk, leftovers, story, visitors
from bench.desk import Desk, of_home
from bench.place import Place
from bench.report import Goal, Report
from bench.visitors import Visitors
from tasks_app.domain.events import EventKind
from tasks_app.domain.leases import NEVER
from tasks_app.domain.statuses import RunStatus
from tasks_app.management import prepare
from tasks_app.models import Event, Run, Step, Team, Worker

WORKERS, WEBS, PAGES = 3, 2, 10
TITLE = "Rolling"
GO_ON_S = 5.0
"""Within so long the runs of a worker that leaves go on elsewhere."""
PATIENCE_S = 40.0
ROUND_S = 240.0
"""Within so long the round that is under way has ended when nothing hangs."""
ENDS = (EventKind.RUN_COMPLETED.value, EventKind.RUN_FAILED.value, EventKind.RUN_KILLED.value)


@dataclass
class Measured:
    """`handed`: the runs of workers that were told to leave, as (run, fence, when); `left`: seconds until a part had left."""

    handed: list[tuple[str, int, float]] = field(default_factory=list)
    left: dict[str, list[float]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    """What ended it before it was told to."""


class Roller:
    """Replaces every part, round after round, until `stop`. Plays the killer's part in `chaos.play`."""

    def __init__(self, house: Desk) -> None:
        self.house, self.measured = house, Measured()
        self.rounds = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._live, daemon=True)

    def start(self) -> None:
        """Begin, once some agents work."""
        self._thread.start()

    def stop(self) -> None:
        """End after the round that is under way; one that does not end is left alone, and said."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(ROUND_S)
        if self._thread.is_alive():
            self.measured.wrong.append(f"round {self.rounds + 1} did not come to its end within {ROUND_S:g} s")

    def _live(self) -> None:
        try:
            while not self._stopped.is_set():
                self._round()
                self.rounds += 1
        except desk.TooLate as late:
            self.measured.wrong.append(f"round {self.rounds + 1}: {late}")
        except Exception as error:
            # whatever it is, from here on nothing is replaced: the report must not look as if it were
            self.measured.wrong.append(f"round {self.rounds + 1} ended by {type(error).__name__}: {error}")
        finally:
            connections.close_all()

    def _round(self) -> None:
        for worker in of_home(self.house.place.home, "worker"):
            self._replace_worker(worker)
        for web in of_home(self.house.place.home, "web"):
            self._replace(web, "web")
            desk.until(self._all_webs_serve, seconds=PATIENCE_S, words="the new web server")
        for valkey in of_home(self.house.place.home, "valkey"):
            self._replace(valkey, "valkey")
        if self.house.place.cluster is not None:
            self.house.place.cluster.restart(mode="fast")
            connections.close_all()  # ours are gone too

    def _all_webs_serve(self) -> bool:
        webs = of_home(self.house.place.home, "web")
        return len(webs) == WEBS and all(desk.takes_connections(web) for web in webs)

    def _replace(self, process: psutil.Process, kind: str) -> None:
        """SIGTERM, and `up` starts another; notes how long it took to leave."""
        count, begun = len(of_home(self.house.place.home, kind)), time.monotonic()
        process.send_signal(signal.SIGTERM)
        desk.until(partial(desk.has_ended, process), seconds=PATIENCE_S, words=f"the end of a {kind}")
        self.measured.left.setdefault(kind, []).append(time.monotonic() - begun)
        desk.until(lambda: len(of_home(self.house.place.home, kind)) >= count, seconds=PATIENCE_S, words=f"another {kind}")

    def _replace_worker(self, process: psutil.Process) -> None:
        """As the others; and each run of it that waits for nobody must go on elsewhere."""
        desk.until(lambda: self._stopped.is_set() or _steps_of(process.pid), seconds=PATIENCE_S, words="a worker with work")
        held, at = _fences(process.pid), time.time()
        self._replace(process, "worker")
        desk.until(partial(_settled, held), seconds=PATIENCE_S, pause_s=0.1, words="every run of a worker that left")
        self.measured.handed += [(run_id, fence, at) for run_id, fence in held.items()]
        desk.until(lambda: Worker.objects.count() >= WORKERS, seconds=PATIENCE_S, words="a new worker")
        connection.close()


def _fences(pid: int) -> dict[str, int]:
    rows = Run.objects.filter(status=RunStatus.RUNNING.value, worker__contains=f":{pid}:")
    found = dict(rows.values_list("pk", "fence"))
    connection.close()
    return found


def _steps_of(pid: int) -> bool:
    """Whether the worker has a run under way that has done something."""
    return Run.objects.filter(status=RunStatus.RUNNING.value, worker__contains=f":{pid}:", last_seq__gt=1).exists()


def _settled(held: dict[str, int]) -> bool:
    """Whether each run has begun its next life, has ended, or waits for an answer or a time."""
    try:
        return not any(
            run.fence == held[run.pk]
            and (run.status == RunStatus.RUNNING.value or (run.status == RunStatus.PENDING.value and _is_due(run)))
            for run in Run.objects.filter(pk__in=list(held))
        )
    finally:
        connection.close()


def _is_due(run: Run) -> bool:
    return run.due_at < NEVER and run.due_at <= time.time()


def handed_on(handed: list[tuple[str, int, float]]) -> tuple[list[float], list[float], list[str]]:
    """Return after how many seconds these runs were claimed elsewhere, and had their next step; and in words who had none.

    To be read when the team has come to its end: what comes late is there by then, and no sample is dropped for it. Where the
    agent had reported before, the next life only ends the run: it has no step, and is none of those that say nothing.
    """
    claimed, stepped, silent = [], [], []
    for run_id, fence, at in handed:
        if (started := _at(run_id, fence)) is None:
            continue
        claimed.append(started - at)
        first = Step.objects.filter(run_id=run_id, fence__gt=fence).order_by("seq").values_list("at", flat=True).first()
        if first is not None:
            stepped.append(first.timestamp() - at)
        elif not Event.objects.filter(run_id=run_id, kind__in=ENDS, data__fence__gt=fence).exists():
            silent.append(f"run {run_id} was claimed elsewhere and said nothing more")
    return claimed, stepped, silent


def _at(run_id: str, fence: int) -> float | None:
    """When the next life began, where it did so without waiting for the lead."""
    started = Event.objects.filter(run_id=run_id, kind=EventKind.RUN_STARTED.value, data__fence=fence + 1).first()
    if started is None:
        return None
    of_run = Event.objects.filter(run_id=run_id, team_id=started.team_id)
    parked = of_run.filter(kind=EventKind.RUN_PARKED.value, data__fence=fence).first()
    if parked is None:
        return started.at.timestamp()
    answered = of_run.filter(kind=EventKind.RUN_RESUMABLE.value, seq__gt=parked.seq, seq__lt=started.seq)
    return None if answered.exists() else started.at.timestamp()


def run(place: Place, options: argparse.Namespace) -> Report:
    """Play the story once while everything is replaced; every loss is a failure of the report."""
    report = Report("rolling")
    told = story.make(tasks=options.tasks or (16 if options.quick else 60), seed=options.seed, name=TITLE)
    prepare.everything()
    idle = visitors.idle_team()
    with desk.running(place, workers=WORKERS, webs=WEBS) as house, chaos.story_files(told) as (plan, lead):
        roller, people = Roller(house), Visitors(house.port, idle, pages=PAGES)
        people.begin()
        try:
            ended = chaos.play(place, plan, lead, roller, limit_s=600)
        finally:
            roller.stop()
            connections.close_all()
            lost = people.end()
        report.failures += leftovers.orphans(place.home)
        found = audit.audit()
        house.leave()
        report.failures += leftovers.processes(place.home) + leftovers.files(place.home)
        report.failures += ended + lost + found.violations + chaos.asked(told, found) + unproved(roller, people, found)
        _figures(report, roller, people, found)
        if options.keep or report.failures:
            report.notes.append(f"the desk's last words: {house.text()[-600:]}")
    return report


def unproved(roller: Roller, people: Visitors, found: audit.Report) -> list[str]:
    """Return in words what keeps a run without a violation from being a proof, and what was done twice."""
    wrong = [*roller.measured.wrong, *people.died]
    if not roller.rounds:
        wrong.append("no round came to its end: not every part was replaced")
    if people.twice:
        wrong.append(f"{people.twice} forms were stored twice")
    if found.cut:
        wrong.append(f"the oldest events of {found.cut} teams are gone: what needs the whole log was not checked")
    return wrong


def _figures(report: Report, roller: Roller, people: Visitors, found: audit.Report) -> None:
    claimed, stepped, silent = handed_on(roller.measured.handed)
    report.failures += silent
    tasks = Team.objects.filter(name=TITLE, tasks__status="completed").count()
    report.add("tasks completed, each exactly once", "tasks", [tasks])
    report.add("rounds in which every part was replaced", "rounds", [roller.rounds], Goal("min", 1, least=True))
    report.add("SIGTERM → a run of that worker is claimed elsewhere", "s", claimed, Goal("max", GO_ON_S))
    report.add("SIGTERM → its next step", "s", stepped, Goal("max", GO_ON_S))
    for kind, seconds in sorted(roller.measured.left.items()):
        report.add(f"SIGTERM → the {kind} has left", "s", seconds, Goal("max", 10))
    report.add("a form, until it was accepted", "s", people.waits_s, Goal("p99", 2))
    # who is in the middle of a form while PostgreSQL restarts is told so (503) and sends it again; nobody else is turned away
    restarts = (roller.rounds + 1) if roller.house.place.cluster is not None else 0
    told = people.failed.pop("HTTP 503", 0)
    report.add("forms told that the database restarts, and sent again", "forms", [told], Goal("max", restarts))
    report.add("forms that had to be sent again for another reason", "forms", [sum(people.failed.values())], Goal("max", 0))
    report.add("forms that were stored twice", "forms", [people.twice], Goal("max", 0))
    gaps = [gap for page in people.pages for gap in page.gaps_s]
    report.add("an open page without a connection", "s", gaps, Goal("p99", 5))
    report.add("pages fetched again", "times", [sum(page.fetched for page in people.pages)])
    report.add("takeovers", "lives", [found.handoffs])
    report.add("violations", "", [len(report.failures)])
    if people.failed:
        report.notes.append(f"sent again because of {dict(people.failed)}")
    report.notes.append(
        f"{WORKERS} workers, {WEBS} web servers, {len(people.pages)} open pages, a form every {visitors.WRITE_EVERY_S} s"
    )
