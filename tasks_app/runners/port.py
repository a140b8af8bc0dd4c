"""The port: all that a runner and the system say to each other. Pure: no Django, no Redis, no SDK.

A runner gets a `RunSpec` and a `Port`, drives one run and returns an `Outcome`. It never touches the database; the
system never touches the SDK. Fakes of the port in tests are the same class that benchmarks use (`runners/fake_port.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from tasks_app.domain.statuses import DecisionKind, Reason, StepKind


@dataclass(frozen=True)
class ToolSpec:
    """One tool of the in-process MCP server `crew`: the agent calls it as `mcp__crew__<name>`."""

    name: str
    description: str
    schema: Mapping[str, Any]  # JSON Schema of the arguments, an object
    asks: DecisionKind | None = None
    """Set where the call itself is a request to the lead (Escalate): the runner then asks before it calls."""


@dataclass(frozen=True)
class RunSpec:
    """Everything a runner needs to drive one run; plain data, made by `execution/spec.py`."""

    run_id: str
    fence: int
    team_id: int
    agent: str
    task_label: str
    attempt: int
    prompt: str  # what the agent is told now: the task, or what happened while it was away
    system_prompt: str  # appended to Claude Code's own: role, instructions, team rules
    workspace: str  # absolute path; the working folder
    home: str  # private folder of this run: HOME, CLAUDE_CONFIG_DIR, TMPDIR
    model: str | None  # None: the CLI's default
    plan_mode: bool  # start (or go on) in plan mode
    session_id: str | None  # the session to resume; None starts a new one
    new_session_id: str  # UUID to use when session_id is None
    fork_of: str = ""  # the session that the new one begins as a copy of; it stays as it is
    fork_at: str = ""  # UUID of the message that the copy ends with
    tools: tuple[ToolSpec, ...] = ()
    builtin_tools: tuple[str, ...] | None = None  # None: Claude Code's defaults
    allow: tuple[str, ...] = ()  # permission rules, Claude Code's syntax: Bash(pytest:*), Edit, Read(src/**)
    deny: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    plans_sent_back: tuple[str, ...] = ()  # the lead's comments on its plans sent back in a row, to whichever life of it
    max_turns: int | None = None
    max_budget_usd: float | None = None
    env: Mapping[str, str] = field(default_factory=dict)  # the allow-listed environment, whole
    sandbox: bool = False
    rehearsal: bool = False
    refuses_unsettled: bool = False
    """A call that no rule settles is refused instead of asked for."""


@dataclass(frozen=True)
class Usage:
    """Tokens of one API message, as the API counts them; `message_id` makes it countable once."""

    message_id: str
    model: str
    input_tokens: int
    cache_creation_tokens: int
    cache_read_tokens: int
    output_tokens: int
    subagent: str = ""  # the parent tool_use_id where a sub-agent spent it, else ""


@dataclass(frozen=True)
class Cost:
    """What the process says it has cost: cumulative for this process, reset to 0 with a new one."""

    process: str  # names the process: run id, fence and a counter
    usd: float
    partial: bool = False  # a response was cut off before its tokens were told: they are paid for and not in it


@dataclass(frozen=True)
class StepDraft:
    """One step to record. `data` is JSON-safe, cleaned of NUL and lone surrogates, already size-capped by the runner."""

    kind: StepKind
    text: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    tool_use_id: str = ""
    parent_tool_use_id: str = ""  # set on steps of a sub-agent
    message_id: str = ""  # of a tool call: the API message that made it, as in `Usage`
    usage: Usage | None = None
    cost: Cost | None = None
    context_tokens: int | None = None  # of the last main-thread response; None: unchanged
    context_window: int | None = None
    context_reset: bool = False  # compaction: context is unknown until the next response


@dataclass(frozen=True)
class Ask:
    """A request to the lead. `payload` is what is shown and hashed; its shape is the kind's (`decision_kinds/`)."""

    kind: DecisionKind
    payload: Mapping[str, Any]
    tool_use_id: str = ""
    subagent: str = ""


