"""The agents of a team as a table in a terminal, narrow ones too."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table

from tasks_app.domain.spans import span
from tasks_app.domain.text import one_line
from tasks_app.management import words
from tasks_app.selectors.agents import AgentCard

COLUMNS = ("Agent", "Role", "State", "Task", "Context", "Worked", "Waited", "Pace")
DROPPED = ("Role", "Waited", "Context", "Worked", "Pace")
"""What a narrow screen does without, in this order."""


class CrewTable:
    """The agents as a table. Only the task's title is wrapped; a narrow screen leaves out the first of `DROPPED` that it must."""

    def __init__(self, cards: Sequence[AgentCard]) -> None:
        self.cards = cards

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for number in range(len(DROPPED) + 1):
            table = _table(self.cards, left_out=DROPPED[:number])
            if console.measure(table, options=options.update(width=1000)).minimum <= options.max_width:
                break
        yield table


def _table(cards: Sequence[AgentCard], *, left_out: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    rows = [_cells(card) for card in cards]
    shown = [place for place, name in enumerate(COLUMNS) if name not in left_out]
    for place in shown:
        wraps = COLUMNS[place] == "Task"
        width = None if wraps else max(cell_len(cells[place]) for cells in (COLUMNS, *rows))
        table.add_column(COLUMNS[place], no_wrap=not wraps, min_width=width, overflow="fold")
    for cells in rows:
        table.add_row(*(cells[place] for place in shown))
    return table


def _cells(card: AgentCard) -> tuple[str, ...]:
    percent, run = card.context.percent, card.run
    return (
        one_line(card.name, 30),
        one_line(card.role, 20),
        card.state.value,
        one_line(f"{run.label} {run.task_title}", 40) if run else "",
        "–" if percent is None else f"{percent} %",
        span(run.time.worked_s) if run else "",
        span(run.time.waited_s) if run and run.time.waited_s >= 1 else "",
        words.pace(card) if run else "",
    )
