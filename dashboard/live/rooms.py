"""Which pages are open, grouped by what they show, and the telling: one text per group, joined to each page's position."""

import random
import time
from dataclasses import replace

from dashboard.live import cursor, frames
from dashboard.live.client import Client
from dashboard.live.frames import Close
from dashboard.live.orders import Admitted, News, Refused, Shown, View
from dashboard.live.owed import MOST_EVENTS, Owed
from dashboard.live.pace import Pace


class Room:
    """The pages of one view, and what they have been sent."""

    def __init__(self) -> None:
        self.shown = Shown(())
        self.clients: set[Client] = set()
        self.swept_at = time.monotonic()

    def doubt(self) -> None:
        """Forget what was sent: one of the pages was loaded (or is about to be) by other means."""
        self.shown = replace(self.shown, hashes={}, doubted=frozenset())


class Rooms:
    """All open pages. `known` says how far they have been shown each team's log."""

    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self.by_view: dict[View, Room] = {}
        self.views: dict[Client, View] = {}
        self.known: dict[int, int] = {}
        self.owed: dict[Client, Owed] = {}  # of pages without credit

    def shown(self) -> dict[View, Shown]:
        """Return what each view shows."""
        return {view: room.shown for view, room in self.by_view.items()}

    def forget_teams(self) -> None:
        """Drop positions of teams that no open page watches: they are read anew with the next one."""
        watched = frozenset[int]().union(*(view.team_ids for view in self.by_view))
        self.known = {team: seq for team, seq in self.known.items() if team in watched}

    # telling ---------------------------------------------------------------------------------------------------------

    def tell(self, view: View, news: News, *, fast: bool = False) -> None:
        """Send news to the pages of a view; a fast frame does not move their position (slow blocks are still to come)."""
        room = self.by_view.get(view)
        if room is None:
            return
        room.shown = news.shown
        if not news:
            return
        news = _sendable(news)
        at, rest = self._cursor(view), _tail(news)
        made: dict[tuple[str, str], str] = {}  # one text for all pages that stand where the others do
        for client in room.clients:
            if owed := self.owed.get(client):
                owed.add(news, owed.cursor if fast else at)
                continue
            way = (client.cursor, client.cursor if fast else at)
            text = made.get(way) or made.setdefault(way, _text(*way, news, rest))
            self._say(client, news, text, way[1])
        if news.resync:
            room.doubt()

    def repay(self, client: Client) -> None:
        """Send a page that has credit again what it is owed, as one frame."""
        owed = self.owed.pop(client, None)
        if owed is None:
            return
        news = _sendable(owed.news())
        self._say(client, news, _text(client.cursor, owed.cursor, news, _tail(news)), owed.cursor)
        if news.resync:
            self.by_view[self.views[client]].doubt()

    def _say(self, client: Client, news: News, text: str, seq: str) -> None:
        """Send one frame; what finds no credit is owed."""
        if not client.say(text, seq):
            self.owed[client] = owed = Owed(seq)
            owed.add(news, seq)

    def tick(self, now: float, *, sees: bool) -> None:
        """Send heartbeats to quiet pages, while the hub sees the database; close those that have given no credit for too long."""
        for client, view in list(self.views.items()):
            if client.behind_since is not None and now - client.behind_since > self.pace.behind_s:
                self.refuse(client, Refused(Close.TOO_SLOW, "nothing was acknowledged"))
            elif sees and now - client.last_sent > self.pace.heartbeat_s:
                at = self._cursor(view)
                client.say(frames.heartbeat(at), at)

    # coming, moving and going ----------------------------------------------------------------------------------------

    def admit(self, client: Client, answer: Admitted) -> None:
        """Put a page that has just connected into its room and send what it missed."""
        room = self._enter(client, answer)
        room.doubt()
        at, news = self._cursor(answer.view), _sendable(answer.news)
        if news.resync:
            text = frames.resync(at, missed=answer.missed, wait=news.wait, events=news.events)
        else:
            rest = _tail(news, missed=answer.missed, now=int(time.time() * 1000))
            text = frames.frame(client.cursor, at, rest)
        if not client.say(text, at):
            self.owed[client] = owed = Owed(at, fetch=True)
            owed.add(news, at)

    def move(self, client: Client, answer: Admitted) -> None:
        """Put a page whose viewer's rights have changed into its new room and send what looks different there."""
        before, owed = self.views.get(client), self.owed.get(client)
        if before == answer.view:
            return
        if owed and before and before.team_ids <= answer.view.team_ids:  # else some may be of a team that it sees no more
            events = (*owed.news().events, *answer.news.events)[-MOST_EVENTS:]
            answer = replace(answer, news=replace(answer.news, events=events))
        self.out(client)
        self.admit(client, answer)

    def refuse(self, client: Client, answer: Refused) -> None:
        """Close a page's socket and forget it."""
        self.out(client)
        client.close(answer.code, answer.reason)

    def out(self, client: Client) -> None:
        """Forget a page; safe to call for one that is not here."""
        self.owed.pop(client, None)
        view = self.views.pop(client, None)
        if view is None:
            return
        room = self.by_view[view]
        room.clients.discard(client)
        if not room.clients:
            del self.by_view[view]

    def check_due(self, now: float) -> bool:
        """Whether a page's session and rights are to be looked at again."""
        return any(client.check_at <= now for client in self.views)

    def due_checks(self, now: float) -> list[tuple[Client, View]]:
        """Return the pages whose session and rights are to be looked at again, at most a batch, and set their next time."""
        waiting = sorted(self.views.items(), key=lambda item: item[0].check_at)  # the longest first: none waits for ever
        due = [(client, view) for client, view in waiting[: self.pace.recheck_batch] if client.check_at <= now]
        for client, _ in due:
            client.check_at = self._next_check(now)
        return due

    def sweep_due(self, now: float) -> bool:
        """Whether a view is to be compared as a whole."""
        return any(now - room.swept_at > self.pace.sweep_s for room in self.by_view.values())

    def due_sweeps(self, now: float) -> frozenset[View]:
        """Return a few views that are to be compared as a whole, and set their next time."""
        waiting = sorted(self.by_view.items(), key=lambda item: item[1].swept_at)  # the longest first: none waits for ever
        due = [(view, room) for view, room in waiting[: self.pace.sweep_batch] if now - room.swept_at > self.pace.sweep_s]
        for _, room in due:
            room.swept_at = now
        return frozenset(view for view, _ in due)

    def check_all(self) -> None:
        """Let every page's rights be looked at again now."""
        for client in self.views:
            client.check_at = 0.0

    def _enter(self, client: Client, answer: Admitted) -> Room:
        room = self.by_view.setdefault(answer.view, Room())
        if not room.clients:
            room.shown = answer.shown
        room.clients.add(client)
        self.views[client] = answer.view
        client.check_at = self._next_check(time.monotonic())
        return room

    def _next_check(self, now: float) -> float:
        return now + self.pace.recheck_s * random.uniform(0.8, 1.0)  # noqa: S311 - spreads the look-ups

    def _cursor(self, view: View) -> str:
        return cursor.encode({team: self.known.get(team, 0) for team in view.team_ids})


def _sendable(news: News) -> News:
    """Return the news; where their HTML is more than a frame takes, the word to fetch the page in its place."""
    if sum(len(html or "") for html in news.html.values()) * 8 <= frames.MAX_BYTES or frames.fits(_tail(news)):
        return news
    return replace(news, html={}, resync=True)


def _text(prev: str, seq: str, news: News, rest: str) -> str:
    """Return one frame: the news, or the word to fetch the page. Two would bring HTML that the fetch throws away."""
    return frames.resync(seq, wait=news.wait, events=news.events) if news.resync else frames.frame(prev, seq, rest)


def _tail(news: News, **more: int) -> str:
    return frames.tail(news.html, wait=news.wait, events=news.events, **more)