@dataclass(frozen=True)
class Answer:
    """What the lead decided: `choice` is one of the kind's words (allow, allow_rule, deny, approve, revise, answer, …).

    `data` by kind: question {"answers": {question text: label or text}}, plan {"plan": edited text},
    escalation {"option": label, "text": free text}. `note` is the lead's text for the agent.
    """

    choice: str
    note: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    by: str = ""


class Parked(Exception):
    """Raised by `Port.ask`: no answer within the grace, or the worker leaves. End the process, return `Outcome.parked`."""


class AskWithdrawn(Exception):
    """Raised by `Port.ask`: the request ended without an answer (expired, withdrawn, service gone). Deny in words."""


class Directive(StrEnum):
    """What the system wants of a running runner."""

    GO_ON = "go_on"
    STOP = "stop"  # a person stopped it: interrupt, then TERM, then KILL
    LEAVE = "leave"  # the worker is leaving or the budget is used up: interrupt and return parked
    LOST = "lost"  # the lease is gone: kill at once, write nothing


class OutcomeKind(StrEnum):
    """How driving a run ended."""

    ENDED = "ended"  # the agent's turn is over; the system looks whether the task was reported
    PARKED = "parked"  # interrupted on purpose; the same attempt goes on later
    FAILED = "failed"
    STOPPED = "stopped"
    LOST = "lost"


@dataclass(frozen=True)
class Outcome:
    """What came of driving a run; the system turns it into states."""

    kind: OutcomeKind
    reason: Reason = Reason.DONE
    detail: str = ""  # for people: what happened, in words
    raw: str = ""  # the technical detail, shown only when opened
    result: str = ""  # the last text of the agent
    session_id: str | None = None
    retry_at: float | None = None  # Unix seconds; set by rate limits
    broken: bool = False  # the process died in the middle of its work: another life may go on


class Port(Protocol):
    """How a runner speaks to the system. Every method raises `LeaseLost` once the run belongs to someone else."""

    async def emit(self, steps: Sequence[StepDraft]) -> None:
        """Record steps: batched, at most every 100 ms; returns once they are accepted (back-pressure), not stored."""

    async def flush(self) -> None:
        """Return once everything emitted is stored."""

    async def ask(self, ask: Ask) -> Answer:
        """Ask the lead and wait. Raises `Parked` or `AskWithdrawn`. Cancelling the call withdraws the decision."""

    async def call_tool(self, name: str, arguments: Mapping[str, Any], tool_use_id: str) -> tuple[str, bool]:
        """Run the crew tool `name`; returns (text for the agent, is_error). Never raises for bad arguments.

        Raises `Parked` where a report waits for the lead, who judges it: end the process, return `Outcome.parked`.
        """

    async def notes(self, *, idle: bool = False) -> Sequence[str]:
        """Messages that are due for this agent now, each handed over exactly once; ready to put into its context.

        `idle`: between two turns, where none that is there may be missed; between two calls the next one has what came just now.
        """

    async def interruption(self) -> None:
        """Return when a message waits for which the agent's tool is to be stopped now; `notes` then hands it over."""

    async def note_interrupted(self) -> None:
        """What the agent did was seen stopped for the messages that wait; called before `notes`."""

    async def keep_files(self) -> str:
        """Keep the workspace's files as they are before the agent is told something; returns the snapshot's id, "" for none."""

    async def note_session(self, session_id: str) -> None:
        """Remember the session of this run, so that any worker can resume it."""

    async def note_process(self, pid: int) -> None:
        """Remember the process group that works for this run (0: it is seen gone)."""

    def directive(self) -> Directive:
        """What the system wants right now; cheap, to be looked at between messages."""

    async def directive_changed(self) -> Directive:
        """Wait until the directive is no longer GO_ON and return it."""

    @property
    def session_store(self) -> Any:
        """The `SessionStore` for this run (duck-typed, see claude_agent_sdk.SessionStore), fenced."""


class Runner(Protocol):
    """Drives one run to an outcome."""

    async def run(self, spec: RunSpec, port: Port) -> Outcome:
        """Drive the run. Never raises for what an agent or its process does; that is an `Outcome`."""
