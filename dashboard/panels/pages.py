"""Which live blocks each page shows, containers first; what is nested in them is found when they are drawn."""

from collections.abc import Callable, Mapping

from dashboard.access import Viewer, require_team, team_at
from dashboard.panels import args
from dashboard.panels.agent_page import AgentHead
from dashboard.panels.agents import AgentSet
from dashboard.panels.attention import Attention, Bell
from dashboard.panels.base import Block
from dashboard.panels.board import Board, Filter, Table
from dashboard.panels.checkpoints import CheckpointList
from dashboard.panels.context import ContextEntry, ContextList
from dashboard.panels.decision import Decision
from dashboard.panels.graph import Graph
from dashboard.panels.history import History
from dashboard.panels.inbox_counts import InboxCounts
from dashboard.panels.inbox_list import Gone, InboxList
from dashboard.panels.kpis import Kpis
from dashboard.panels.last_backup import LastBackup
from dashboard.panels.message_log import MessageLog, MessagePairs
from dashboard.panels.messages import Messages
from dashboard.panels.nav import Nav, Tabs
from dashboard.panels.silence import Silence
from dashboard.panels.structure import AgentStructure, InboxStructure
from dashboard.panels.task_page import WHICH, Attempts, Handover, TaskActions, TaskHead
from dashboard.panels.team_head import TeamBar
from dashboard.panels.team_index import TeamIndex
from dashboard.panels.team_list import TeamList
from dashboard.panels.transcript import Transcript
from tasks_app.domain.errors import NotFound
from tasks_app.selectors import agents, attempts, steps
from tasks_app.selectors import inbox as inbox_selector
from tasks_app.selectors.messages import Wanted


def blocks(page: str, arg: str, viewer: Viewer) -> list[Block]:
    """Return the blocks of a page for a viewer; raises NotFound for a page or thing that this viewer may not see."""
    if page not in PAGES:
        raise NotFound("There is no such page.", field="page")
    return [*chrome(page, arg, viewer).values(), *PAGES[page](arg, viewer)]


def chrome(page: str, arg: str, viewer: Viewer) -> dict[str, Block]:
    """Return what stands around every page: the amber bar, the word that nobody works, the rail and the tabs of a phone."""
    teams = viewer.team_ids
    return {
        "attention": Attention().block(teams),
        "bell": Bell().block(teams),
        "silence": Silence().block(teams),
        "nav": Nav().block(page, arg, teams),
        "tabs": Tabs().block(page, arg, teams),
    }


def overview(arg: str, viewer: Viewer) -> list[Block]:
    """Return the figures and the list of teams; for administrators also how the last backup went."""
    last_backup = [LastBackup().block()] if viewer.superuser else []
    return [Kpis().block(viewer.team_ids), TeamList().block(viewer.team_ids), *last_backup]


def teams(arg: str, viewer: Viewer) -> list[Block]:
    """Return the teams by name."""
    return [TeamIndex().block(viewer.team_ids)]


def inbox(arg: str, viewer: Viewer) -> list[Block]:
    """Return the list and the decision that is open; `arg` is its id, packed with the kind."""
    decision_id, chosen = args.choices(arg)
    kind = chosen.get("kind", "")
    team = inbox_selector.team_of(decision_id) if decision_id else None
    gone = Gone(chosen.get("gone", ""), chosen.get("after", ""))
    listed = InboxList().block(kind, decision_id, viewer.team_ids, gone)
    if decision_id and (team is None or not viewer.can_see(team)):
        raise NotFound("There is no such request, or you have no access to it.")
    counts = InboxCounts().block(viewer.team_ids)
    found: list[Block] = [InboxStructure().block(kind, viewer.team_ids), counts, listed]
    return found if team is None else [*found, Decision().block(decision_id, team)]


def team(arg: str, viewer: Viewer) -> list[Block]:
    """Return the head, the board or table, the agents and the messages; `arg` is the address, packed with the filter."""
    slug, query = args.unpack(arg)
    found = team_at(viewer, slug)
    chosen = Filter.parse(query)
    return [
        TeamBar().block(found.pk),
        tasks_of(found.pk, chosen),
        AgentSet().block(found.pk),
        Messages().block(found.pk),
    ]


