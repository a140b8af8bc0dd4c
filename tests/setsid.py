"""setsid(1) for tests on a Mac, which has none: a command leads a session of its own, as agents' background jobs may."""

import sys
from pathlib import Path

CODE = (
    "import os, sys; os.getpgrp() == os.getpid() and os.fork() and os._exit(0); os.setsid(); os.execvp(sys.argv[1], sys.argv[1:])"
)


def provide(folder: Path) -> Path:
    """Make the program `setsid` in `folder` and return it."""
    folder.mkdir(exist_ok=True)
    program = folder / "setsid"
    program.write_text(f"""#!/bin/sh\nexec '{sys.executable}' -c '{CODE}' "$@"\n""")
    program.chmod(0o755)
    return program
