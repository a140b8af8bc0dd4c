"""Crews: the agents of a team as far as its queue needs them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from tasks_app.domain.statuses import AgentStatus
from tasks_app.models import Agent, Run
from tasks_app.selectors import places
from tasks_app.selectors.compiled import Compiled
from tasks_app.selectors.states import ContextUse
from tasks_app.selectors.written import OPEN_RUNS


@dataclass(frozen=True)
class Crew:
    """The agents of one team as far as the queue needs them."""

    names: Mapping[int, str]
    active: frozenset[int]
    roles: frozenset[str]  # of the active ones
    contexts: Mapping[int, ContextUse]
    at_work: int = 0  # how many take a place under the team's cap: who waits for the lead takes none


def _members(team_ids: Collection[int]) -> QuerySet[Agent, tuple[Any, ...]]:
    takes_place = Run.objects.filter(places.RUNNING | places.DUE, agent_id=OuterRef("pk"), status__in=OPEN_RUNS)
    columns = ("team_id", "pk", "name", "role", "status", "context_tokens", "context_window", "compacted_at")
    return Agent.objects.filter(team_id__in=team_ids).values_list(*columns, Exists(takes_place.exclude(places.TAKES_NONE)))


_MEMBERS = Compiled(_members)


def crews(team_ids: Collection[int]) -> dict[int, Crew]:
    """Return the crew of each of these teams; one query."""
    members: dict[int, list[tuple[int, str, str, bool, ContextUse, bool]]] = {team_id: [] for team_id in team_ids}
    for team_id, pk, name, role, status, tokens, window, compacted_at, works in _MEMBERS.values(team_ids):
        members[team_id].append((pk, name, role, status == AgentStatus.ACTIVE, ContextUse(tokens, window, compacted_at), works))
    return {
        team_id: Crew(
            names={pk: name for pk, name, *_ in rows},
            active=frozenset(pk for pk, _, _, active, *_ in rows if active),
            roles=frozenset(role for _, _, role, active, *_ in rows if active),
            contexts={pk: context for pk, _, _, _, context, _ in rows},
            at_work=sum(works for *_, works in rows),
        )
        for team_id, rows in members.items()
    }
