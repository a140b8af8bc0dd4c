"""What passes between the hub (event loop) and `refresh` (thread): plain frozen values, no sockets, no rows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from dashboard.access import NOBODY, Viewer
from dashboard.live.client import Ticket
from dashboard.live.frames import Close, DecisionEvent
from dashboard.panels.base import Block


class Kind(StrEnum):
    """How much is looked at."""

    FRAME = "frame"  # everything
    JOINS = "joins"  # only those who come, between two frames
    FAST = "fast"  # only fast blocks, by hints alone, between two frames


@dataclass(frozen=True)
class View:
    """A page as seen with one set of rights: all sockets of a view show the same HTML."""

    page: str
    arg: str
    team_ids: frozenset[int]
    lead_of: frozenset[int]
    superuser: bool = False

    @property
    def viewer(self) -> Viewer:
        """The viewer that decides which blocks there are: rights only, no person."""
        return replace(NOBODY, team_ids=self.team_ids, lead_of=self.lead_of, superuser=self.superuser)


@dataclass(frozen=True)
class Shown:
    """What the sockets of a view show: its blocks, what stands inside which, hashes of the HTML that they were sent."""

    roots: tuple[Block, ...]
    inside: Mapping[str, tuple[Block, ...]] = field(default_factory=dict)
    hashes: Mapping[str, int] = field(default_factory=dict)
    broken: frozenset[str] = frozenset()
    doubted: frozenset[str] = frozenset()  # stale by an event but equal: sent again with the next sweep, to be sure
    wait: int | None = None
    fresh: frozenset[str] = frozenset()  # sent by a fast frame since the last full one

    def blocks(self) -> Iterator[Block]:
        """Yield every block, containers before what they contain."""
        left = [*reversed(self.roots)]
        while left:
            yield (block := left.pop())
            left += reversed(self.inside.get(block.id, ()))


@dataclass(frozen=True)
class News:
    """What changed for a view: HTML by DOM id (None: gone) and what it shows afterwards."""

    shown: Shown
    html: dict[str, str | None]
    wait: int | None = None
    events: tuple[DecisionEvent, ...] = ()
    resync: bool = False  # something could not be rendered: fetch the page

    def __bool__(self) -> bool:
        return bool(self.html or self.events or self.resync or self.wait is not None)


@dataclass(frozen=True)
class Refused:
    """A socket that may not be open (any more)."""

    code: Close
    reason: str


@dataclass(frozen=True)
class Admitted:
    """A socket that may: where it belongs, what it missed (`news.resync`: too much, or nobody knows)."""

    view: View
    shown: Shown
    news: News = field(default_factory=lambda: News(Shown(()), {}, resync=True))
    missed: int = 0  # events since the page was loaded


@dataclass(frozen=True)
class Order:
    """What the hub wants to know. `look`: teams with a hint; None: all. `rooms` are the views that are open."""

    rooms: Mapping[View, Shown]
    known: Mapping[int, int]
    keys: frozenset[str] = frozenset()
    look: frozenset[int] | None = frozenset()
    joins: tuple[Ticket, ...] = ()
    checks: tuple[tuple[Ticket, View], ...] = ()
    kind: Kind = Kind.FRAME
    everything: bool = False
    sweep: frozenset[View] = frozenset()
    newest: int = -1  # the highest team pk seen so far; -1: none was looked for
    answering: bool | None = None  # whether a worker answered at the last look; None: not looked yet


@dataclass
class Outcome:
    """What the hub has to tell. `known` is where the views stand now; `new_teams`: access must be looked at again."""

    known: dict[int, int]
    newest: int
    new_teams: bool = False
    answering: bool | None = None
    rooms: dict[View, News] = field(default_factory=dict)
    joins: dict[Ticket, Admitted | Refused] = field(default_factory=dict)
    checks: dict[tuple[Ticket, View], Admitted | Refused] = field(default_factory=dict)
