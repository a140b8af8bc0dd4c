"""PostgreSQL is really gone for a while under a running desk; prints how soon its processes serve again, as JSON."""

import json
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import psycopg

from bench.cluster import Cluster
from tests.management.desks import RunningDesk, free_port, wait_for

AWAY_S = 17.0
"""With pauses that double, a try to connect comes 15 s after the first and the next after 31 s: 14 s too late."""
PATIENCE_S = 60.0


def seen_s_ago(cluster: Cluster) -> float:
    """How long ago the worker told the database that it lives, by the database's clock."""
    with psycopg.connect(f"host={cluster.folder} user=crewdesk dbname=postgres") as connection:
        row = connection.execute("SELECT extract(epoch FROM clock_timestamp()) - max(seen_at) FROM tasks_app_worker").fetchone()
    return float(row[0]) if row and row[0] is not None else 1e9


def page(port: int) -> int:
    """The status of a page that asks the database who its visitor is: one with a session that nobody has."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/", headers={"Cookie": f"crewdesk_session={'a' * 32}"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


class Visitors:
    """Four people who load a page again and again, and note what came of it and when."""

    def __init__(self, port: int) -> None:
        self.port, self.over = port, threading.Event()
        self.answers: list[tuple[float, int]] = []
        self.threads = [threading.Thread(target=self._look) for _ in range(4)]

    def __enter__(self) -> "Visitors":
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        for thread in self.threads:
            thread.join(60)

    def _look(self) -> None:
        while not self.over.wait(0.1):
            status = page(self.port)
            self.answers.append((time.monotonic(), status))

    def served(self, since: float) -> bool:
        """Whether pages have been served again, and none of the last twenty was refused."""
        last = [status for at, status in self.answers if at > since][-20:]
        return len(last) == 20 and set(last) == {200}


def main() -> dict[str, Any]:
    """Return how many seconds after its return the worker's heart beat again and all pages were served again."""
    cluster = Cluster.start()
    try:
        with tempfile.TemporaryDirectory(prefix="crewdesk-away-") as folder:
            env = {"DATABASE_URL": cluster.url, "CREWDESK_WORKER_SLOTS": "1"}
            desk = RunningDesk(Path(folder) / "home", free_port(), env=env)
            try:
                return _measured(cluster, desk.wait_ready())
            finally:
                desk.end()
    finally:
        cluster.remove()


def _measured(cluster: Cluster, desk: RunningDesk) -> dict[str, Any]:
    wait_for(lambda: seen_s_ago(cluster) < 5, seconds=20)
    before = desk.children()
    with Visitors(desk.port) as visitors:
        wait_for(lambda: visitors.served(0), seconds=20)
        cluster.stop()
        time.sleep(AWAY_S)
        cluster.go_on()
        back, found = time.monotonic(), {"worker": 1e9, "web": 1e9}
        while max(found.values()) > time.monotonic() - back and time.monotonic() - back < PATIENCE_S:
            if found["worker"] == 1e9 and seen_s_ago(cluster) < time.monotonic() - back:
                found["worker"] = time.monotonic() - back
            if found["web"] == 1e9 and visitors.served(back):
                found["web"] = time.monotonic() - back
            time.sleep(0.1)
    return {**found, "same processes": desk.children() == before}


if __name__ == "__main__":
    print(json.dumps(main()))
