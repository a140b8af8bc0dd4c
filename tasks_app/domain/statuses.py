"""The fixed words of Crewdesk: every stored state, kind and reason, each with one meaning."""

from enum import StrEnum
from typing import Final


class TeamStatus(StrEnum):
    """Whether a team takes up work."""

    ACTIVE = "active"  # start_team, resume_team
    PAUSED = "paused"  # pause_team: running runs go on, nothing new starts
    STOPPED = "stopped"  # stop_team: every run is stopped, nothing starts


class AccessLevel(StrEnum):
    """What somebody who was let into a team may do there."""

    LEAD = "lead"  # act on it
    VIEWER = "viewer"  # see it


class AgentStatus(StrEnum):
    """Whether a member of a team may be given work."""

    ACTIVE = "active"
    STOPPED = "stopped"  # the lead stopped it: it takes no task and no prompt


class TaskStatus(StrEnum):
    """The stored states of a task; everything else a page says is derived from them."""

    PENDING = "pending"  # created, failed, released, reopened
    IN_PROGRESS = "in_progress"  # claimed: an open run exists
    COMPLETED = "completed"  # reported with evidence, or completed by hand
    CANCELLED = "cancelled"  # the lead gave it up


UNFINISHED: Final = (TaskStatus.PENDING, TaskStatus.IN_PROGRESS)


class RunStatus(StrEnum):
    """The stored states of a run."""

    PENDING = "pending"  # opened, parked on a decision, or its lease ran out
    RUNNING = "running"  # a worker holds a live lease
    COMPLETED = "completed"
    FAILED = "failed"
    KILLED = "killed"  # a person stopped it


OPEN_RUN = (RunStatus.PENDING, RunStatus.RUNNING)


class Scope(StrEnum):
    """Who is told of a shared entry."""

    TEAM = "team"
    TASK = "task"  # the task it comes from, and what depends on that, directly or not


class DecisionKind(StrEnum):
    """What an agent can need from the lead."""

    PERMISSION = "permission"
    PLAN = "plan"
    QUESTION = "question"
    ESCALATION = "escalation"
    BUDGET = "budget"
    STALL = "stall"
    REVIEW = "review"  # it reports its task as completed, and a criterion is the lead's to judge


class DecisionStatus(StrEnum):
    """The stored states of a decision."""

    OPEN = "open"
    ANSWERED = "answered"
    WITHDRAWN = "withdrawn"  # the run was stopped, or Claude Code cancelled the request
    EXPIRED = "expired"  # a timeout that the team set ran out: counts as "deny", never as "allow"


class StepKind(StrEnum):
    """What a run did."""

    SAID = "said"  # text of the agent
    THOUGHT = "thought"  # a thinking block
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    PROMPT = "prompt"  # what the run was told: by the system, the lead or a message
    NOTICE = "notice"  # Claude Code or Crewdesk says something: retry, compaction, notification
    SUBTASK = "subtask"  # a sub-agent or background command started, moved or ended
    RESULT = "result"  # the end of a turn


class Reason(StrEnum):
    """Why a run ended, or why it is pending again. `REASON_HELP` says what a person can do."""

    DONE = "done"
    REPORTED = "reported"  # the agent itself gave the task back and said why
    UNREPORTED = "unreported"  # ended twice without reporting on its task
    NO_RESULT = "no_result"  # the process ended without a result message
    EMPTY = "empty"  # a result with no output at all
    BUDGET = "budget"
    TURN_LIMIT = "turn_limit"
    TIME_LIMIT = "time_limit"  # ran longer than the team's limit
    RATE_LIMITED = "rate_limited"  # 429
    OVERLOADED = "overloaded"  # 529 or 5xx
    AUTH = "auth"  # 401, 403: key missing, wrong or expired
    REFUSED = "refused"  # the model refused
    OUTPUT_TOO_LARGE = "output_too_large"  # one line of the process exceeded the buffer
    NOT_JUDGED = "not_judged"  # reported as completed; its review was given up
    SENT_BACK = "sent_back"  # reported as completed; its reviewer did not accept it
    STOPPED = "stopped"  # by a person
    SUPERSEDED = "superseded"  # by a reassignment
    BY_HAND = "by_hand"  # a person completed the task meanwhile
    CRASHED = "crashed"  # the process died and resuming did not help
    START_FAILED = "start_failed"  # the process could not be started
    PARKED = "parked"  # waits for a decision, no process
    INTERRUPTED = "interrupted"  # the worker left in order; goes on elsewhere
    SHARE_SPENT = "share_spent"  # its process spent what it was granted of a budget that has more left
    WORKER_LOST = "worker_lost"  # the lease ran out
    ERROR = "error"  # anything else; the detail has it


