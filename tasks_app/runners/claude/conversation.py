"""One Claude Code process of a run: what it is told, what it says, and what came of it.

Four things go on at once and none waits for another: the reader takes in what the process says, the emitter hands steps to
the port, the gate's questions wait for the lead in tasks of the SDK, and `hold` looks for a reason to end.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from claude_agent_sdk import AssistantMessage, ClaudeSDKClient, Message, RateLimitEvent, ResultMessage, SystemMessage

from tasks_app.domain.errors import LeaseLost
from tasks_app.domain.statuses import TRANSIENT, Reason, StepKind
from tasks_app.runners.claude import ending, options, stream
from tasks_app.runners.claude.content import kept
from tasks_app.runners.claude.desk import STOPPED, Desk
from tasks_app.runners.claude.emitter import Emitter
from tasks_app.runners.claude.launcher import Launch
from tasks_app.runners.claude.limits import Limits
from tasks_app.runners.claude.mirror import Mirror
from tasks_app.runners.claude.orders import ENDINGS, unless_ordered
from tasks_app.runners.claude.permissions import Gate
from tasks_app.runners.claude.replies import Replies
from tasks_app.runners.claude.translate import Translator
from tasks_app.runners.claude.turns import Turns, Whose
from tasks_app.runners.port import Directive, Outcome, OutcomeKind, Port, RunSpec, StepDraft

PARKED = Outcome(OutcomeKind.PARKED, Reason.PARKED, "The run waits for a decision of the lead.")
API_REASONS = TRANSIENT | {Reason.AUTH}
BACKGROUND_ENDED = "Background commands were still running; they are ended with the run."
_POLL_S = 30.0


@dataclass
class Broken(Exception):
    """The process died or could not be understood before its work was done."""

    outcome: Outcome


@dataclass
class Conversation:
    """Drives one process. `hold` returns the outcome or raises `Broken`; the caller then sees to it that the process is gone."""

    spec: RunSpec
    port: Port
    launch: Launch
    start: options.Start
    limits: Limits
    process: str  # its name for cost and usage: run id, fence and a counter
    heard: ending.Heard = field(default_factory=ending.Heard)
    turns: Turns = field(default_factory=Turns)
    watch: asyncio.Task[Directive] = field(init=False)  # ends with an order of the system
    last: Outcome | None = None  # what the last result of ours meant
    connecting: asyncio.Task[None] | None = None
    reader: asyncio.Task[None] | None = None
    urgent: asyncio.Task[None] | None = None  # ends when a message waits that is to stop what runs

    def __post_init__(self) -> None:
        self.session_id = self.start.session_id if self.start.resume else None
        self.woken = asyncio.Event()
        self.stderr = options.Stderr()
        self.translator = Translator(self.process)
        self.emitter = Emitter(self.port, wake=self.woken.set)
        self.desk = Desk(self.port, wake=self.woken.set)
        known = {self.start.fork_of or self.start.session_id: self.start.rows}
        self.mirror = Mirror(self.port.session_store, lose=self.desk.lose, known=known)
        recorded = partial(self.emitter.recorded, within_s=self.limits.stored_s)
        stored = partial(self.mirror.stored, within_s=self.limits.stored_s)
        told = self.translator
        self.gate = Gate(self.spec, self.desk, self._set_mode, recorded, stored, told.plans, told.subagents)
        replies = Replies(self.port, self.desk, self.gate, self.emitter)
        callbacks = options.Callbacks(
            self.gate.can_use_tool, self.gate.before_tool, replies.after_tool, replies.call_tool, self.stderr
        )
        self.client = ClaudeSDKClient(options.build(self.spec, self.launch, self.start, callbacks, store=self.mirror))

    @property
    def lost(self) -> bool:
        """Whether the run turned out to be somebody else's."""
        return self.desk.lost or isinstance(self.emitter.failure, LeaseLost)

    # -- the life of a process

    async def hold(self, prompt: str) -> Outcome:
        """Start the process, give it the prompt, and return what came of it."""
        watch = self.watch = asyncio.create_task(self.port.directive_changed())
        watch.add_done_callback(lambda _: self.woken.set())
        try:
            if not (await self._connected(watch) and await self._say(prompt, "crewdesk")):
                return ENDINGS[watch.result()]
            self._look_out()
            self.reader = asyncio.create_task(self._read())
            self.reader.add_done_callback(lambda _: self.woken.set())
            return await self._until_over(watch)
        except LeaseLost:
            return ENDINGS[Directive.LOST]
        finally:
            watch.cancel()
            if self.urgent is not None:
                self.urgent.cancel()

    async def _connected(self, watch: asyncio.Task[Directive]) -> bool:
        """Start the process; False when the run has to end before that is done: an early stop must not be lost."""
        self.connecting = asyncio.create_task(self.client.connect())
        await asyncio.wait({self.connecting, watch}, timeout=self.limits.start_s, return_when=asyncio.FIRST_COMPLETED)
        if watch.done():
            return False
        if not self.connecting.done():
            raise self._not_started("Claude Code did not answer in time.")
        problem = self.connecting.exception()
        if isinstance(problem, Exception):  # the SDK raises bare exceptions here, too
            raise self._not_started(ending.sentence(problem)) from problem
        pid = self.launch.pid()
        if pid is not None:
            await self.port.note_process(pid)
        return True

    async def _until_over(self, watch: asyncio.Task[Directive]) -> Outcome:
        while True:
            self.woken.clear()
            if self.lost:
                return ENDINGS[Directive.LOST]
            if watch.done():
                return await self._obey(watch.result())
            if self.desk.parked:
                return await self._park()
            if self.emitter.failure is not None:  # the caller says what becomes of the run
                await self._interrupt()
                return ENDINGS[Directive.LEAVE]
            if self.last is not None and self.last.kind is OutcomeKind.FAILED:
                return self.last
            if self.urgent is not None and self.urgent.done():
                await self._hear()
            if self.turns.over and not await self._deliver_notes():
                return self.last or self._silent()
            if self.reader is not None and self.reader.done() and not self.turns.over:
                raise self._broken()
            await self._sleep()

    async def _sleep(self) -> None:
        """Wait for anything to happen; what is left in the background, or owed by it, is not waited for without end."""
        left, owed = self.turns.only_commands_left, self.turns.owed
        try:
            async with asyncio.timeout(self.limits.background_s if left else self.limits.owed_s if owed else _POLL_S):
                await self.woken.wait()
        except TimeoutError:
            if left:
                self.emitter.add([StepDraft(StepKind.NOTICE, BACKGROUND_ENDED)])
                self.turns.background.clear()
            self.turns.owed = False

    # -- ending on purpose

    async def _obey(self, directive: Directive) -> Outcome:
        """Interrupt as asked. Open questions are withdrawn by a stop and stay open when the worker leaves."""
        self.desk.closed = True
        self.desk.parked = self.desk.parked or directive is Directive.LEAVE
        if directive is not Directive.LOST:
            await self._interrupt()
        return ENDINGS[directive]

    async def _park(self) -> Outcome:
        """The refused call ends its turn by itself, unless a sub-agent made it."""
        seen = self.turns.seen
        if not await self._settled(lambda: self.turns.ended_since(seen), self.limits.settle_s):
            await self._interrupt()
        return PARKED

    def _look_out(self) -> None:
        self.urgent = asyncio.create_task(self.port.interruption())
        self.urgent.add_done_callback(lambda _: self.woken.set())

    async def _hear(self) -> None:
        """Stop what runs for a message that cannot wait, and give it as the next turn. A hook may have given it meanwhile."""
        if (problem := self.urgent.exception() if self.urgent else None) is not None:
            raise problem
        self.desk.interrupting = True
        try:
            async with self.desk.handing:
                await self._settled(lambda: self.turns.begun or self.turns.resting, self.limits.interrupt_s)
                stopped = not self.turns.resting and await self._interrupt()
            if stopped:
                await self.port.note_interrupted()
            await self._deliver_notes(STOPPED if stopped else "")
        finally:
            self.desk.interrupting = False
        self._look_out()

    async def _interrupt(self) -> bool:
        """Interrupt the turn and its agents in the background; return whether all said in time that they have ended."""
        self.turns.interrupted()
        seen = self.turns.seen
        with suppress(Exception):
            async with asyncio.timeout(self.limits.interrupt_s):
                await self.client.interrupt()
        return await self._settled(lambda: self.turns.ended_since(seen) and not self.turns.agents_left, self.limits.interrupt_s)

    async def _settled(self, ended: Callable[[], bool], patience_s: float) -> bool:
        """Whether within `patience_s` it `ended`, or there is nothing that could."""
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                while self.reader is not None and not self.reader.done() and not ended():
                    self.woken.clear()
                    await self.woken.wait()
                return True
        return False

    # -- speaking

    async def _say(self, text: str, source: str) -> bool:
        """Send one prompt, with an id by which its result is known; False where an order came while its files were kept."""
        files = await unless_ordered(self.watch, self.port.keep_files())
        if files is None:
            return False
        name = str(uuid.uuid4())
        said = kept(text)
        self.turns.sent(name)
        self.heard = ending.Heard(resets_at=self.heard.resets_at)
        where = {"uuid": name, "files": files}
        self.emitter.add([StepDraft(StepKind.PROMPT, said.text, {"from": source, **where, **said.facts})])

        async def message() -> AsyncIterator[dict[str, Any]]:
            content = {"role": "user", "content": text}
            yield {"type": "user", "uuid": name, "message": content, "parent_tool_use_id": None}

        await self.client.query(message())
        return True

    async def _deliver_notes(self, before: str = "") -> bool:
        """Give the idle agent what is due for it as its next turn, with words `before` it; whether there was anything."""
        notes = await self.port.notes(idle=True)
        if notes or before:
            await self._say("\n\n".join([*([before] if before else []), *notes]), "message")
        return bool(notes)

    async def _set_mode(self, mode: Any) -> None:
        with suppress(Exception):  # the gate refuses writes in plan mode by itself
            async with asyncio.timeout(self.limits.interrupt_s):
                await self.client.set_permission_mode(mode)

    # -- listening

    async def _read(self) -> None:
        async for message in stream.messages(self.client):
            if isinstance(message, stream.Unreadable):
                self.emitter.add(self.translator.unreadable(message.kind, message.data))
                continue
            self.emitter.add(self.translator.steps(message))
            try:
                self._take_in(message)
            except stream.MALFORMED as problem:
                self.emitter.add(self.translator.malformed(message, problem))
            await self.emitter.room()

    def _take_in(self, message: Message) -> None:
        if isinstance(message, ResultMessage | SystemMessage):
            self.woken.set()
        self.turns.see(message)
        if isinstance(message, ResultMessage):
            self._result(message)
        elif isinstance(message, AssistantMessage):
            self.heard.message(message)
        elif isinstance(message, RateLimitEvent):
            self.heard.rate_limit(message)
        elif isinstance(message, SystemMessage) and message.subtype == "init" and message.data.get("session_id"):
            self.session_id = str(message.data["session_id"])
            self.emitter.session(self.session_id)

    def _result(self, message: ResultMessage) -> None:
        """Only the result of our own prompt closes it; a background turn counts where it shows that the API is closed to us."""
        whose = self.turns.result(message)
        outcome = ending.of_result(message, self.heard, session_id=self.session_id)
        if whose is Whose.OURS or (whose is Whose.BACKGROUND and outcome.reason in API_REASONS):
            self.last = outcome
        self.heard = ending.Heard(resets_at=self.heard.resets_at)

    # -- breaking

    def _not_started(self, detail: str) -> Broken:
        return Broken(ending.broken(Reason.START_FAILED, detail, raw=self.stderr.text()))

    def _silent(self) -> Outcome:
        return ending.broken(
            Reason.NO_RESULT, "Claude Code ended without a result.", raw=self.stderr.text(), session_id=self.session_id
        )

    def _broken(self) -> Broken:
        """Say how reading ended: a line too long, or the process dead."""
        problem = self.reader.exception() if self.reader is not None and not self.reader.cancelled() else None
        return Broken(ending.cut_off(problem, self.stderr.text(), result=self.heard.said, session_id=self.session_id))
