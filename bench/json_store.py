"""The peer: a task list in one JSON file behind a file lock, as many agent tools keep it. The same work as ours, no more."""

import fcntl
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.place import ROOT


class JsonStore:
    """Tasks in a file: read whole, changed, written whole, under an exclusive lock."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def _locked(self) -> Iterator[list[dict[str, Any]]]:
        with self.path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            tasks = json.loads(self.path.read_text())
            yield tasks
            new = self.path.with_suffix(".new")
            new.write_text(json.dumps(tasks))
            new.replace(self.path)

    def claim(self, who: str) -> int | None:
        """Take the first pending task; None when there is none."""
        with self._locked() as tasks:
            for task in tasks:
                if task["status"] == "pending":
                    task["status"], task["owner"] = "in_progress", who
                    return int(task["id"])
        return None

    def complete(self, number: int) -> None:
        """Mark a task as completed."""
        with self._locked() as tasks:
            tasks[number]["status"] = "completed"


def work(path: Path, who: str) -> list[float]:
    """Claim and complete until there is nothing left; returns the milliseconds of each task."""
    store = JsonStore(path)
    took: list[float] = []
    while True:
        begun = time.perf_counter()
        number = store.claim(who)
        if number is None:
            return took
        store.complete(number)
        took.append((time.perf_counter() - begun) * 1000)


def claim_all(*, tasks: int, workers: int) -> list[float]:
    """Let processes claim and complete all tasks; returns the milliseconds of each."""
    with tempfile.TemporaryDirectory(prefix="crewdesk-json-") as folder:
        path = Path(folder) / "tasks.json"
        text = "Do this carefully, and say how you know that it is done. " * 10
        rows = [{"id": n, "title": f"Task {n}", "description": text, "status": "pending"} for n in range(tasks)]
        path.write_text(json.dumps(rows))
        command = [sys.executable, "-m", "bench.json_store", str(path)]
        crowd = [subprocess.Popen([*command, f"agent{n}"], cwd=ROOT, stdout=subprocess.PIPE, text=True) for n in range(workers)]
        return [float(word) for each in crowd for word in each.communicate(timeout=120)[0].split()]


if __name__ == "__main__":
    print(*work(Path(sys.argv[1]), sys.argv[2]))
