"""Marked steps: what an agent says carries its number and moment, so that whoever shows it can tell how old it is."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

MARK = re.compile(r"step (\d+) of (agent\d+) at (\d+\.\d+)")


def text(number: int, agent: str, at: float) -> str:
    """Return the words of a step."""
    return f"step {number} of {agent} at {at:.4f}"


@dataclass
class Seen:
    """What one page has shown. A page may skip steps, for it shows the newest: a skipped one counts when a later one is there.

    `period_s` is the time between two steps of one agent. `last` begins as what was on the page when it was opened; an agent
    that is not in it had said nothing yet, so its first step counts like every other.
    """

    period_s: float
    last: dict[str, int] = field(default_factory=dict)
    late_ms: list[float] = field(default_factory=list)

    def note(self, marks: Iterable[tuple[int, str, float]], now: float) -> None:
        """Note marks that are on the page now."""
        for number, agent, at in marks:
            known = self.last.get(agent, 0)
            if number > known:
                self.late_ms += [(now - (at - back * self.period_s)) * 1000 for back in range(number - known)]
                self.last[agent] = number


def newest(marks: Iterable[tuple[int, str, float]]) -> dict[str, int]:
    """Return the highest number of each agent."""
    last: dict[str, int] = {}
    for number, agent, _ in marks:
        last[agent] = max(number, last.get(agent, 0))
    return last


def unseen(shown: Mapping[str, int], last: Mapping[str, int]) -> int:
    """Return how many steps a page never came to show, of the agents whose `last` numbers these are."""
    return sum(max(0, number - shown.get(agent, 0)) for agent, number in last.items())


def found(html: str) -> list[tuple[int, str, float]]:
    """Return the marks in a piece of a page."""
    return [(int(number), agent, float(at)) for number, agent, at in MARK.findall(html)]
