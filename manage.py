#!/usr/bin/env python
"""The one entry to everything: `uv run manage.py up`, `team`, `decide`, `task`, `tail`, `doctor` and Django's own commands."""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    execute_from_command_line(sys.argv)
