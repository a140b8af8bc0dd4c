"""The benchmarks: a name → its module. Adding one is a file with `run(place, options) -> Report` and a line here."""

from collections.abc import Mapping
from dataclasses import dataclass, field

UNWIND_S = 60
"""So long one step of the way out may take when time is up: then it is broken off, and the next one has its turn."""


@dataclass(frozen=True)
class Bench:
    """Where a benchmark is, what it says in one line, and what its place needs."""

    module: str
    summary: str
    limit_s: float
    """It ends by itself within this time, by force if need be."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """CREWDESK_* variables of its place, in lower case without the prefix."""
    small_disk_mib: int = 0
    own_clock: bool = False
    """Whether its installation gets a clock that can be set."""


BENCHES: dict[str, Bench] = {
    "chaos": Bench(
        "bench.chaos",
        "a rehearsed team while everything is killed; ends with the auditor",
        1800,
        {"worker_slots": "4", "db_pool": "8"},
        small_disk_mib=512,
        own_clock=True,
    ),
    "rolling": Bench(
        "bench.rolling",
        "every part is replaced in order while a team works and people use the pages; then the auditor",
        1200,
        {"worker_slots": "4", "db_pool": "8"},
    ),
    "record": Bench("bench.record", "steps stored per second by one worker, and the floors", 300),
    "schedule": Bench("bench.schedule", "time lost between ready and started, 500 tasks and 50 agents", 900),
    "pages": Bench("bench.pages", "server time and queries of each page with 1,000,000 events", 900),
    "approve": Bench("bench.approve", "from the click on Approve to the agent that goes on, attached and parked", 600),
    "parked": Bench("bench.parked", "what a request costs while nobody answers it", 900),
    "recover": Bench("bench.recover", "kill -9 of a worker until the next step of its runs, same host and other host", 900),
    "overhead": Bench("bench.overhead", "what a run costs beyond a plain SDK script that does the same", 900),
    "live": Bench("bench.live", "from an agent's step to the DOM of open pages in a real Chromium", 600),
    "fanout": Bench("bench.fanout", "the same to hundreds of sockets, with the load of the web process", 600),
    "flood": Bench("bench.flood", "memory and everybody else while agents shout and browsers sleep", 600),
    "snapshots": Bench(
        "bench.snapshots", "what keeping the files costs before a prompt and what pruning gives back, 1,000 and 20,000 files", 300
    ),
    "soak": Bench("bench.soak", "memory while small teams come and go for --minutes", 4 * 3600),
}
