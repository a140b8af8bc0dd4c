"""One look at the database for all open pages of a process: what is new, what it makes stale, its HTML. Runs in a thread.

The hub gives an `Order` and applies the `Outcome`; nothing here knows sockets. Within one order each block is rendered once
for everybody of its audience, and compared with what its pages were sent last.
"""

import logging
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from django.db import DatabaseError, close_old_connections

from dashboard.access import Viewer
from dashboard.live import missed
from dashboard.live.client import Ticket
from dashboard.live.frames import Close, DecisionEvent
from dashboard.live.identity import viewer_of
from dashboard.live.orders import Admitted, Kind, News, Order, Outcome, Refused, Shown, View
from dashboard.live.owed import MOST_EVENTS
from dashboard.live.pace import Pace
from dashboard.live.painter import Painter
from dashboard.panels import registry
from dashboard.panels.base import Block, is_fast, narrowed
from tasks_app.domain.errors import DomainError
from tasks_app.domain.text import mask_secrets
from tasks_app.selectors import live as selector
from tasks_app.selectors import workers
from tasks_app.services.moments import end_with_moment, one_moment

logger = logging.getLogger(__name__)
Announced = dict[int, list[DecisionEvent]]


def refresh(order: Order, pace: Pace) -> Outcome:
    """Carry out an order. Raises only when the database fails; what cannot be rendered is logged and marked.

    All of it is of one moment, but for who looks: a session that fits no more is removed while it is read.
    """
    close_old_connections()
    try:
        viewers = {key: viewer_of(key) for key in _sessions(order)}
        try:
            with one_moment():
                return _Refresh(order, pace, viewers).outcome()
        except DatabaseError:  # the block whose statement failed has ended the moment for all of them
            return _Refresh(order, pace, viewers).outcome()
    finally:
        close_old_connections()


def _sessions(order: Order) -> set[str]:
    return {ticket.session_key for ticket in (*order.joins, *(ticket for ticket, _ in order.checks))}


