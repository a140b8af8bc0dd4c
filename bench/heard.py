"""The receiving end of the hints: what was really published, against what the log says and what was to be published."""

import json
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import redis
from django.conf import settings

from tasks_app import wake
from tasks_app.models import Event

PATIENCE_S = 5.0
"""So long after the last commit its hint may come."""


@dataclass(frozen=True)
class Hint:
    """One hint: events up to `seq` are there, and the blocks with these keys are stale."""

    seq: int
    keys: frozenset[str]


@dataclass
class Heard:
    """What came through Valkey, and how many hints were asked for, per team."""

    hints: dict[int, list[Hint]] = field(default_factory=lambda: defaultdict(list))
    asked: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    _new: threading.Condition = field(default_factory=threading.Condition)

    def note(self, message: dict[str, Any]) -> None:
        """Take in a message of the subscription."""
        said = json.loads(message["data"])
        with self._new:
            self.hints[said["team"]].append(Hint(said["seq"], frozenset(said["keys"])))
            self._new.notify_all()

    def ask(self, team_id: int, seq: int, keys: Iterable[str]) -> None:
        """`wake.browsers`, noted before it is done."""
        self.asked[team_id].append(seq)
        _publish(team_id, seq, keys)

    def wrong(self, team_id: int) -> list[str]:
        """Return in words which events of the team were not published; waits for hints that are under way."""
        with self._new:
            self._new.wait_for(lambda: len(self.hints[team_id]) >= len(self.asked[team_id]), PATIENCE_S)
            hints = list(self.hints[team_id])
        log = Event.objects.filter(team_id=team_id).order_by("seq").values_list("seq", "keys")
        missing = unpublished(log, hints)
        wrong = [f"{len(missing)} events were not published, the first is number {missing[0]}"] if missing else []
        if lost := len(set(self.asked[team_id]) - {hint.seq for hint in hints}):
            wrong.append(f"{lost} of {len(self.asked[team_id])} hints did not arrive")
        return wrong

    def words(self, team_id: int) -> str:
        """Return how much there was."""
        return f"{len(self.hints[team_id]):,} hints for {Event.objects.filter(team_id=team_id).count():,} events"


def unpublished(log: Iterable[tuple[int, list[str]]], hints: Iterable[Hint]) -> list[int]:
    """Return the numbers of the events that no hint names.

    A hint stands for all events of one append: the first that reaches an event's number has to have its keys.
    """
    ordered = sorted(hints, key=lambda hint: hint.seq)
    missing, place = [], 0
    for seq, keys in log:
        while place < len(ordered) and ordered[place].seq < seq:
            place += 1
        if place == len(ordered) or not ordered[place].keys.issuperset(keys):
            missing.append(seq)
    return missing


_publish = wake.browsers


@contextmanager
def listening() -> Iterator[Heard]:
    """Hear every hint to browsers that is published meanwhile, by a connection and a thread of its own."""
    heard = Heard()
    client = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=PATIENCE_S, socket_connect_timeout=PATIENCE_S)
    subscription = client.pubsub()  # type: ignore[no-untyped-call]
    subscription.psubscribe(wake.TEAM_CHANNEL)
    if subscription.get_message(timeout=PATIENCE_S) is None:
        raise RuntimeError("Valkey did not confirm the subscription")
    over = threading.Event()

    def listen() -> None:
        while not over.is_set():
            message = subscription.get_message(timeout=0.2)
            if message is not None and message["type"] == "pmessage":
                heard.note(message)

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    try:
        with mock.patch.object(wake, "browsers", heard.ask):
            yield heard
            if not thread.is_alive():
                raise RuntimeError("nobody listened: the thread that hears the hints has ended")
    finally:
        over.set()
        thread.join(3 * PATIENCE_S)
        client.close()
