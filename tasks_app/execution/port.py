"""The port of one life of a run: what the runner says becomes guarded writes; what the system wants becomes a directive."""

import asyncio
import contextlib
import logging
import time
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tasks_app.domain.budget import Level
from tasks_app.domain.errors import LeaseLost
from tasks_app.domain.leases import LOOK_S
from tasks_app.domain.statuses import Reason, StepKind
from tasks_app.execution import db, dossier, proving, waiting
from tasks_app.execution.mail import Mail
from tasks_app.execution.recorder import Recorder
from tasks_app.execution.session_store import DatabaseSessionStore
from tasks_app.runners.port import Answer, Ask, Directive, StepDraft
from tasks_app.services import budgets, checkpoints, decisions, messages, runs
from tasks_app.services.runs import Held
from tasks_app.services.steps import Batch
from tasks_app.tools import registry
from tasks_app.tools.base import Caller

logger = logging.getLogger(__name__)
BATCH_S = 0.1
"""Steps are written at most this often, and so long after they were said at the latest."""
GATHER_S = 0.02
"""After a pause the first step is written at once, together with what is said with it."""
WITHDRAW_S = 1.0
NOTES_S = 1.0
"""Between the calls of an agent its messages are looked for this often, where no hint says that there is one."""
QUEUE = 500
"""More steps than this make the runner wait: back-pressure."""


