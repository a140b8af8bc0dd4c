"""Removals: a team and its whole history go, for good. Only while nothing runs, and only for who names the team."""

import logging
from functools import partial

from django.db import transaction

from tasks_app import wake
from tasks_app.domain.errors import Conflict, Invalid
from tasks_app.domain.statuses import OPEN_RUN
from tasks_app.models import Agent, Run, Team, TranscriptEntry
from tasks_app.services import events, keys, teams

logger = logging.getLogger(__name__)


def delete(team_id: int, *, name: str, actor: str) -> str:
    """Remove a team: its rows in every table, its transcripts, and the folder that Crewdesk made for it; returns its name.

    A workspace that was used in place stays as it is. `name` is the team's name or address, typed by a person. Raises `Invalid`
    for another name, `Conflict` while an attempt is open.
    """
    slug = ""
    try:
        with transaction.atomic():
            team = events.lock(team_id)
            must_be_meant(team, name)
            _must_stand_still(team)
            slug, called, seq = team.slug, team.name, team.last_seq
            TranscriptEntry.objects.filter(session_id__in=_own_sessions(team_id)).delete()
            Team.objects.filter(pk=team_id).delete()
            transaction.on_commit(partial(wake.browsers, team_id, seq + 1, [keys.TEAMS]), robust=True)
    finally:
        if slug:
            teams.drop_folder_of_none(slug)
    logger.warning("team %s was deleted with its history by %s", slug, actor)
    return called


def must_be_meant(team: Team, name: str) -> None:
    """Raise `Invalid` unless `name` is the team's name or its address."""
    if name.strip() not in (team.name.strip(), team.slug):
        raise Invalid(f"That is not the team's name. Type “{team.name}” to delete it with its history.", field="name")


def _must_stand_still(team: Team) -> None:
    run = Run.objects.select_related("agent", "task").filter(team=team, status__in=[one.value for one in OPEN_RUN]).first()
    if run is not None:
        raise Conflict(f"{run.agent.name} has an open attempt at {run.task.label}. Stop the team first.", field="name")


def _own_sessions(team_id: int) -> set[str]:
    """The Claude sessions that no other team has a part in."""
    mine: set[str] = set()
    for model in (Run, Agent):
        mine |= set(model.objects.filter(team_id=team_id).exclude(session_id="").values_list("session_id", flat=True))
    others = Run.objects.exclude(team_id=team_id).filter(session_id__in=mine).values_list("session_id", flat=True)
    return mine - set(others)
