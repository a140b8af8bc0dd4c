"""The runner for Claude: drives one life of a run with one Claude Code process, and leaves none behind."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from claude_agent_sdk import project_key_for_directory

from tasks_app.domain.errors import Conflict, DomainError, LeaseLost
from tasks_app.domain.statuses import Reason
from tasks_app.runners import no_start
from tasks_app.runners.claude import ending, launcher, processes, stream
from tasks_app.runners.claude.conversation import Broken, Conversation
from tasks_app.runners.claude.limits import Limits
from tasks_app.runners.claude.options import Start
from tasks_app.runners.claude.orders import ENDINGS
from tasks_app.runners.port import Directive, Outcome, OutcomeKind, Port, RunSpec

log = logging.getLogger(__name__)

LIVES_KEPT = 1000
UNSTORED = Outcome(OutcomeKind.PARKED, Reason.INTERRUPTED, "What the agent did could not be stored; the run goes on later.")


class ClaudeRunner:
    """Runs a `RunSpec` with Claude Code. `limits` and `cli` (another binary) are for tests."""

    def __init__(self, *, limits: Limits | None = None, cli: str | None = None) -> None:
        self._limits = limits or Limits()
        self._cli = cli
        self._started: dict[str, int] = {}  # life → processes started in it, over every `run` of that life

    async def run(self, spec: RunSpec, port: Port) -> Outcome:
        """Drive the run to an outcome, whatever the agent or its process does; no process is left when it returns."""
        directive = port.directive()
        if directive is not Directive.GO_ON:
            return ENDINGS[directive]
        try:
            return await self._drive(spec, port)
        except LeaseLost:
            return ENDINGS[Directive.LOST]
        except Broken as problem:
            return problem.outcome
        except DomainError as problem:
            return ending.failed(Reason.START_FAILED, problem.message, session_id=spec.session_id)
        except Exception as problem:
            log.exception("driving a run failed", extra={"run_id": spec.run_id, "fence": spec.fence})
            detail = "Crewdesk could not go on with this run because of a fault of its own."
            return ending.failed(Reason.ERROR, detail, raw=ending.sentence(problem), session_id=spec.session_id)
        finally:
            await asyncio.shield(self._gone(spec, port))

    async def _drive(self, spec: RunSpec, port: Port) -> Outcome:
        """Hold one conversation. A process that dies ends this life; the next one is told what it must know of that."""
        start, nth = await self._first(spec, port), next(self._numbers(spec))
        return await self._one(self._conversation(spec, port, start, nth), spec.prompt)

    def _numbers(self, spec: RunSpec) -> Iterator[int]:
        """Number the processes of a life: each names its own cost, which starts at 0 with it, so no number comes twice."""
        life = launcher.marker(spec.run_id, spec.fence)
        while True:
            self._started[life] = self._started.get(life, 0) + 1
            while len(self._started) > LIVES_KEPT:
                self._started.pop(next(iter(self._started)))
            yield self._started[life]

    def _conversation(self, spec: RunSpec, port: Port, start: Start, nth: int) -> Conversation:
        home = Path(spec.home)
        try:
            launch = launcher.prepare(spec.env, run_id=spec.run_id, fence=spec.fence, home=home, nth=nth, cli=self._cli)
        except OSError as problem:
            raise Broken(no_start.outcome(problem)) from problem
        return Conversation(spec, port, launch, start, self._limits, f"{spec.run_id}:{spec.fence}:{nth}")

    async def _one(self, conversation: Conversation, prompt: str) -> Outcome:
        """Hold one conversation and see its process gone; an outcome counts only when its steps are stored."""
        result = ENDINGS[Directive.LOST]
        hard = True
        try:
            result = await conversation.hold(prompt)
            hard = result.kind is OutcomeKind.LOST
        except Broken as problem:
            # the process is gone, not the question: it stays open, for the next life asks the same again
            conversation.desk.parked = True
            result = problem.outcome
        finally:
            await asyncio.shield(self._close(conversation, hard=hard))
        if conversation.lost:
            return ENDINGS[Directive.LOST]
        if conversation.emitter.failure is not None:
            return UNSTORED
        return replace(result, session_id=conversation.session_id)

    async def _close(self, conversation: Conversation, *, hard: bool) -> None:
        """End the process (`hard`: at once) and store what it said last, unless the run is somebody else's."""
        spec, pipes = conversation.spec, stream.pipes(conversation.client)
        if conversation.connecting is not None:
            conversation.connecting.cancel()
        leaving = asyncio.create_task(_leave(conversation))
        if not hard:
            await asyncio.wait({leaving}, timeout=self._limits.close_s)
        await self._kill(spec, 0.0 if hard else self._limits.term_s)
        await asyncio.wait({leaving}, timeout=self._limits.gone_s)
        if pipes is not None:
            pipes.close()
        if conversation.lost or hard:
            await conversation.emitter.abandon()
            return
        try:
            await conversation.emitter.drain()
        except LeaseLost:
            conversation.desk.lost = True
        except Exception:
            log.exception("the last steps of a run could not be stored", extra={"run_id": spec.run_id, "fence": spec.fence})

    async def _gone(self, spec: RunSpec, port: Port) -> None:
        """See every process of the run gone, whatever it left in the background, and say so."""
        if not await self._kill(spec, self._limits.term_s):
            log.error("processes of a run survive SIGKILL", extra={"run_id": spec.run_id, "fence": spec.fence})
            return
        try:
            await port.note_process(0)
        except LeaseLost:
            return
        except Exception:  # the outcome counts more than this note
            log.exception("the end of a process could not be noted", extra={"run_id": spec.run_id, "fence": spec.fence})

    async def _kill(self, spec: RunSpec, term_s: float) -> bool:
        return await processes.kill_run(spec.run_id, below_fence=spec.fence + 1, term_s=term_s, gone_s=self._limits.gone_s)

    async def _first(self, spec: RunSpec, port: Port) -> Start:
        """Resume where there is something to resume: a run that died before its first row was stored begins anew."""
        if spec.session_id and (rows := await _stored(port.session_store, spec.workspace, spec.session_id)):
            return Start(spec.session_id, True, spec.plan_mode, rows=rows)
        if spec.fork_of:
            if not (rows := await _stored(port.session_store, spec.workspace, spec.fork_of)):
                raise Conflict("The conversation that this attempt was to be a fork of is not kept any more.")
            return Start(spec.new_session_id, False, spec.plan_mode, spec.fork_of, spec.fork_at, rows)
        return Start(spec.new_session_id, False, spec.plan_mode)


async def _leave(conversation: Conversation) -> None:
    """Unwind the SDK's side; it closes the process's input first, which lets it flush its transcript."""
    if conversation.connecting is not None:
        with suppress(BaseException):
            await conversation.connecting
    with suppress(Exception):
        await conversation.client.disconnect()
    if conversation.reader is not None:
        conversation.reader.cancel()
        with suppress(BaseException):
            await conversation.reader


async def _stored(store: Any, workspace: str, session_id: str) -> list[Any]:
    return await store.load({"project_key": project_key_for_directory(workspace), "session_id": session_id}) or []