TRANSIENT = frozenset({Reason.RATE_LIMITED, Reason.OVERLOADED})
"""Reasons that retry by themselves with back-off and do not count as attempts."""

REASON_WORD: dict[str, str] = {
    Reason.DONE: "Done",
    Reason.REPORTED: "The agent gave it back",
    Reason.UNREPORTED: "Ended twice without a report",
    Reason.NO_RESULT: "Ended without an answer",
    Reason.EMPTY: "The model answered nothing",
    Reason.BUDGET: "Budget used up",
    Reason.TURN_LIMIT: "Turn limit reached",
    Reason.TIME_LIMIT: "Time limit reached",
    Reason.RATE_LIMITED: "Rate limited",
    Reason.OVERLOADED: "The API is overloaded",
    Reason.AUTH: "The API refused the key",
    Reason.REFUSED: "The model declined",
    Reason.OUTPUT_TOO_LARGE: "A tool printed too much",
    Reason.NOT_JUDGED: "Nobody has judged it",
    Reason.SENT_BACK: "Sent back by its reviewer",
    Reason.STOPPED: "Stopped by a person",
    Reason.SUPERSEDED: "Another attempt took over",
    Reason.BY_HAND: "A person completed the task",
    Reason.CRASHED: "The process kept dying",
    Reason.START_FAILED: "Claude Code did not start",
    Reason.PARKED: "Parked",
    Reason.INTERRUPTED: "Interrupted",
    Reason.SHARE_SPENT: "Its share of the budget is spent",
    Reason.WORKER_LOST: "Its worker was lost",
    Reason.ERROR: "Error",
}

REASON_HELP: dict[Reason, str] = {
    Reason.DONE: "Nothing to do.",
    Reason.REPORTED: "Read why the agent gave it back, then reassign it with guidance.",
    Reason.UNREPORTED: "It stopped without saying whether the task is done. Look at its work, then complete or reassign it.",
    Reason.NO_RESULT: "Claude Code ended without an answer. Retry; if it repeats, run `uv run manage.py doctor`.",
    Reason.EMPTY: "The model answered nothing. Retry, or give more guidance.",
    Reason.BUDGET: "Raise the budget or split the task.",
    Reason.TURN_LIMIT: "Raise the turn limit or split the task.",
    Reason.TIME_LIMIT: "Raise the time limit or split the task.",
    Reason.RATE_LIMITED: "The API limits this account. It retries by itself.",
    Reason.OVERLOADED: "The API is overloaded. It retries by itself.",
    Reason.AUTH: "The API refused the key. Check ANTHROPIC_API_KEY with `uv run manage.py doctor`, then retry.",
    Reason.REFUSED: "The model declined. Rephrase the task or do it by hand.",
    Reason.OUTPUT_TOO_LARGE: "A tool printed more than can be read. Ask for less output, then retry.",
    Reason.NOT_JUDGED: "Look at the work yourself: complete it by hand, or give it out again.",
    Reason.SENT_BACK: "Nothing to do: it is done again with the comments of its reviewer.",
    Reason.STOPPED: "A person stopped it. Start it again when you like.",
    Reason.SUPERSEDED: "Another attempt took over.",
    Reason.BY_HAND: "Nothing to do: a person completed the task while this attempt was under way.",
    Reason.CRASHED: "The process kept dying. Run `uv run manage.py doctor`, then retry.",
    Reason.START_FAILED: "Claude Code could not be started. Run `uv run manage.py doctor`.",
    Reason.PARKED: "Answer the open decision; the agent goes on from there.",
    Reason.INTERRUPTED: "Nothing to do: another worker takes it up.",
    Reason.SHARE_SPENT: "Nothing to do: it goes on by itself with its next share.",
    Reason.WORKER_LOST: "Nothing to do: another worker takes it up.",
    Reason.ERROR: "Read the detail, then retry or reassign.",
}
