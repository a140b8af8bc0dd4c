"""The program that audits an installation: see `bench/audit.py`.

`python -m bench.auditor [--json] [--done] [--whole]` with CREWDESK_HOME (or DATABASE_URL) of the installation to audit; `--done`:
every task must also be completed; `--whole`: no retention rule was ever set, so the oldest events and steps must be there, too.
One line per violation, and then exit code 1. It only reads.
"""

import json
import os
import sys
from dataclasses import asdict
from importlib import import_module

import django


def main() -> int:
    """Print the report; returns the exit code."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    django.setup()
    audit = import_module("bench.audit").audit  # it reads models, which there are only now
    report = audit(must_be_done="--done" in sys.argv, must_be_whole="--whole" in sys.argv)
    if "--json" in sys.argv:
        print(json.dumps(asdict(report)))
    else:
        print(
            f"{report.teams} teams, {report.tasks} tasks, {report.runs} runs, {report.events} events, {report.handoffs} takeovers"
        )
        if report.cut:
            print(f"the oldest events of {report.cut} teams are not there: tasks, runs and requests are not checked in them")
        if report.short:
            print(f"the oldest steps of {report.short} runs are not there")
        print("\n".join(report.violations) or "nothing was lost, nothing was done twice")
    return 1 if report.violations else 0


if __name__ == "__main__":
    sys.exit(main())
