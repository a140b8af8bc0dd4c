"""The program that audits an installation: see `bench/audit.py`.

`python -m bench.auditor [--json] [--done]` with CREWDESK_HOME (or DATABASE_URL) of the installation to audit; `--done`: every
task must also be completed. One line per violation, and then exit code 1. It only reads.
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
    report = import_module("bench.audit").audit(must_be_done="--done" in sys.argv)  # it reads models, which there are only now
    if "--json" in sys.argv:
        print(json.dumps(asdict(report)))
    else:
        print(
            f"{report.teams} teams, {report.tasks} tasks, {report.runs} runs, {report.events} events, {report.handoffs} takeovers"
        )
        if report.cut:
            print(f"the oldest events of {report.cut} teams were removed: tasks, runs and decisions are not checked there")
        print("\n".join(report.violations) or "nothing was lost, nothing was done twice")
    return 1 if report.violations else 0


if __name__ == "__main__":
    sys.exit(main())
