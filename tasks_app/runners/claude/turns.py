"""Knows when a process has nothing more to do: whose result a result is, what runs in the background, idle or not."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from claude_agent_sdk import (
    TERMINAL_TASK_STATUSES,
    AssistantMessage,
    Message,
    ResultMessage,
    SystemMessage,
    TaskNotificationMessage,
    TaskStartedMessage,
    TaskUpdatedMessage,
)

AGENT_TASKS = frozenset({"local_agent", "local_workflow"})


class Whose(StrEnum):
    """What a result is the end of."""

    OURS = "ours"  # a prompt of ours that was waited for
    BACKGROUND = "background"  # a turn that a background task woke
    LEFT_OVER = "left_over"  # a prompt that was interrupted or answered before


@dataclass
class Turns:
    """The turns of one process. Feed it every message; ask `over`."""

    pending: list[str] = field(default_factory=list)  # uuids of our prompts that have no result yet, oldest first
    background: dict[str, str] = field(default_factory=dict)  # task id → task type
    idle: bool | None = None  # None: this Claude Code does not tell
    begun: bool = False  # whether the process has taken up the last prompt: before that there is nothing to interrupt
    owed: bool = False  # background work has ended and will wake the agent, but its turn has not begun
    results: int = 0  # of ours
    seen: int = 0  # results of any kind

    def sent(self, uuid: str) -> None:
        """Remember a prompt; its result is waited for."""
        self.pending.append(uuid)
        self.begun = False
        self.idle = None if self.idle is None else False

    def interrupted(self) -> None:
        """Wait for no result any more: what still arrives belongs to what was interrupted."""
        self.pending.clear()

    @property
    def over(self) -> bool:
        """Every prompt has its result, no agent works in the background, and the process says it is idle."""
        return self.resting and not self.background and not self.owed

    @property
    def resting(self) -> bool:
        """Every prompt has its result and no turn is under way; background work may be."""
        return not self.pending and self.results > 0 and self.idle is not False

    @property
    def agents_left(self) -> bool:
        """Agents work in the background."""
        return bool(AGENT_TASKS.intersection(self.background.values()))

    @property
    def only_commands_left(self) -> bool:
        """Nothing is left but background commands, which may run for ever."""
        return self.resting and bool(self.background) and not self.agents_left

    def ended_since(self, seen: int) -> bool:
        """Whether a turn has ended since there were `seen` results, or none is under way."""
        return self.seen != seen or bool(self.idle)

    def see(self, message: Message) -> None:
        """Take in what a message says about tasks and idleness. Results go to `result`."""
        before = bool(self.background)
        if isinstance(message, TaskStartedMessage):
            self.background[message.task_id] = message.task_type or ""
        elif isinstance(message, TaskNotificationMessage):
            self.background.pop(message.task_id, None)
        elif isinstance(message, TaskUpdatedMessage):
            if message.status in TERMINAL_TASK_STATUSES:
                self.background.pop(message.task_id, None)
        elif isinstance(message, SystemMessage):
            self._see_system(message)
        elif isinstance(message, AssistantMessage):
            self.begun = True
        self.owed = self.owed or (before and not self.background)

    def _see_system(self, message: SystemMessage) -> None:
        if message.subtype == "background_tasks_changed":  # the full set, whatever was missed before
            tasks = message.data.get("tasks")
            listed = [task for task in tasks if isinstance(task, dict)] if isinstance(tasks, list) else []
            self.background = {str(task.get("task_id", "")): str(task.get("task_type", "")) for task in listed}
        elif message.subtype == "session_state_changed":
            self.idle = message.data.get("state") == "idle"
            self.begun = self.begun or not self.idle
            self.owed = False

    def result(self, message: ResultMessage) -> Whose:
        """Say whose result this is; one of ours is then no longer waited for."""
        self.seen += 1
        answered = _answered(message)
        if answered:
            mine = [uuid for uuid in self.pending if uuid in answered]
            self.pending = [uuid for uuid in self.pending if uuid not in answered]
            if mine:
                self.results += 1
                return Whose.OURS
            return Whose.LEFT_OVER
        if message.origin is not None and message.origin.get("kind", "human") != "human":
            return Whose.BACKGROUND
        if not self.pending:
            return Whose.LEFT_OVER
        self.pending.pop(0)
        self.results += 1
        return Whose.OURS


def _answered(message: ResultMessage) -> Sequence[str]:
    return message.user_message_uuids or ([message.user_message_uuid] if message.user_message_uuid else [])
