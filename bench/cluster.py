"""A PostgreSQL cluster of our own for the time of a benchmark: a fresh folder, a unix socket, no TCP, gone afterwards."""

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

USER = "postgres"
"""Who serves it when we are root: the server refuses to run as root."""
HOW = "PostgreSQL is not installed. Debian: apt-get install postgresql; macOS: brew install postgresql; then try again."
LOCALE = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"
"""macOS knows C.UTF-8 only in its newest versions."""
OPTIONS = "-c listen_addresses='' -c max_connections=300 -c shared_buffers=128MB"


class NoPostgres(Exception):
    """There is no PostgreSQL here; the message says how to get it."""


def binaries() -> Path:
    """Return the folder of the newest PostgreSQL. Raises `NoPostgres`."""
    folders = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    found = shutil.which("initdb")
    folders += [Path(found).resolve().parent] if found else []
    if not folders:
        raise NoPostgres(HOW)
    return max(folders, key=lambda folder: [int(part) for part in folder.parts if part.isdigit()])


@dataclass
class Cluster:
    """A running server; durable as in production (fsync on) unless a benchmark says otherwise."""

    folder: Path

    @classmethod
    def start(cls) -> "Cluster":
        """Make and start one. Raises `NoPostgres`, or RuntimeError with the end of its log."""
        folder = Path(tempfile.mkdtemp(prefix="crewdesk-pg-"))  # short: the path of a socket has at most 107 bytes
        made = cls(folder)
        try:
            if os.geteuid() == 0:
                shutil.chown(folder, USER)
            made._run("initdb", "-D", str(made.data), "-U", "crewdesk", "--auth=trust", "--encoding=UTF8", f"--locale={LOCALE}")
            made._control("start")
        except BaseException:
            made.remove()
            raise
        return made

    @property
    def data(self) -> Path:
        """The data folder."""
        return self.folder / "data"

    @property
    def url(self) -> str:
        """For DATABASE_URL."""
        return f"postgres://crewdesk@/postgres?host={self.folder}"

    def pid(self) -> int:
        """Return the process that serves it."""
        return int((self.data / "postmaster.pid").read_text().split()[0])

    def restart(self, *, mode: str = "immediate") -> None:
        """Restart it; `immediate` is what a crash looks like: nothing is flushed, recovery follows."""
        self._control("restart", "-m", mode)

    def stop(self) -> None:
        """Let it be away until `go_on`: as after a crash, nothing is flushed."""
        self._control("stop", "-m", "immediate")

    def go_on(self) -> None:
        """Start it again."""
        self._control("start")

    def remove(self) -> None:
        """Stop the server and remove its folder; no error where there is none."""
        if (self.data / "postmaster.pid").exists():
            self._control("stop", "-m", "immediate", check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _control(self, verb: str, *more: str, check: bool = True) -> None:
        options = ("-o", f"{OPTIONS} -c unix_socket_directories='{self.folder}'") if verb in ("start", "restart") else ()
        files = ("-D", str(self.data), "-l", str(self.folder / "log"))
        self._run("pg_ctl", *files, "-w", "-t", "60", *options, *more, verb, check=check)

    def _run(self, program: str, *arguments: str, check: bool = True) -> None:
        who = pwd.getpwnam(USER) if os.geteuid() == 0 else None
        done = subprocess.run(
            [str(binaries() / program), *arguments],
            cwd=self.folder,
            user=who.pw_uid if who else None,
            group=who.pw_gid if who else None,
            extra_groups=[] if who else None,
            env={"PATH": os.defpath, "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if program == "initdb" else subprocess.DEVNULL,  # a server would keep a pipe open
            stderr=subprocess.STDOUT if program == "initdb" else subprocess.DEVNULL,
            timeout=120,
            check=False,
        )
        if check and done.returncode:
            log = self.folder / "log"
            said = (done.stdout or b"").decode("utf-8", "replace") or (log.read_text("utf-8", "replace") if log.exists() else "")
            raise RuntimeError(f"{program} ended with {done.returncode}: {said[-800:]}")
