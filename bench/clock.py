"""A clock that a benchmark may set: processes started with `env` see the time of the machine plus an offset (`clock.c`).

PostgreSQL and the agents' processes keep the true time; on SQLite the database's clock is that of the process that asks, so
there the clock of the whole machine is set.
"""

import shutil
import struct
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).with_name("clock.c")
WITHOUT = "needs Linux and a C compiler (Debian: apt-get install gcc libc6-dev)"


class NoClock(Exception):
    """The clock of a process cannot be set here; the message says what it takes."""


@dataclass(frozen=True)
class Clock:
    """Two files in a folder: the library, and the offset, which all processes map."""

    folder: Path

    @classmethod
    def make(cls, folder: Path) -> "Clock":
        """Compile it into a new folder. Raises `NoClock`."""
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None or not sys.platform.startswith("linux"):
            raise NoClock(WITHOUT)
        made = cls(folder)
        folder.mkdir()
        built = subprocess.run(
            [compiler, "-O2", "-shared", "-fPIC", "-o", str(made.library), str(SOURCE)], capture_output=True, check=False
        )
        if built.returncode:
            made.remove()
            raise NoClock(WITHOUT)
        made._offset.write_bytes(struct.pack("=q", 0))
        return made

    @property
    def library(self) -> Path:
        """What the processes load first."""
        return self.folder / "clock.so"

    @property
    def _offset(self) -> Path:
        return self.folder / "offset"

    @property
    def env(self) -> dict[str, str]:
        """What a process needs in its environment."""
        return {"LD_PRELOAD": str(self.library), "CREWDESK_BENCH_CLOCK": str(self._offset)}

    @property
    def offset_s(self) -> int:
        """How many seconds the clock is ahead of the machine's now."""
        return int(struct.unpack("=q", self._offset.read_bytes())[0])

    def seen_s(self) -> float:
        """Return how many seconds ahead of the machine's a new process finds its clock."""
        told = subprocess.run(
            [sys.executable, "-S", "-c", "import time; print(time.time())"],
            env=self.env,
            capture_output=True,
            check=True,
            timeout=20,
        )
        return float(told.stdout) - time.time()

    def moves(self, pid: int) -> bool:
        """Whether this process goes by the clock: it has the offset mapped, so it sees at once what is set."""
        try:
            rows = [line.split() for line in Path(f"/proc/{pid}/maps").read_text().splitlines()]
        except OSError:
            return False
        return any(row[4:5] == [str(self._offset.stat().st_ino)] and row[5:6] == [str(self._offset)] for row in rows)

    def set(self, offset_s: int) -> None:
        """Set the clock so many seconds ahead of the machine's (behind: below 0)."""
        with self._offset.open("r+b") as file:  # in place: the mapped page is the file
            file.write(struct.pack("=q", offset_s))

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)
