#!/usr/bin/env python
"""The one entry to everything: `uv run manage.py up`, `team`, `decide`, `task`, `tail`, `doctor` and Django's own commands."""

import os
import sys

from tasks_app.management.entry import main

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    main(sys.argv)