class RunPort:
    """Implements `runners.port.Port` on the services. One per life; every write carries its fence."""

    def __init__(self, held: Held, caller: Caller, *, last_seq: int, grace_s: float, recorder: Recorder | None = None) -> None:
        self.held = held
        self.poked = asyncio.Event()  # set by hints; whoever waits looks again
        self.closed = False
        self._hinted = asyncio.Event()  # as `poked`, for who looks after urgent messages
        self.waiting: Counter[str] = Counter()  # decision → how many calls of the agent wait for it right now
        self.parking = False  # one request was parked: the process ends, so every other one is parked too
        self.leaving_for: Reason | None = None  # budget or time: why it is told to leave
        self.unstored: Exception | None = None  # why what the agent did cannot be stored, though the database is there
        self.kept_files = ""  # the snapshot that the attempt's first prompt is given on
        self._caller = caller
        self._seq = last_seq
        self._recorder = recorder or Recorder()
        self._grace_s = grace_s
        self._queue: asyncio.Queue[StepDraft] = asyncio.Queue(QUEUE)
        self._idle = asyncio.Event()
        self._idle.set()
        self._hurry = asyncio.Event()  # somebody waits until what is queued is stored
        self._directive = Directive.GO_ON
        self._changed = asyncio.Event()
        self._notes: list[str] = []
        self._mail = Mail(held)
        self._message_hinted, self._asked_at = True, 0.0  # something may have come since messages were looked for
        self._store = DatabaseSessionStore(run_id=held.id, fence=held.fence)
        self._writer = asyncio.create_task(self._write())
        self._withdrawals: set[asyncio.Task[None]] = set()
        self._keeping: asyncio.Task[str] | None = None  # a snapshot that is being taken for the next prompt

    @property
    def session_store(self) -> DatabaseSessionStore:
        """The fenced transcript store."""
        return self._store

    @property
    def caller(self) -> Caller:
        """Who calls the crew tools."""
        return self._caller

    async def emit(self, drafts: Sequence[StepDraft]) -> None:
        """Queue steps; waits only when the queue is full.

        What a call came to waits for no batch: until it is stored, the next life would have to ask itself whether to repeat it.
        """
        self._must_hold()
        for draft in drafts:
            self._idle.clear()
            await self._queue.put(draft)
            if draft.kind is StepKind.TOOL_RESULT:
                self._hurry.set()

    async def flush(self) -> None:
        """Return once everything queued is stored, which then waits for no batch to fill."""
        self._hurry.set()
        await self._idle.wait()
        self._must_hold()

    async def _write(self) -> None:
        written = -BATCH_S
        while True:
            batch = [await self._queue.get()]
            await self._gather(max(GATHER_S, written + BATCH_S - time.monotonic()))
            while not self._queue.empty():
                batch.append(self._queue.get_nowait())
            try:
                await self._store_batch(batch)
            except LeaseLost:
                self.direct(Directive.LOST)
            except Exception as error:
                # steps that cannot be stored must not be lost in silence: this life ends and the next one goes on
                logger.exception("run %s: steps could not be stored", self.held.id)
                self.unstored = None if db.is_away(error) else error
                self.direct(Directive.LOST)
            written = time.monotonic()
            if self._queue.empty():
                self._hurry.clear()
                self._idle.set()

    async def _gather(self, most_s: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(most_s):
                await self._hurry.wait()

    async def _store_batch(self, batch: list[StepDraft]) -> None:
        if self._directive is Directive.LOST:
            return
        recorded = await self._recorder.record(self.held.team_id, Batch(self.held.id, self.held.fence, self._seq, batch))
        self._seq = recorded.last
        if recorded.budget is not None:
            await self._brake(recorded.budget)

    async def _brake(self, reading: budgets.Reading) -> None:
        """Budgets brake while the run is running: tell, save, leave."""
        if reading.level is Level.OK or not await db.call(budgets.note_level, self.held.id, reading, set()):
            return
        share = f"{reading.used:,.2f} of {reading.limit:,.2f} {reading.unit} of the {reading.scope}"
        if reading.level is Level.USED_UP:
            self.leave_for(Reason.BUDGET)
            return
        self._notes.append(reading.words)
        if reading.level is Level.CHECKPOINT:
            await self._save(f"budget {share}")

    async def _save(self, name: str) -> None:
        """Save a checkpoint of the brake's own. One that cannot be saved is logged and stops nobody, as at boundaries."""
        try:
            await db.call_aside(
                checkpoints.save,
                self.held.team_id,
                name=name,
                by="system",
                run_id=self.held.id,
                automatic=True,
                idempotency_key=uuid.uuid4().hex,
            )
        except Exception:
            logger.exception("run %s: no checkpoint at “%s”", self.held.id, name)

    def note(self, words: str) -> None:
        """Tell the agent with its next step; "" tells it nothing."""
        self._notes += [words] if words else []

    async def ask(self, ask: Ask) -> Answer:
        """Ask the lead; see `waiting.ask`."""
        self._must_hold()
        return await waiting.ask(self, ask, grace_s=self._grace_s)

    async def call_tool(self, name: str, arguments: Mapping[str, Any], tool_use_id: str) -> tuple[str, bool]:
        """Run a crew tool as this run's agent."""
        try:
            caller = await proving.caller_with_proofs(self, name, arguments, tool_use_id)
            self._must_hold()
            call = db.call_aside if registry.freezes(name) else db.call
            return await call(registry.call, name, caller, arguments, tool_use_id)
        except LeaseLost:
            self.direct(Directive.LOST)
            raise

    async def notes(self, *, idle: bool = False) -> Sequence[str]:
        """Messages that are due, and the system's own words. The table is asked when one may be there: on a hint, when the agent
        is idle, and every second, for hints may be lost."""
        due: Sequence[str] = ()
        if idle or self._message_hinted or time.monotonic() - self._asked_at > NOTES_S:
            self._message_hinted, self._asked_at = False, time.monotonic()
            due = await self._mail.take()
        own, self._notes = self._notes, []
        return [*own, *due]

    async def interruption(self) -> None:
        """Look on every hint, and every few seconds without one. An agent that waits for the lead has nothing to stop."""
        while True:
            self._hinted.clear()
            if not any(self.waiting.values()) and await self._is_urgent():
                return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._hinted.wait(), LOOK_S)

    async def _is_urgent(self) -> bool:
        try:
            return await db.call(messages.is_urgent, self.held.agent_id)
        except Exception:
            logger.exception("run %s: urgent messages could not be looked for", self.held.id)
            return False  # and again in a moment: the run must not end for that

    async def note_interrupted(self) -> None:
        """Store when it was."""
        await db.call(messages.note_stopped, self.held.agent_id, run_id=self.held.id, fence=self.held.fence)

    def keep_ahead(self) -> None:
        """Begin to keep the files for the first prompt of this life: while its process starts nothing of it changes them."""
        self._keeping = asyncio.create_task(self._keep())

    async def keep_files(self) -> str:
        """Keep the files before a prompt; that they could not be kept stops no run."""
        kept, self.kept_files = self.kept_files, ""
        keeping, self._keeping = self._keeping, None
        return kept or await (keeping or self._keep())

    async def _keep(self) -> str:
        try:
            return await db.call_aside(dossier.keep_files, self.held.id)
        except Exception:
            logger.exception("run %s: the files could not be kept", self.held.id)
            return ""

    async def note_session(self, session_id: str) -> None:
        """Remember the session."""
        await self._guarded(runs.note_session, session_id)

    async def note_process(self, pid: int) -> None:
        """Remember the process group."""
        await self._guarded(runs.note_process, pid)

    async def _guarded(self, function: Any, value: Any) -> None:
        try:
            await db.call(function, self.held.id, self.held.fence, value)
        except LeaseLost:
            self.direct(Directive.LOST)
            raise

    def directive(self) -> Directive:
        """What the system wants right now."""
        return self._directive

    async def directive_changed(self) -> Directive:
        """Wait until the system wants something else than to go on."""
        await self._changed.wait()
        return self._directive

    def poke(self) -> None:
        """A hint came: whoever waits looks again."""
        self.poked.set()
        self._hinted.set()
        self._message_hinted = True

    def direct(self, directive: Directive) -> None:
        """Tell the runner what the system wants; LOST outranks STOP outranks LEAVE."""
        order = (Directive.GO_ON, Directive.LEAVE, Directive.STOP, Directive.LOST)
        if order.index(directive) > order.index(self._directive):
            self._directive = directive
            self._changed.set()
            self.poked.set()

    def leave_for(self, reason: Reason) -> None:
        """A limit is reached: interrupt and come back, whatever is going on."""
        self.leaving_for = self.leaving_for or reason
        self.direct(Directive.LEAVE)

    def withdraw_soon(self, decision_id: str) -> None:
        """A request was cancelled: by Claude Code, which goes on, or because its process is gone.

        Which of the two shows within a moment: a process that is gone closes the port, and then the request must stay open,
        for the next life asks the same again and the lead is asked nothing twice.
        """
        if self.closed:
            return
        task = asyncio.create_task(self._withdraw(decision_id))
        self._withdrawals.add(task)
        task.add_done_callback(self._withdrawals.discard)

    async def _withdraw(self, decision_id: str) -> None:
        await asyncio.sleep(WITHDRAW_S)
        if not self.parking and self._directive is Directive.GO_ON and not self.waiting[decision_id]:
            await db.call(decisions.withdraw, decision_id, why="the agent took the request back")

    def _must_hold(self) -> None:
        if self._directive is Directive.LOST:
            raise LeaseLost(f"Run {self.held.id} belongs to another worker now.")

    async def close(self) -> None:
        """Stop writing; whatever is queued was stored by `flush` or is not to be stored any more."""
        self.closed = True
        tasks = [self._writer, *self._withdrawals, *([self._keeping] if self._keeping else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
