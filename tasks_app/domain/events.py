"""The kinds of event: each durable line of a team's log, with the keys of its data.

An event has `seq` (gapless per team), `kind`, `at`, `actor` (`user:<name>`, `agent:<name>`, `system`), the ids it is
about (task number, run id, agent id, decision id) and `data` as listed here. `EVENT_DATA` is what docs/events.md prints.
"""

from enum import StrEnum


class EventKind(StrEnum):
    """What can happen to a team."""

    TEAM_STARTED = "team.started"
    TEAM_PAUSED = "team.paused"
    TEAM_RESUMED = "team.resumed"
    TEAM_STOPPED = "team.stopped"
    TEAM_ARCHIVED = "team.archived"
    TEAM_RESTORED = "team.restored"
    TEAM_DECIDES = "team.decides"
    TEAM_IMPORTED = "team.imported"
    TASK_CREATED = "task.created"
    TASK_EDITED = "task.edited"
    TASK_SPLIT = "task.split"
    TASK_CLAIMED = "task.claimed"
    TASK_PROVED = "task.proved"
    TASK_IN_REVIEW = "task.in_review"
    TASK_REVIEWED = "task.reviewed"
    TASK_COMPLETED = "task.completed"
    TASK_RELEASED = "task.released"
    TASK_REASSIGNED = "task.reassigned"
    TASK_FORKED = "task.forked"
    TASK_REOPENED = "task.reopened"
    TASK_CANCELLED = "task.cancelled"
    TASK_UNDONE = "task.undone"
    RUN_STARTED = "run.started"
    RUN_STEPS = "run.steps"
    RUN_PARKED = "run.parked"
    RUN_RESUMABLE = "run.resumable"
    RUN_COMPLETED = "run.completed"
    RUN_FAILED = "run.failed"
    RUN_KILLED = "run.killed"
    RUN_STOPPING = "run.stopping"
    DECISION_OPENED = "decision.opened"
    DECISION_ANSWERED = "decision.answered"
    DECISION_DELIVERED = "decision.delivered"
    DECISION_WITHDRAWN = "decision.withdrawn"
    DECISION_EXPIRED = "decision.expired"
    DECISION_HANDED_ON = "decision.handed_on"
    DECISION_NOTIFIED = "decision.notified"
    DECISION_NOTIFY_FAILED = "decision.notify_failed"
    MESSAGE_SENT = "message.sent"
    MESSAGE_DELIVERED = "message.delivered"
    MESSAGE_REFUSED = "message.refused"
    MESSAGE_STOPPED = "message.stopped"
    MESSAGE_ACTED = "message.acted"
    MESSAGE_MODE = "message.mode"
    CONTEXT_SHARED = "context.shared"
    CONTEXT_READ = "context.read"
    CONTEXT_DELETED = "context.deleted"
    CONTEXT_EXPIRED = "context.expired"
    CONTEXT_SCHEMA = "context.schema"
    CHECKPOINT_SAVED = "checkpoint.saved"
    CHECKPOINT_RESTORED = "checkpoint.restored"
    CHECKPOINT_DELETED = "checkpoint.deleted"
    FILES_REWOUND = "files.rewound"
    FILES_REWIND_UNDONE = "files.rewind_undone"
    BUDGET_LEVEL = "budget.level"
    BUDGET_CHANGED = "budget.changed"
    LEAD_WOKEN = "lead.woken"
    AGENT_STOPPED = "agent.stopped"
    AGENT_RESUMED = "agent.resumed"
    NOTE = "note"


EVENT_DATA: dict[EventKind, str] = {
    EventKind.TEAM_STARTED: "name, tasks, agents, rehearsal",
    EventKind.TEAM_PAUSED: "",
    EventKind.TEAM_RESUMED: "",
    EventKind.TEAM_STOPPED: "",
    EventKind.TEAM_ARCHIVED: "",
    EventKind.TEAM_RESTORED: "",
    EventKind.TEAM_DECIDES: "the settings that changed",
    EventKind.TEAM_IMPORTED: "name, exported_at, left_out",
    EventKind.TASK_CREATED: "title, waits_for",
    EventKind.TASK_EDITED: "fields, waits_for, waits_no_more",
    EventKind.TASK_SPLIT: "parts",
    EventKind.TASK_CLAIMED: "agent, run, attempt",
    EventKind.TASK_PROVED: "results",
    EventKind.TASK_IN_REVIEW: "reviewer, review",
    EventKind.TASK_REVIEWED: "reviewer, review, verdict, note",
    EventKind.TASK_COMPLETED: "by, evidence, while_blocked_by",
    EventKind.TASK_RELEASED: "reason, detail, attempt",
    EventKind.TASK_REASSIGNED: "to, guidance, start",
    EventKind.TASK_FORKED: "to, attempt, step, files, guidance",
    EventKind.TASK_REOPENED: "why",
    EventKind.TASK_CANCELLED: "why",
    EventKind.TASK_UNDONE: "what",
    EventKind.RUN_STARTED: "fence, worker, resumed",
    EventKind.RUN_STEPS: "first, last",
    EventKind.RUN_PARKED: "reason, fence",
    EventKind.RUN_RESUMABLE: "reason, fence where a worker had it",
    EventKind.RUN_COMPLETED: "reason, detail, fence",
    EventKind.RUN_FAILED: "reason, detail, fence where a worker had it",
    EventKind.RUN_KILLED: "reason, detail, fence where a worker had it",
    EventKind.RUN_STOPPING: "by",
    EventKind.DECISION_OPENED: "kind, title",
    EventKind.DECISION_ANSWERED: "kind, choice, by",
    EventKind.DECISION_DELIVERED: "kind, fence",
    EventKind.DECISION_WITHDRAWN: "kind, why",
    EventKind.DECISION_EXPIRED: "kind",
    EventKind.DECISION_HANDED_ON: "kind, by, why",
    EventKind.DECISION_NOTIFIED: "kind, tries",
    EventKind.DECISION_NOTIFY_FAILED: "kind, why, tries",
    EventKind.MESSAGE_SENT: "message, sender, recipient",
    EventKind.MESSAGE_DELIVERED: "message, recipient, fence",
    EventKind.MESSAGE_REFUSED: "sender, recipient, why",
    EventKind.MESSAGE_STOPPED: "message, seconds",
    EventKind.MESSAGE_ACTED: "message, sender",
    EventKind.MESSAGE_MODE: "mode, per_minute, chain",
    EventKind.CONTEXT_SHARED: "name, version",
    EventKind.CONTEXT_READ: "names, how",
    EventKind.CONTEXT_DELETED: "name, version",
    EventKind.CONTEXT_EXPIRED: "name, version",
    EventKind.CONTEXT_SCHEMA: "name, set",
    EventKind.CHECKPOINT_SAVED: "name, checkpoint",
    EventKind.CHECKPOINT_RESTORED: "name, checkpoint, changes, tasks, safety",
    EventKind.CHECKPOINT_DELETED: "name",
    EventKind.FILES_REWOUND: "attempt, step, count, before, to",
    EventKind.FILES_REWIND_UNDONE: "count, before, to",
    EventKind.BUDGET_LEVEL: "scope, level, used, limit, over, unit",
    EventKind.BUDGET_CHANGED: "scope, new",
    EventKind.LEAD_WOKEN: "agent, decisions",
    EventKind.AGENT_STOPPED: "",
    EventKind.AGENT_RESUMED: "",
    EventKind.NOTE: "text",
}
