"""The board of a team: one block per state, the tabs that choose one on a phone, and the same as a table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qs, urlencode

from dashboard.access import Viewer
from dashboard.panels.base import Block
from dashboard.panels.many import Contexts, Many
from tasks_app.selectors import agents, tasks, teams
from tasks_app.selectors.states import TaskState
from tasks_app.selectors.tasks import TaskCard
from tasks_app.services import keys
from tasks_app.task_types import registry

DONE_SHOWN = 10
VIEWS = ("board", "table", "graph")
KINDS = {**{name: registry.get(name).LABEL for name in registry.TYPES}, tasks.REVIEW: "Review"}
"""What kinds of task a board can be filtered for, in words."""


@dataclass(frozen=True)
class Filter:
    """What a person wants to see of a team's tasks; made from and written as a query string."""

    view: str = "board"
    text: str = ""
    agent: str = ""
    kind: str = ""  # a type of task, or `review`
    hide_done: bool = False
    column: str = ""  # the one shown on a phone
    everything: bool = False  # all of a graph that is large

    @classmethod
    def parse(cls, query: str) -> "Filter":
        """Return the filter in a query string; what is unknown in it counts as not given."""
        found = {name: values[-1] for name, values in parse_qs(query[:2000]).items()}
        view, column = found.get("view", ""), found.get("col", "")
        return cls(
            view=view if view in VIEWS else "board",
            text=found.get("q", "")[:200],
            agent=found.get("agent", "")[:60],
            kind=found.get("kind", "") if found.get("kind", "") in KINDS else "",
            hide_done=found.get("hide") == "1",
            column=column if column in set(TaskState) else "",
            everything=found.get("all") == "1",
        )

    @property
    def choices(self) -> dict[str, str]:
        """What differs from the plain board."""
        pairs = {"view": self.view if self.view != "board" else "", "q": self.text, "agent": self.agent}
        pairs |= {"kind": self.kind, "hide": "1" if self.hide_done else "", "col": self.column}
        pairs |= {"all": "1" if self.everything else ""}
        return {name: value for name, value in pairs.items() if value}

    @property
    def query(self) -> str:
        """The shortest query string for it."""
        return urlencode(self.choices)

    @property
    def with_everything(self) -> str:
        """The query string that shows all of a large graph."""
        return replace(self, everything=True).query

    @property
    def active(self) -> bool:
        """Whether it hides anything."""
        return bool(self.text or self.agent or self.kind or self.hide_done)

    @property
    def plain(self) -> str:
        """The query string of the same view with nothing hidden."""
        return replace(self, text="", agent="", kind="", hide_done=False).query

    @property
    def table(self) -> str:
        """The query string of the same filter as a table."""
        return replace(self, view="table", column="").query

    @property
    def columns(self) -> dict[str, str]:
        """For each state the query string of the same filter with its column chosen."""
        return {state.value: replace(self, column=state.value).query for state in TaskState}

    def lets(self, card: TaskCard) -> bool:
        """Whether it lets a task be seen."""
        words = self.text.casefold().split()
        where = f"{card.label} {card.title} {card.role} {card.agent}".casefold()
        return (
            all(word in where for word in words)
            and (not self.kind or self.kind == card.kind)
            and (not self.agent or self.agent in (card.agent, card.assignee))
            and not (self.hide_done and card.state in (TaskState.DONE, TaskState.CANCELLED))
        )


class Board:
    """The frame that holds the columns; it never changes by itself."""

    name = "board"
    template = "panels/board.html"

    def block(self, team_pk: int, query: str) -> Block:
        """Return the board of a team through a filter."""
        return Block(f"board-{team_pk}", self.name, (team_pk, query), frozenset(), team_pk)

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any]:
        """Return the columns' blocks."""
        team_pk, query = int(block.args[0]), str(block.args[1])
        members = agents.ids_of_teams([team_pk])[team_pk]
        column = Column()
        blocks = [column.block(team_pk, state.value, query, members) for state in TaskState]
        return {"columns": blocks, "tabs": Tabs().block(team_pk, query), "chosen": bool(Filter.parse(query).column)}


