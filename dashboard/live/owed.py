"""What a page without credit is to be told once it has some: of each block the newest HTML only, so that nothing piles up."""

from dataclasses import dataclass, field

from dashboard.live.frames import DecisionEvent
from dashboard.live.orders import News, Shown

MOST_EVENTS = 50
"""A page is owed for a minute at most; of more requests than this in that time the newest are told."""


@dataclass
class Owed:
    """News put together. The texts are those that the other pages of the view were sent: nothing is copied.

    `cursor` is where it will stand then; `fetch`: it is to fetch itself, so no HTML is owed.
    """

    cursor: str
    fetch: bool = False
    _html: dict[str, str | None] = field(default_factory=dict)
    _events: list[DecisionEvent] = field(default_factory=list)
    _wait: int | None = None

    def add(self, news: News, cursor: str) -> None:
        """Put in what has come since."""
        self.cursor = cursor
        self.fetch = self.fetch or news.resync
        for name, text in news.html.items():
            self._html.pop(name, None)  # it goes to the end: it may stand in a block that came in between
            self._html[name] = text
        if self.fetch:
            self._html.clear()
        self._events = [*self._events, *news.events][-MOST_EVENTS:]
        self._wait = self._wait if news.wait is None else news.wait

    def news(self) -> News:
        """Return all that is owed as one piece of news."""
        return News(Shown(()), self._html, wait=self._wait, events=tuple(self._events), resync=self.fetch)