class _Refresh:
    def __init__(self, order: Order, pace: Pace, viewers: Mapping[str, Viewer | None]) -> None:
        self.order, self.pace, self.viewers = order, pace, viewers
        self.painter = Painter()
        self.maps: dict[View, Shown] = {}
        self.keys = set(order.keys)
        self.flooded = set[int]()  # teams with more new lines than anybody reads
        self.opened: list[selector.Opened] = []
        self.result = Outcome(dict(order.known), order.newest, answering=order.answering)
        self.turned = False  # the last worker fell silent, or one is back: no event says so
        self.waits: dict[frozenset[int], int] = {}

    def outcome(self) -> Outcome:
        order, result = self.order, self.result
        if order.kind is not Kind.FAST:
            self._read()
        if order.kind is not Kind.JOINS:
            announced = _announced(self.opened)
            result.rooms = {view: self._room(view, shown, announced) for view, shown in order.rooms.items()}
        result.joins = {ticket: self._join(ticket) for ticket in order.joins}
        result.checks = {check: self._check(*check) for check in order.checks}
        return result

    # what is new -----------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        """Read the logs from where the open pages stand; they, and not the hints, say what changed."""
        order, result = self.order, self.result
        wanted = set(order.known) if order.look is None else set(order.look) & set(order.known)
        for ticket in order.joins:
            viewer = self.viewers[ticket.session_key]
            wanted |= viewer.team_ids if viewer else frozenset()
        found = selector.positions(wanted, newer_than=order.newest)
        result.new_teams = order.newest >= 0 and any(team > order.newest for team in found)
        result.newest = max([order.newest, 0, *found])
        for team in wanted:
            self._advance(team, found.get(team))
        if order.look is None:
            result.answering = workers.answering()
            self.turned = order.answering is not None and order.answering != result.answering

    def _advance(self, team: int, last: int | None) -> None:
        before = self.result.known.get(team)
        if last is None:
            self.result.known.pop(team, None)
            return
        self.result.known[team] = last
        if before is None or before == last:
            return
        if last < before:  # the database was restored from a copy
            self.flooded.add(team)
            return
        rows = selector.lines(team, after=before, upto=last, limit=self.pace.max_rows + 1)
        if len(rows) > self.pace.max_rows:
            self.flooded.add(team)
        self.keys.update(key for row in rows for key in row.keys)
        if team in self.flooded or any(row.opens for row in rows):
            self.opened += selector.opened(team, after=before, upto=last)

    # what a view shows -----------------------------------------------------------------------------------------------

    def _room(self, view: View, shown: Shown, announced: Announced) -> News:
        if self.order.kind is Kind.FAST:
            return self.painter.paint(
                shown, shown.roots, view.viewer, stale=lambda block: self._touched(block) and is_fast(block), fast=True
            )
        sweep = view in self.order.sweep
        everything = self.order.everything or self.turned or sweep or bool(self.flooded & view.team_ids)
        events = tuple(event for team in view.team_ids & set(announced) for event in announced[team])[-MOST_EVENTS:]
        news = News(shown, {})
        if everything or any(self._touched(block) for block in shown.blocks()):
            news = self._painted(view, shown, everything=everything, sweep=sweep)
        if everything or events or any(f"inbox:{team}" in self.keys for team in view.team_ids):
            wait = self._wait(view)
            news = replace(news, wait=wait if wait != shown.wait else None, shown=replace(news.shown, wait=wait))
        return replace(news, events=events)

    def _painted(self, view: View, shown: Shown, *, everything: bool, sweep: bool) -> News:
        try:
            roots = tuple(registry.blocks(view.page, view.arg, view.viewer))
        except Exception as error:
            end_with_moment(error)
            _log(f"the blocks of page {view.page}", error)
            return News(shown, {}, resync=True)
        stale = (lambda _: True) if everything else self._touched
        return self.painter.paint(shown, roots, view.viewer, stale=stale, sweep=sweep)

    def _touched(self, block: Block) -> bool:
        return not block.keys.isdisjoint(self.keys)

    def _wait(self, view: View) -> int:
        if view.team_ids not in self.waits:
            self.waits[view.team_ids] = selector.waiting(view.team_ids)
        return self.waits[view.team_ids]

    # who comes and who stays -----------------------------------------------------------------------------------------

    def _admit(self, ticket: Ticket) -> tuple[View, tuple[Block, ...]] | Refused:
        viewer = self.viewers[ticket.session_key]
        if viewer is None:
            return Refused(Close.SIGNED_OUT, "not signed in")
        view = View(ticket.page, ticket.arg, viewer.team_ids, viewer.lead_of, viewer.superuser)
        if unknown := viewer.team_ids - set(self.result.known):
            self.result.known.update(selector.positions(unknown))
        try:
            roots = tuple(registry.blocks(ticket.page, ticket.arg, view.viewer))
        except DomainError as error:
            return Refused(Close.NOT_ALLOWED, error.message)
        except Exception as error:
            end_with_moment(error)
            _log(f"the blocks of page {ticket.page}", error)
            return Refused(Close.TRY_LATER, "the page cannot be shown")
        if any(block.team is not None and not viewer.can_see(block.team) for block in roots):
            return Refused(Close.NOT_ALLOWED, "you have no access to this team")
        return view, roots

    def _join(self, ticket: Ticket) -> Admitted | Refused:
        admitted = self._admit(ticket)
        if isinstance(admitted, Refused):
            return admitted
        view, roots = admitted
        shown = self._map(view, roots)
        now = {team: self.result.known.get(team, 0) for team in view.team_ids}
        found = missed.since(ticket.since, now, most=self.pace.max_rows)
        if found.fetch:
            news = News(shown, {}, resync=True)
        else:
            news = self.painter.paint(shown, roots, view.viewer, stale=lambda block: found.touches(block.keys))
        heard = ticket.heard or ticket.since
        asked = found.asked if heard == ticket.since else missed.asked(heard, now)
        return Admitted(view, shown, replace(news, wait=self._wait(view), events=_newest(asked)), found.count)

    def _map(self, view: View, roots: tuple[Block, ...]) -> Shown:
        """Return what the page consists of: known where the view is open, else found by drawing it once."""
        if view not in self.maps:
            room = self.result.rooms.get(view)
            known = room.shown if room else self.order.rooms.get(view)
            self.maps[view] = Shown(known.roots, known.inside) if known else self.painter.map(roots, view.viewer)
        return self.maps[view]

    def _check(self, ticket: Ticket, before: View) -> Admitted | Refused:
        """Look again: the same view; another one, with what differs in it; or refused."""
        found = self._admit(ticket)
        if isinstance(found, Refused):
            return found
        view, roots = found
        room = self.result.rooms.get(before)
        shown = Shown(room.shown.roots, room.shown.inside) if room else Shown(())
        if view == before:
            return Admitted(view, shown)
        news = self.painter.paint(
            shown, roots, view.viewer, stale=lambda block: narrowed(block, before.viewer) != narrowed(block, view.viewer)
        )
        asked = missed.asked_in(view.team_ids - before.team_ids, self.result.known)
        news = replace(news, wait=self._wait(view), events=_newest(asked))
        return Admitted(view, Shown(news.shown.roots, news.shown.inside), news)


def _announced(opened: Iterable[selector.Opened]) -> Announced:
    news: Announced = {}
    for row in opened:
        news.setdefault(row.team_id, []).append(_event(row))
    return news


def _newest(opened: Sequence[selector.Opened]) -> tuple[DecisionEvent, ...]:
    return tuple(map(_event, opened[-MOST_EVENTS:]))


def _event(row: selector.Opened) -> DecisionEvent:
    return DecisionEvent(type="decision", id=row.id, kind=row.kind, title=row.title, agent=row.agent, team=row.team)


def _log(what: str, error: Exception) -> None:
    if not isinstance(error, DomainError):
        logger.error("%s failed: %s", what, mask_secrets("".join(traceback.format_exception(error))))
