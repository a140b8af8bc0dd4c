"""The killer of the chaos scenario: at moments that a seed decides it does to an installation what life does.

An act counts when its effect was seen (`bench/acts.py`, `bench/broker.py`). One that had none is told apart and comes again.
"""

import random
import threading
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from django.db import connections

from bench import acts, broker
from bench.acts import Act, NothingToDo, Scene
from bench.clock import WITHOUT
from bench.desk import Desk
from bench.place import Place

OFTEN = ("worker", "claude", "web")
"""What dies most in life is killed most here."""
FROZEN = "frozen worker"
LOOK_S = 0.2
ACT_S = 180.0
"""Within so long the act that is under way has ended when nothing hangs."""


def possible(place: Place) -> tuple[dict[str, Act], dict[str, str]]:
    """Return what can be done here by its kind, and why the rest cannot."""
    left: dict[str, str] = {}
    kinds: dict[str, Act] = {kind: partial(acts.kill, kind) for kind in OFTEN} | {
        "valkey": partial(broker.restart, data=True),
        "valkey without its data": partial(broker.restart, data=False),
        FROZEN: acts.freeze,
        "duplicate nudges": broker.duplicate,
        "lost nudges": broker.lose,
        "twin worker": acts.double,
    }
    if place.clock is not None:
        kinds["clock jump"] = acts.set_clock
    else:
        left["clock jump"] = WITHOUT
    if place.cluster is not None:
        kinds["postgres"] = acts.restart_postgres
    if place.small_disk:
        kinds["full disk"] = acts.fill_disk
    else:
        left["full disk"] = "needs root on Linux: the home is a small file system of its own"
    return kinds, left


@dataclass
class Killer:
    """From `start` to `stop`: an act every `pause_s` seconds on average. What was done is in `acts`, in words."""

    desk: Desk
    seed: int
    most: int = 30
    pause_s: float = 3.0
    acts: list[str] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    """Acts whose effect was seen."""
    failed: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Acts whose effect was not seen, and why."""
    put_off: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """Why there was nobody to do it to, and how often."""
    left: dict[str, str] = field(default_factory=dict)
    """What could not be done here, and why."""
    died: str = ""
    """What ended the killer itself before its time."""

    def __post_init__(self) -> None:
        self._scene = Scene(self.desk, random.Random(self.seed))
        self._thread = threading.Thread(target=self._live, daemon=True)
        self._begun = 0.0
        self.kinds, self.left = possible(self.desk.place)
        order = list(self.kinds)
        self._scene.chance.shuffle(order)
        self._queue = [self._scene.chance.choice(["worker", "claude"]), *order]

    def start(self) -> None:
        """Begin."""
        self._begun = time.monotonic()
        self._thread.start()

    def stop(self) -> None:
        """Stop killing; thaw what is frozen. An act that does not end is left alone, and said in `died`."""
        self._scene.stopped.set()
        if self._thread.is_alive():
            self._thread.join(ACT_S)
        if self._thread.is_alive():
            self.died = f"its last act did not end within {ACT_S:g} s"
        self._thaw(at_once=True)
        if self.desk.place.clock is not None:
            self.desk.place.clock.set(0)

    def without_effect(self, *, every_kind: bool) -> list[str]:
        """What keeps the run from proving anything: each kind, or each that was tried, must have had its effect once."""
        asked = self.kinds if every_kind else [kind for kind in self.kinds if self.failed[kind]]
        found = [f"{kind}: not once was its effect seen ({self._why(kind)})" for kind in asked if not self.done[kind]]
        found += [f"the killer died: {self.died}"] if self.died else []
        return found + (["nothing was done to the installation"] if self.most and not self.done.total() else [])

    def _why(self, kind: str) -> str:
        return "; ".join(self.failed[kind][-2:]) or f"put off: {dict(self.put_off[kind])}"

    def _live(self) -> None:
        try:
            while self._tried() < self.most:
                if self._scene.stopped.wait(self._scene.chance.uniform(0.2, 2 * self.pause_s)):
                    return
                self._thaw()
                kind = self._next()
                self._try(kind, partial(self.kinds[kind], self._scene))
            while self._scene.frozen and not self._scene.stopped.wait(LOOK_S):  # the last goes on when its time is over
                self._thaw()
        except BaseException:
            self.died = traceback.format_exc()[-1000:]

    def _tried(self) -> int:
        return self.done.total() + sum(len(why) for why in self.failed.values()) + len(self._scene.frozen)

    def _next(self) -> str:
        """Each kind comes once before any comes twice; then, by turns with chance, those that had no effect yet."""
        if self._queue:
            return self._queue.pop(0)
        waits = [kind for kind in self.kinds if not self.done[kind] and not (kind == FROZEN and self._scene.frozen)]
        if waits and self._scene.chance.random() < 0.5:
            return self._scene.chance.choice(waits)
        return self._scene.chance.choices(list(self.kinds), [3 if kind in OFTEN else 1 for kind in self.kinds])[0]

    def _thaw(self, *, at_once: bool = False) -> None:
        for frozen in list(self._scene.frozen):
            self._try(FROZEN, partial(acts.thaw, self._scene, frozen, at_once=at_once))

    def _try(self, kind: str, act: Callable[[], str | None]) -> None:
        """Whatever comes of one act, the next one comes, too."""
        at = f"at {time.monotonic() - self._begun:.1f} s"
        try:
            seen = act()
        except NothingToDo as why:
            self.put_off[kind][str(why)] += 1
        except Exception as error:
            self.failed[kind].append(f"{type(error).__name__}: {error}")
            self.acts.append(f"{kind} {at} WITHOUT EFFECT ({error})")
        else:
            if seen is not None:
                self.done[kind] += 1
                self.acts.append(f"{kind} {at} ({seen})")
        finally:
            connections.close_all()
