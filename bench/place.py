"""Where a benchmark happens: a home of its own in a temporary folder, a fresh database, and nothing left of it afterwards."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bench.clock import Clock, NoClock
from bench.cluster import Cluster

ROOT = Path(__file__).resolve().parents[1]
FOREIGN = ("CREWDESK_", "ANTHROPIC_", "CLAUDE")
ALSO_FOREIGN = {"REDIS_URL", "PYTHONDONTWRITEBYTECODE"}
"""The second makes every process compile all it imports: 2.4 s of processor time for a command instead of 1.0."""


@dataclass
class Place:
    """The home, its environment, and the PostgreSQL cluster where there is one."""

    home: Path
    database: str
    cluster: Cluster | None = None
    small_disk: bool = False
    """Whether the home is a file system of its own that can be filled."""
    env: dict[str, str] = field(default_factory=dict)
    clock: Clock | None = None
    """The clock of whatever is started with `env`, where it may be set."""

    def manage(self, *words: str, timeout_s: float = 120, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a management command in this home."""
        done = subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=ROOT,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        if check and done.returncode:
            said = (done.stderr or done.stdout)[-1500:]
            raise RuntimeError(f"manage.py {' '.join(words)} ended with {done.returncode}: {said}")
        return done


@contextlib.contextmanager
def made(database: str, *, small_disk_mib: int = 0, own_clock: bool = False, **settings: str) -> Iterator[Place]:
    """Yield a place and make it this process's own: `os.environ` names it, so Django may be set up afterwards.

    `settings` are CREWDESK_* variables in lower case without the prefix. `small_disk_mib`: the home is a tmpfs of that size
    (only as root on Linux; else an ordinary folder, and `Place.small_disk` says so). `own_clock`: processes get a clock that can
    be set, where there is a C compiler. Raises `NoPostgres`.
    """
    cluster = Cluster.start() if database == "postgres" else None
    home = Path(tempfile.mkdtemp(prefix="crewdesk-bench-"))
    mounted = bool(small_disk_mib) and _mount(home, small_disk_mib)
    before = dict(os.environ)
    movable = _clock(home) if own_clock else None
    try:
        clean = {name: value for name, value in before.items() if not name.startswith(FOREIGN) and name not in ALSO_FOREIGN}
        words = {f"CREWDESK_{name.upper()}": value for name, value in settings.items()}
        env = clean | words | {
            "CREWDESK_HOME": str(home),
            "DATABASE_URL": cluster.url if cluster else "",
            "DJANGO_SETTINGS_MODULE": "dashboard.settings",
            "PYTHONUNBUFFERED": "1",
            # who is not root could not tell the processes of the home by their environment
            "CREWDESK_INSPECTABLE": "0" if os.geteuid() == 0 else "1",
        }  # fmt: skip
        os.environ.clear()
        os.environ.update(env)
        yield Place(home, database, cluster, mounted, env | (movable.env if movable else {}), movable)
    finally:
        os.environ.clear()
        os.environ.update(before)
        if mounted:
            subprocess.run(["umount", "--lazy", str(home)], check=False)
        shutil.rmtree(home, ignore_errors=True)
        if movable is not None:
            movable.remove()
        if cluster is not None:
            cluster.remove()


def _clock(home: Path) -> Clock | None:
    try:
        return Clock.make(home.with_suffix(".clock"))
    except NoClock:
        return None


def _mount(home: Path, size_mib: int) -> bool:
    if os.geteuid() != 0 or not sys.platform.startswith("linux"):
        return False
    command = ["mount", "-t", "tmpfs", "-o", f"size={size_mib}m,mode=700", "crewdesk-bench", str(home)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
