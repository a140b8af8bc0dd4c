"""`python -m bench NAME [--json] [--database sqlite|postgres] [--quick]`: runs one benchmark and prints what it found."""

import argparse
import os
import signal
import sys
import time
from importlib import import_module
from types import FrameType

import django
from rich.console import Console

from bench import machine, many, place
from bench.cluster import NoPostgres
from bench.missing import NoChromium
from bench.registry import BENCHES, UNWIND_S
from bench.report import Report, as_json, show


def arguments() -> argparse.ArgumentParser:
    """Return the command line."""
    epilog = "\n".join(f"  {name:<9} {bench.summary}" for name, bench in BENCHES.items())
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, epilog=epilog, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=BENCHES, metavar="NAME", help="which one; they are listed below")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--database", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--quick", action="store_true", help="small and fast: to see that it works, not to quote")
    parser.add_argument("--seed", type=int, default=1, help="what chance decides (chaos, pages, rolling, schedule)")
    parser.add_argument("--seeds", type=int, default=1, help="so many seeds, from --seed on, each in a place of its own")
    parser.add_argument(
        "--tasks", type=int, default=0, help="number of tasks (chaos, rolling, schedule); 0: as the benchmark likes"
    )
    parser.add_argument("--acts", type=int, default=-1, help="chaos: at most so many acts; 0: undisturbed")
    parser.add_argument("--minutes", type=float, default=0, help="soak: how long; 0: an hour, or a minute with --quick")
    parser.add_argument("--cases", default="", help="recover: only these, by comma: up, nothing, valkey, sibling, host")
    parser.add_argument("--kills", type=int, default=0, help="recover: how often each worker is killed (6, or 1 with --quick)")
    parser.add_argument("--keep", default="", metavar="FOLDER", help="chaos: copy logs and rows there")
    return parser


def main() -> int:
    """Run it; returns the exit code: 1 when something happened that must not, 2 when it cannot run here."""
    given = arguments().parse_args()
    signal.signal(signal.SIGALRM, _too_long)
    signal.signal(signal.SIGTERM, _too_long)
    try:
        found_on = machine.here(database=given.database)
        report = many.play(given) if given.seeds > 1 else _one(given)
    except (NoPostgres, NoChromium, many.CannotRun) as error:
        print(error, file=sys.stderr)
        return many.CANNOT
    if given.json:
        print(as_json(report, found_on, vars(given)))
    else:
        show(report, found_on, Console(width=None if sys.stdout.isatty() else int(os.environ.get("COLUMNS", "140"))))
    return 1 if report.failures else 0


def _one(given: argparse.Namespace) -> Report:
    bench = BENCHES[given.name]
    signal.alarm(int(bench.limit_s))
    try:
        with place.made(given.database, small_disk_mib=bench.small_disk_mib, own_clock=bench.own_clock, **bench.settings) as here:
            django.setup()
            begun = time.monotonic()
            with machine.load_watched() as loads:
                report: Report = import_module(bench.module).run(here, given)
            report.notes += machine.too_busy(loads)
            report.seconds = time.monotonic() - begun
            return report
    finally:
        signal.alarm(0)


def _too_long(number: int, frame: FrameType | None) -> None:
    """Time is up, or somebody ends us: unwind, so that nothing is left behind. What hangs on the way out is broken off, too."""
    signal.alarm(UNWIND_S)
    raise SystemExit(f"ended by {signal.Signals(number).name}: {'it took too long' if number == signal.SIGALRM else 'asked to'}")


def by_force() -> None:
    """Let the system end us in a while: Python waits for a thread that does not end."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(UNWIND_S)


if __name__ == "__main__":
    try:
        sys.exit(main())
    finally:
        by_force()
