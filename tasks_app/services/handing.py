"""Handing on: what the lead agent has, but does not decide, becomes the human's. Sole writer of `decider` after the opening."""

from django.db import transaction
from django.db.models import QuerySet

from tasks_app.domain.deciders import Decider, Subject
from tasks_app.domain.errors import Forbidden
from tasks_app.domain.events import EventKind
from tasks_app.domain.statuses import DecisionStatus
from tasks_app.domain.text import clean, cut
from tasks_app.models import Decision
from tasks_app.services import clock, deciding, decisions, events

WHY_LIMIT = 200


def waiting(team_id: int) -> QuerySet[Decision]:
    """Return what waits for the lead agent of a team, oldest first."""
    mine = Decision.objects.filter(team_id=team_id, status=DecisionStatus.OPEN.value, decider=Decider.LEAD.value)
    return mine.order_by("opened_at", "pk")


@transaction.atomic
def hand_on(decision_id: str, *, why: str, actor: str = events.SYSTEM) -> bool:
    """Make an open decision of the lead agent the human's; returns whether it was still to be handed on."""
    decision = decisions.get(decision_id)
    events.lock(decision.team_id)
    reason = cut(clean(why).strip(), WHY_LIMIT)
    landed = waiting(decision.team_id).filter(pk=decision_id).update(decider=Decider.HUMAN.value, handed_why=reason)
    if landed:
        lead = deciding.lead_agent(decision.team_id)
        data = {"kind": decision.kind, "by": lead.name if lead else "", "why": reason}
        decisions.append_event(EventKind.DECISION_HANDED_ON, decision, actor=actor, data=data)
    return bool(landed)


def hand_on_by_agent(decision_id: str, *, team_id: int, why: str, actor: str) -> Decision:
    """The lead agent leaves a decision to the human. Raises what an answer of it would raise."""
    decision = decisions.get(decision_id)
    if decision.team_id != team_id:
        raise Forbidden("That is not of your team.", field="decision")
    decisions.must_be_open(decision)
    deciding.must_be_the_lead_agents(decision, actor)
    hand_on(decision_id, why=why, actor=actor)
    return decisions.get(decision_id)


def hand_on_all(team_id: int, *, why: str, only: list[str] | None = None) -> int:
    """Hand on what waits for the lead agent (`only` these); returns how much it was."""
    found = waiting(team_id) if only is None else waiting(team_id).filter(pk__in=only)
    return sum(hand_on(pk, why=why) for pk in list(found.values_list("pk", flat=True)))


def hand_on_late() -> int:
    """What has waited for a lead agent longer than its team allows becomes the human's; returns how much it was."""
    mine = Decision.objects.filter(status=DecisionStatus.OPEN.value, decider=Decider.LEAD.value)
    late = mine.filter(lead_until__lte=clock.now()).values_list("pk", flat=True)
    return sum(hand_on(pk, why="the lead agent did not decide in time") for pk in list(late))


def hand_on_changed(team_id: int) -> None:
    """What the settings say is not the lead agent's any more becomes the human's."""
    by = deciding.settings(team_id).by
    for pk, subject in list(waiting(team_id).values_list("pk", "subject")):
        if by[Subject(subject)] is not Decider.LEAD:
            hand_on(pk, why="the settings were changed: the human decides on this")