class Column(Many):
    """The tasks in one state."""

    name = "board-column"
    template = "panels/board_column.html"

    def block(self, team_pk: int, state: str, query: str, agent_ids: Iterable[int] = ()) -> Block:
        """Return a column; where agents work or wait, what they do is part of it."""
        changes = {keys.tasks(team_pk), keys.inbox(team_pk)}
        if state in (TaskState.IN_FLIGHT, TaskState.WAITING):
            changes |= {keys.agent(pk) for pk in agent_ids}
        return Block(f"col-{team_pk}-{state}", self.name, (team_pk, state, query), frozenset(changes), team_pk)

    def contexts(self, blocks: Sequence[Block], viewer: Viewer) -> Contexts:
        """Return the cards of each column, in the order they will be worked on or were done."""
        ids = {block.team for block in blocks if block.team is not None}
        found = tasks.of_teams(ids, states={TaskState(str(block.args[1])) for block in blocks})
        return {block.id: self._column(block, found[block.team]) for block in blocks if block.team is not None}

    def _column(self, block: Block, cards: Sequence[TaskCard]) -> dict[str, Any]:
        state, chosen = TaskState(str(block.args[1])), Filter.parse(str(block.args[2]))
        mine = in_order(state, [card for card in cards if card.state is state and chosen.lets(card)])
        shown = mine[:DONE_SHOWN] if state is TaskState.DONE else mine
        return {
            "state": state,
            "cards": shown,
            "count": len(mine),
            "hidden": len(mine) - len(shown),
            "on": chosen.column == state,
            "filter": chosen,
        }


class Tabs(Many):
    """The states with their counts, as links: on a phone one column is shown at a time."""

    name = "board-tabs"
    template = "panels/board_tabs.html"

    def block(self, team_pk: int, query: str) -> Block:
        """Return the tabs of a team's board."""
        return Block(
            f"board-tabs-{team_pk}", self.name, (team_pk, query), frozenset({keys.tasks(team_pk), keys.inbox(team_pk)}), team_pk
        )

    def contexts(self, blocks: Sequence[Block], viewer: Viewer) -> Contexts:
        """Return count and link of each state."""
        return {block.id: self._tabs(block) for block in blocks}

    def _tabs(self, block: Block) -> dict[str, Any]:
        team_pk, chosen = int(block.args[0]), Filter.parse(str(block.args[1]))
        if chosen.active:
            seen = [card.state for card in tasks.of_teams([team_pk])[team_pk] if chosen.lets(card)]
            counts = {state: seen.count(state) for state in TaskState}
        else:
            whole = teams.counts([team_pk]).get(team_pk, teams.Counts())
            counts = {state: int(getattr(whole, state.value)) for state in TaskState}
        first = chosen.column or next((state.value for state in TaskState if counts[state]), "")
        tabs = [(state, counts[state], state == first) for state in TaskState if counts[state] or state == first]
        return {"tabs": tabs, "filter": chosen}


class Table:
    """The same tasks as a table, in order of their numbers."""

    name = "task-table"
    template = "panels/task_table.html"

    def block(self, team_pk: int, query: str) -> Block:
        """Return the table of a team through a filter."""
        changes = frozenset({keys.tasks(team_pk)})
        return Block(f"table-{team_pk}", self.name, (team_pk, query), changes, team_pk)

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any]:
        """Return a block per row."""
        team_pk, chosen = int(block.args[0]), Filter.parse(str(block.args[1]))
        cards = [card for card in tasks.of_teams([team_pk])[team_pk] if chosen.lets(card)]
        row = Row()
        return {"rows": [row.block(card.pk, team_pk, card.agent_pk) for card in cards], "filter": chosen}


class Row(Many):
    """One task as a row."""

    name = "task-row"
    template = "panels/task_row.html"
    prefix = "row"

    def block(self, task_pk: int, team_pk: int, agent_pk: int | None = None) -> Block:
        """Return a row; what its agent does is part of it."""
        changes = {keys.task(task_pk), keys.tasks(team_pk), keys.inbox(team_pk)} | ({keys.agent(agent_pk)} if agent_pk else set())
        return Block(f"{self.prefix}-{task_pk}", self.name, (task_pk,), frozenset(changes), team_pk)

    def contexts(self, blocks: Sequence[Block], viewer: Viewer) -> Contexts:
        """Return each task's card."""
        found = tasks.of_teams({block.team for block in blocks if block.team is not None})
        cards = {card.pk: card for team in found.values() for card in team}
        return {block.id: {"card": cards[int(block.args[0])]} for block in blocks if int(block.args[0]) in cards}


def in_order(state: TaskState, cards: Sequence[TaskCard]) -> list[TaskCard]:
    """Return the cards of one state: queued ones as they will be taken, done ones newest first, others by number."""
    if state is TaskState.QUEUED:
        return sorted(cards, key=lambda card: (card.priority, card.position, card.number))
    if state is TaskState.DONE:
        return sorted(cards, key=lambda card: (-(card.completed_at.timestamp() if card.completed_at else 0), card.number))
    return sorted(cards, key=lambda card: card.number)
