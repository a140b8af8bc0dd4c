"""How many runs of a team were at work at once, by its log: whoever waits for the lead leaves its place to another."""

from bench.audit_log import ENDS
from tasks_app.domain.events import EventKind as Kind
from tasks_app.domain.statuses import DecisionKind
from tasks_app.models import Event, Team

OVER = {Kind.RUN_PARKED.value, Kind.RUN_RESUMABLE.value, *ENDS}
CLOSED = {kind.value for kind in (Kind.DECISION_ANSWERED, Kind.DECISION_WITHDRAWN, Kind.DECISION_EXPIRED)}


def most_at_work(team: Team) -> int:
    """Return how many were at work when one was started, at most; who is answered goes on, whether or not there is a place."""
    held: set[str] = set()
    asks: dict[str, str] = {}  # open decision → its run
    most = 0
    for event in Event.objects.filter(team=team).exclude(run_id="").order_by("seq").iterator():
        if event.kind == Kind.RUN_STARTED.value:
            held.add(event.run_id)
            most = max(most, len(held - set(asks.values())))
        elif event.kind in OVER:
            held.discard(event.run_id)
        elif event.kind == Kind.DECISION_OPENED.value and event.data["kind"] != DecisionKind.STALL.value:
            asks[event.decision_id] = event.run_id
        elif event.kind in CLOSED:
            asks.pop(event.decision_id, None)
    return most
