"""The panels by name, as dotted paths: a new kind of block is one file and one line here."""

from functools import cache
from typing import TYPE_CHECKING

from django.utils.module_loading import import_string

if TYPE_CHECKING:
    from dashboard.access import Viewer
    from dashboard.panels.base import Block, Panel

PAGES = "dashboard.panels.pages.blocks"
"""The function `(page, arg, viewer) -> list[Block]`: which blocks a page shows; raises a DomainError for what it may not."""

PANELS: dict[str, str] = {
    "attention": "dashboard.panels.attention.Attention",
    "bell": "dashboard.panels.attention.Bell",
    "silence": "dashboard.panels.silence.Silence",
    "nav": "dashboard.panels.nav.Nav",
    "tabs": "dashboard.panels.nav.Tabs",
    "kpis": "dashboard.panels.kpis.Kpis",
    "last-backup": "dashboard.panels.last_backup.LastBackup",
    "team-index": "dashboard.panels.team_index.TeamIndex",
    "team-list": "dashboard.panels.team_list.TeamList",
    "team-head": "dashboard.panels.team_head.TeamHead",
    "team-bar": "dashboard.panels.team_head.TeamBar",
    "agent-set": "dashboard.panels.agents.AgentSet",
    "inbox-list": "dashboard.panels.inbox_list.InboxList",
    "decision": "dashboard.panels.decision.Decision",
    "board": "dashboard.panels.board.Board",
    "board-tabs": "dashboard.panels.board.Tabs",
    "board-column": "dashboard.panels.board.Column",
    "task-table": "dashboard.panels.board.Table",
    "task-row": "dashboard.panels.board.Row",
    "graph": "dashboard.panels.graph.Graph",
    "graph-node": "dashboard.panels.graph.GraphNode",
    "graph-chain": "dashboard.panels.graph.GraphChain",
    "messages": "dashboard.panels.messages.Messages",
    "message-log": "dashboard.panels.message_log.MessageLog",
    "message-pairs": "dashboard.panels.message_log.MessagePairs",
    "task-head": "dashboard.panels.task_page.TaskHead",
    "task-attempts": "dashboard.panels.task_page.Attempts",
    "task-handover": "dashboard.panels.task_page.Handover",
    "task-actions": "dashboard.panels.task_page.TaskActions",
    "agent-head": "dashboard.panels.agent_page.AgentHead",
    "transcript": "dashboard.panels.transcript.Transcript",
    "transcript-part": "dashboard.panels.transcript.Part",
    "agent-structure": "dashboard.panels.structure.AgentStructure",
    "inbox-counts": "dashboard.panels.inbox_counts.InboxCounts",
    "inbox-structure": "dashboard.panels.structure.InboxStructure",
    "history": "dashboard.panels.history.History",
    "context-list": "dashboard.panels.context.ContextList",
    "context-entry": "dashboard.panels.context.ContextEntry",
    "checkpoint-list": "dashboard.panels.checkpoints.CheckpointList",
    "agent-card": "dashboard.panels.agents.AgentCard",
}


@cache
def panel(name: str) -> "Panel":
    """Return the panel of that name (one instance per process); raises LookupError with the known names."""
    if name not in PANELS:
        raise LookupError(f"There is no panel {name!r} in dashboard/panels/registry.py. Known: {', '.join(sorted(PANELS))}.")
    made: Panel = import_string(PANELS[name])()
    return made


def blocks(page: str, arg: str, viewer: "Viewer") -> "list[Block]":
    """Return the blocks of a page for a viewer, containers before what they contain."""
    found: list[Block] = import_string(PAGES)(page, arg, viewer)
    return found
