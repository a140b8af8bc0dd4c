"""On-call: what has waited too long for the lead is told outside, once. Sole writer of a decision's `notified_at`, `notify_…`.

A try is claimed by one guarded UPDATE, sent by the caller outside any transaction, and its result recorded here. Whoever dies in
between leaves the try counted and due again later: on-call is told at least once, and twice only after such a death.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from tasks_app.decision_kinds.base import asker
from tasks_app.domain.deciders import Decider
from tasks_app.domain.events import EventKind
from tasks_app.domain.ids import task_label
from tasks_app.domain.statuses import DecisionKind, DecisionStatus
from tasks_app.domain.text import cut, mask_json, one_line
from tasks_app.models import Decision
from tasks_app.selectors import inbox
from tasks_app.services import clock, decisions, events

PAUSES_S = (60, 120, 240, 480)
"""After each failed try; longer than a try can take, so that it is not claimed while it is under way."""
TRIES = len(PAUSES_S) + 1
UNRECORDED = "the worker ended before it had an answer"


@dataclass(frozen=True)
class Notice:
    """One try to tell on-call of a decision, claimed by this caller alone; `document` is what is sent."""

    decision_id: str
    number: int  # 1-based, at most TRIES; one more where nothing was heard of the last
    document: Mapping[str, Any]


def claim(*, after_min: float, origin: str) -> Notice | None:
    """Claim the next try for what is open for `after_min` minutes, not snoozed and not looked at; None: nothing is due.

    `origin` is that of the pages, such as `https://desk.example.org`; empty: the link is the path alone.
    """
    now = clock.now()
    due = _due(now, after_min)
    for pk, tries in list(due.order_by("opened_at", "pk").values_list("pk", "notify_tries")):
        next_at = now + timedelta(seconds=PAUSES_S[min(tries, len(PAUSES_S) - 1)]) if tries < TRIES else None
        claimed = due.filter(pk=pk, notify_tries=tries).update(
            notify_tries=F("notify_tries") + 1, notify_next_at=next_at, notify_error=UNRECORDED
        )
        if claimed:
            return Notice(pk, tries + 1, _document(decisions.get(pk), now, origin))
    return None


def _due(now: datetime, after_min: float) -> QuerySet[Decision]:
    # of the last try nobody may have heard: then there is one more
    left = Q(notify_tries__lt=TRIES) | Q(notify_tries=TRIES, notify_error=UNRECORDED, notify_next_at__isnull=False)
    return Decision.objects.filter(
        left,
        Q(snoozed_until=None) | Q(snoozed_until__lte=now),
        Q(looked_at=None) | Q(looked_at__lte=now - inbox.LOOK),
        Q(notify_next_at=None) | Q(notify_next_at__lte=now),
        status=DecisionStatus.OPEN.value,
        decider=Decider.HUMAN.value,
        opened_at__lte=now - timedelta(minutes=after_min),
        notified_at=None,
    )


def _document(decision: Decision, now: datetime, origin: str) -> dict[str, Any]:
    """What is sent: who waits, for what kind of answer, since when, and where to answer. Never what a tool would be given."""
    age_s = max(0, int((now - decision.opened_at).total_seconds()))
    agent = decision.agent.name if decision.agent else ""
    facts: dict[str, Any] = mask_json(
        {
            "kind": decision.kind,
            "title": _title(decision, agent),
            "team": decision.team.name,
            "task": task_label(decision.task.number) if decision.task else "",
            "agent": agent,
            "subagent": one_line(decision.subagent, 80),
            "opened_at": decision.opened_at.isoformat(timespec="seconds"),
            "age_s": age_s,
            "link": f"{origin}/inbox/{decision.pk}/",
            "rehearsal": decision.team.rehearsal,
        }
    )
    rehearsal = "[Rehearsal] " if decision.team.rehearsal else ""
    words = f"{rehearsal}{facts['team']}: {facts['title']} (waiting for {_age(age_s)})"
    return {"text": f"{_plain(words)} {facts['link']}", **facts}


def _title(decision: Decision, agent: str) -> str:
    """The title of a permission holds a part of the tool's input, which stays inside."""
    if decision.kind == DecisionKind.PERMISSION.value:
        tool = one_line(str(decision.payload.get("tool") or "a tool"), 60)
        return f"{asker(agent, decision.subagent)} wants to use {tool}"
    return one_line(decision.title, 300)


def _age(age_s: int) -> str:
    minutes = age_s // 60
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h"


def _plain(text: str) -> str:
    """Text in which Slack and its likes see no mention (`<!channel>`) and no link in disguise (`<https://…|here>`)."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


@transaction.atomic
def told(notice: Notice) -> None:
    """On-call took the notice. True also where the decision was answered meanwhile."""
    decision = _locked(notice)
    landed = _of(notice).update(notified_at=timezone.now(), notify_next_at=None, notify_error="")
    if landed:
        decisions.append_event(EventKind.DECISION_NOTIFIED, decision, data={"kind": decision.kind, "tries": notice.number})


@transaction.atomic
def failed(notice: Notice, *, why: str) -> None:
    """On-call could not be told; the claim has said when to try again. `why` holds no address and no secret."""
    decision = _locked(notice)
    last = {"notify_next_at": None} if notice.number >= TRIES else {}
    if _of(notice).filter(notify_error=UNRECORDED).update(notify_error=cut(why, 200), **last):
        decisions.append_event(
            EventKind.DECISION_NOTIFY_FAILED, decision, data={"kind": decision.kind, "why": why, "tries": notice.number}
        )


def _locked(notice: Notice) -> Decision:
    decision = decisions.get(notice.decision_id)
    events.lock(decision.team_id)
    return decision


def _of(notice: Notice) -> QuerySet[Decision]:
    """The decision as long as this try is its last one: a later try's result is not written over."""
    return Decision.objects.filter(pk=notice.decision_id, notified_at=None, notify_tries=notice.number)
