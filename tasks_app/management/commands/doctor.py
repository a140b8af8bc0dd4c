"""`manage.py doctor`: is everything there that Crewdesk needs, and if not, what to do."""

from argparse import ArgumentParser
from typing import Any

from rich.text import Text

from tasks_app.management import doctor
from tasks_app.management.cli import DeskCommand
from tasks_app.management.doctor import Level

MARKS = {
    Level.OK: ("✓", "green"),
    Level.OFF: ("○", "dim"),
    Level.UNUSED: ("–", "dim"),
    Level.WARN: ("!", "yellow"),
    Level.FAIL: ("✗", "bold red"),
}
LEGEND = "✓ in order   ○ does not run now   – not needed   ! works, with less   ✗ broken: exit code 1, else 0"


class Command(DeskCommand):
    help = "Check Redis, database, Claude Code, key, disk, memory and versions; say what to do. Exit code 1: something is broken."

    needs_database = False  # whether it is there is one of the findings

    def add_arguments(self, parser: ArgumentParser) -> None:
        self.add_json(parser)

    def act(self, given: dict[str, Any]) -> int:
        found = []
        for finding in doctor.examine():
            found.append(finding)
            if not given["json"]:
                mark, style = MARKS[finding.level]
                self.show(Text.assemble((f"{mark} ", style), (f"{finding.name:<10}", "bold"), finding.message))
                if finding.fix:
                    self.show(Text(f"             → {finding.fix}", style="cyan"))
        if not given["json"]:
            self.show(Text(LEGEND, style="dim"))
        failed = any(finding.level is Level.FAIL for finding in found)
        if given["json"]:
            rows = [{"name": f.name, "level": f.level.value, "message": f.message, "fix": f.fix} for f in found]
            self.print_json({"ok": not failed, "checks": rows})
        return 1 if failed else 0
