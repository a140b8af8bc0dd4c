"""Waiting for the end of a team at the terminal: events as they come, the scripted lead's answers, and how it ended."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum

from django.db import InterfaceError, OperationalError, close_old_connections

from tasks_app.domain.statuses import TeamStatus
from tasks_app.management import words
from tasks_app.management.entry import INTERRUPTED
from tasks_app.management.scripted import ScriptedLead
from tasks_app.selectors import agents, journal, teams
from tasks_app.selectors.states import AgentState
from tasks_app.selectors.teams import TeamSummary

LOOK_S = 0.2
SLOW_LOOK_S = 1.0
"""Without news everything is looked at only so often."""
QUIET_S = 3.0
"""So long must nothing have happened before "nobody but the lead can go on" is believed."""
STUCK_S = 20.0


class End(IntEnum):
    """How waiting ended: the exit code."""

    COMPLETED = 0
    FAILED = 1
    WAITING = 3
    INTERRUPTED = INTERRUPTED


@dataclass(frozen=True)
class Ending:
    """How a team ended, in words."""

    end: End
    why: str


@dataclass
class Watch:
    """One wait for the end of one team. `tell` gets a line for each event; `keep` is called at every look."""

    team_id: int
    tell: Callable[[str], None]
    lead: ScriptedLead | None = None
    keep: Callable[[], None] = lambda: None
    timeout_s: float | None = None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    renew: Callable[[], None] = close_old_connections
    after: int = 0  # events up to this number are not told
    _moved_at: float = field(default=0.0, init=False)
    _looked_at: float = field(default=0.0, init=False)

    def until_the_end(self) -> Ending:
        """Return how it ended."""
        begun = self._moved_at = self.clock()
        self._looked_at = begun - SLOW_LOOK_S
        while True:
            self.keep()
            try:
                ending = self._look(begun)
            except (OperationalError, InterfaceError):
                if self.clock() - self._moved_at > STUCK_S:
                    raise
                ending = None  # the database is away for a moment
                self.renew()
            if ending is not None:
                return ending
            self.sleep(LOOK_S)

    def _look(self, begun: float) -> Ending | None:
        if self._news():
            self._moved_at = self._looked_at = self.clock()
        elif self.clock() - self._looked_at < SLOW_LOOK_S and not (self.lead is not None and self.lead.busy):
            return None
        self._looked_at = self.clock()
        if self.lead is not None:
            self.lead.look()
            if self.lead.act():
                self._moved_at = self.clock()
        ending = self._ending()
        if ending is None and self.timeout_s is not None and self.clock() - begun > self.timeout_s:
            ending = self._timed_out()
        if ending is not None:
            self._news()
        return ending

    def _news(self) -> bool:
        entries = journal.entries(self.team_id, after=self.after)
        for entry in entries:
            self.after = entry.seq
            if words.is_progress(entry):
                self.tell(words.line(entry))
        return bool(entries)

    def _ending(self) -> Ending | None:
        team = teams.summary(self.team_id)
        counts = team.counts
        if counts.total and counts.done == counts.total:
            if counts.cancelled:
                return Ending(End.FAILED, f"{counts.done} completed, {counts.cancelled} cancelled.")
            return Ending(End.COMPLETED, f"All {counts.total} tasks are completed.")
        if team.status is TeamStatus.STOPPED:
            return Ending(End.FAILED, "The team was stopped.")
        return self._standstill(team)

    def _standstill(self, team: TeamSummary) -> Ending | None:
        """Nothing moves: because the lead is asked, or because nothing can."""
        quiet_s = self.clock() - self._moved_at
        if quiet_s < QUIET_S or (self.lead is not None and self.lead.busy) or self._somebody_moves():
            return None
        if team.waiting:
            return Ending(End.WAITING, f"Waiting for the lead: {_requests(team.waiting)}.")
        if quiet_s < STUCK_S:
            return None
        counts = team.counts
        return Ending(End.FAILED, f"Nothing goes on: {counts.failed} failed, {counts.blocked} blocked, {counts.queued} queued.")

    def _somebody_moves(self) -> bool:
        """Whether an agent works, or has an attempt that a worker is about to take up."""
        for card in agents.of_teams([self.team_id]):
            if card.state in (AgentState.WORKING, AgentState.LOST):
                return True
            if card.state is AgentState.IDLE and card.run is not None and card.run.due:
                return True
        return False

    def _timed_out(self) -> Ending:
        waiting = teams.summary(self.team_id).waiting
        if waiting:
            return Ending(End.WAITING, f"Time is up; {_requests(waiting)} for the lead.")
        return Ending(End.FAILED, "Time is up.")


def _requests(count: int) -> str:
    return "1 request is open" if count == 1 else f"{count} requests are open"
