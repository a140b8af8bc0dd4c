"""A run that has asked something, and the usual answer to each kind of question."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import time_machine
from django.db.models import F

from tasks_app.domain.statuses import DecisionKind
from tasks_app.models import Decision
from tasks_app.services import decisions
from tests.services import world

CHOICE = {
    DecisionKind.PERMISSION: ("allow", None),
    DecisionKind.PLAN: ("approve", None),
    DecisionKind.QUESTION: (
        "answer",
        {"answers": {"Which currency format should the invoices use?": "ISO code"}},
    ),
    DecisionKind.ESCALATION: ("answer", {"option": "Mock the API"}),
    DecisionKind.REVIEW: ("approve", None),
}


def opened(crew=None, kind=DecisionKind.PERMISSION, **payload):
    crew = crew or world.make()
    held = crew.claim()
    return held, decisions.open_for_run(held.id, held.fence, world.ask(kind, **payload))


TIMES = ("opened_at", "expires_at", "snoozed_until", "notified_at", "notify_next_at")


@contextmanager
def later(minutes: float) -> Iterator[None]:
    """So many minutes after the first request: no test can move the database's clock, so all that is stored moves back.

    The host's clock stands still meanwhile, so that pages say exact times. A hair more, for SQLite cuts the time to milliseconds.
    """
    first = Decision.objects.order_by("opened_at").first()
    now = world.now()
    if first is not None:
        back = now - timedelta(minutes=minutes, milliseconds=10) - first.opened_at
        Decision.objects.update(**{name: F(name) + back for name in TIMES})
    with time_machine.travel(now, tick=False):
        yield
