#!/usr/bin/env python
"""The one entry to everything: `uv run manage.py up`, `team`, `decide`, `task`, `tail`, `doctor` and Django's own commands."""

import os
import signal
import sys

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C while modules are loaded just ends it; `main` sets it back

from tasks_app import own_memory

if __name__ == "__main__":
    own_memory.keep_private()  # before anything else is loaded: the environment is there from the first moment

from tasks_app.management.entry import main

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    main(sys.argv)