def tasks_of(team_pk: int, chosen: Filter) -> Block:
    """Return the tasks of a team as the board, the table or the graph."""
    panels: dict[str, Board | Table | Graph] = {"board": Board(), "table": Table(), "graph": Graph()}
    return panels[chosen.view].block(team_pk, chosen.query)


def context(arg: str, viewer: Viewer) -> list[Block]:
    """Return what a team shares, or one entry of it; `arg` is the team's address, packed with the entry and its versions."""
    slug, chosen = args.choices(arg)
    found = team_at(viewer, slug)
    if "entry" not in chosen:
        return [ContextList().block(found.pk)]
    old, new = (_number(chosen.get(name, "0")) for name in ("old", "new"))
    return [ContextEntry().block(_number(chosen["entry"]), old, new, found.pk)]


def checkpoints(arg: str, viewer: Viewer) -> list[Block]:
    """Return what a team's work can go on from; `arg` is its address."""
    return [CheckpointList().block(team_at(viewer, arg).pk)]


def messages(arg: str, viewer: Viewer) -> list[Block]:
    """Return the log and the table of a team's messages; `arg` is its address, packed with the filter."""
    slug, chosen = args.choices(arg)
    found = team_at(viewer, slug)
    wanted = Wanted(*(chosen.get(name, "") for name in ("who", "state", "priority")))
    return [MessageLog().block(found.pk, wanted), MessagePairs().block(found.pk)]


def task(arg: str, viewer: Viewer) -> list[Block]:
    """Return the head, the attempts, the hand-over and the actions of a task; `arg` is its number, packed with which attempts."""
    number, chosen = args.choices(arg)
    pk = _number(number)
    found = attempts.team_of(pk)
    if found is None:
        raise NotFound("There is no such task, or you have no access to it.")
    require_team(viewer, found)
    tried = Attempts().block(pk, found, chosen.get(WHICH, ""))
    return [TaskHead().block(pk, found), tried, Handover().block(pk, found), TaskActions().block(pk, found)]


def agent(arg: str, viewer: Viewer) -> list[Block]:
    """Return the head, the transcript and the messages of an agent; `arg` is its number, packed with the window."""
    number, chosen = args.choices(arg)
    pk = _number(number)
    card = agents.by_ids([pk]).get(pk)
    if card is None:
        raise NotFound("There is no such agent, or you have no access to it.")
    require_team(viewer, card.team_id)
    run = steps.where(chosen.get("run", ""))
    found: list[Block] = [AgentHead().block(pk, card.team_id), AgentStructure().block(pk, card.team_id)]
    if run is not None and (run[0], run[2]) == (card.team_id, pk):
        before = _number(chosen["before"]) if "before" in chosen else 0
        found.append(Transcript().block(chosen["run"], chosen.get("only", ""), before, card.team_id, chosen.get("find", "")))
    return [*found, Messages().block(card.team_id, pk)]


def history(arg: str, viewer: Viewer) -> list[Block]:
    """Return the newest events, where the page shows them; `arg` is the packed filter."""
    block = History().block(arg, viewer.team_ids)
    return [block] if block.keys else []


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise NotFound("There is no such page.", field="arg")
    return int(text)


def plain(arg: str, viewer: Viewer) -> list[Block]:
    """Return nothing: the page itself is not live."""
    return []


PAGES: Mapping[str, Callable[[str, Viewer], list[Block]]] = {
    "overview": overview,
    "inbox": inbox,
    "team": team,
    "teams": teams,
    "figures": plain,
    "context": context,
    "checkpoints": checkpoints,
    "checkpoint": plain,
    "messages": messages,
    "task": task,
    "agent": agent,
    "history": history,
    "team-new": plain,
    "team-import": plain,
    "message": plain,
    "task-form": plain,
    "keys": plain,
    "search": plain,
    "removal": plain,
    "error": plain,
}
