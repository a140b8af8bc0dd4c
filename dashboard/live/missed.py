"""What a page has missed since it was loaded, or since it heard its last frame."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dashboard.live import cursor
from tasks_app.selectors import live as selector


@dataclass(frozen=True)
class Missed:
    """How many events came after a cursor, and their keys (None: all). `fetch`: more than anybody reads, or nobody knows.

    `asked`: decisions that were opened meanwhile and still wait, oldest first; unknown of very many teams.
    """

    count: int = 0
    keys: frozenset[str] | None = frozenset()
    asked: tuple[selector.Opened, ...] = ()
    fetch: bool = False

    def touches(self, keys: frozenset[str]) -> bool:
        """Whether a block with these keys is stale."""
        return self.keys is None or not keys.isdisjoint(self.keys)


def since(text: str, now: Mapping[int, int], *, most: int) -> Missed:
    """Return what came after the cursor `text`, where the teams stand `now`; of more events than `most` only how many."""
    if text.startswith(cursor.DIGEST):
        return Missed(keys=frozenset() if text == cursor.encode(now) else None)
    then = cursor.decode(text)
    if then is None:
        return Missed(fetch=True)
    behind = _behind(then, now)
    if set(then) != set(now) or any(then[team] > now[team] for team in now):
        return Missed(asked=_asked(behind, now), fetch=True)
    count = sum(now[team] - seq for team, seq in behind.items())
    if count > most:
        return Missed(count, asked=_asked(behind, now), fetch=True)
    keys, opens = set[str](), dict[int, int]()
    for team, seq in behind.items():
        for row in selector.lines(team, after=seq, upto=now[team], limit=most):
            keys.update(row.keys)
            if row.opens:
                opens[team] = seq
    return Missed(count, frozenset(keys), _asked(opens, now))


def asked(text: str, now: Mapping[int, int]) -> tuple[selector.Opened, ...]:
    """Return the decisions that were opened after the cursor `text` and still wait; none where nobody knows."""
    then = cursor.decode(text)
    return () if then is None else _asked(_behind(then, now), now)


def asked_in(teams: Iterable[int], now: Mapping[int, int]) -> tuple[selector.Opened, ...]:
    """Return all decisions that wait in these teams, for a page that did not see them before."""
    return _asked({team: 0 for team in sorted(teams) if team in now}, now)


def _behind(then: Mapping[int, int], now: Mapping[int, int]) -> dict[int, int]:
    """Return where the teams stood that have gone on, or have come to be seen; a cursor that knows none of them tells nothing."""
    if then and then.keys().isdisjoint(now):
        return {}
    return {team: then.get(team, 0) for team in now if then.get(team, 0) < now[team]}


def _asked(behind: Mapping[int, int], now: Mapping[int, int]) -> tuple[selector.Opened, ...]:
    return tuple(row for team, seq in behind.items() for row in selector.opened(team, after=seq, upto=now[team]))
