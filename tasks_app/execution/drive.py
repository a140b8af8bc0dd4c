"""Drives one life of a run: from the claim to what became of it."""

import asyncio
import contextlib
import logging
import time
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from typing import cast

from django.conf import settings

from tasks_app.domain.errors import LeaseLost
from tasks_app.domain.leases import DEATHS, LOOK_S
from tasks_app.domain.statuses import Reason
from tasks_app.execution import db, dossier, outcome, spec
from tasks_app.execution.outcome import Here, Settled
from tasks_app.execution.port import RunPort
from tasks_app.execution.recorder import Recorder
from tasks_app.loading import uncollected
from tasks_app.runners import no_start
from tasks_app.runners.claude import processes
from tasks_app.runners.port import Directive, Outcome, OutcomeKind, Runner
from tasks_app.runners.registry import RUNNERS
from tasks_app.services import claims, grants, runs, worktime
from tasks_app.services.runs import Held
from tasks_app.task_types import registry as task_types
from tasks_app.tools.base import Caller

logger = logging.getLogger(__name__)
LEAST_S = 0.05
"""The working time is not looked at more often than this."""
SURVIVORS = (
    "Processes of this attempt do not end though they were killed: a disk or a file system that does not answer holds them, say. "
    "It goes on when they are gone."
)
SURVIVORS_S = 30.0
FAULT = Outcome(
    OutcomeKind.FAILED,
    Reason.ERROR,
    "Crewdesk could not go on with this run because of a fault of its own. See the worker's log.",
)


@cache
def _runner(name: str) -> Runner:
    module, _, attribute = RUNNERS[name].rpartition(".")
    return cast(Runner, getattr(import_module(module), attribute)())


async def load_runners() -> None:
    """Load what runs need, the SDK above all (0.4 s on the processor), before there is a run that would wait for it."""
    with uncollected():
        for path in RUNNERS.values():
            await asyncio.to_thread(import_module, path.rpartition(".")[0])


async def open_port(held: Held, recorder: Recorder | None = None) -> RunPort:
    """Return the port of this life, which stores its steps by `recorder`, that of all runs of its worker."""
    run = await db.call(runs.get, held.id)
    caller = Caller(held.id, held.fence, held.team_id, held.agent_id, run.agent.name, held.task_id, run.task.number)
    grace = run.team.limits.get("grace_s")
    grace_s = settings.GRACE_S if grace is None else float(grace)
    port = RunPort(held, caller, last_seq=run.last_seq, grace_s=grace_s, recorder=recorder)
    port.note(await db.call(grants.told_again, run))
    return port


async def drive(held: Held, port: RunPort, here: Here | None = None) -> Held | None:
    """Drive the run until it ends, parks or is lost; returns the run that was claimed to follow it in this place.

    Never raises: what cannot be settled is given back by its lease.
    """
    started = time.monotonic()
    here = here and replace(here, tried={})
    try:
        # before any takeover: whatever an earlier life left on this host must be gone, its shells included
        if held.fence > 1 and not await processes.kill_run(held.id, below_fence=held.fence, term_s=0):
            await _wait_for_their_end(held)
            return None
        return (await _drive(held, port, here)).following
    except LeaseLost:
        logger.info("run %s: lost after %.1f s", held.id, time.monotonic() - started)
        return await _claimed_already(here)
    except Exception as error:
        logger.exception("run %s: could not be driven", held.id)
        lost = port.directive() is Directive.LOST and not port.unstored
        if lost or ((port.unstored or db.is_away(error)) and await _has_another_life(held)):
            return None  # no fault of the attempt's: its lease gives it back, with all that it has reported
        return (await _give_up(held, here, no_start.outcome(error) if isinstance(error, OSError) else FAULT)).following
    finally:
        await port.close()


async def _wait_for_their_end(held: Held) -> None:
    """Nothing begins beside what SIGKILL does not end: the run is given back and looks again after a pause."""
    logger.error("run %s: processes of an earlier life survive SIGKILL", held.id)
    run = await db.call(runs.get, held.id)
    again = partial(runs.park, reason=Reason.START_FAILED, interrupted=run.interrupted, pause_s=SURVIVORS_S)
    await db.call(again, held.id, held.fence, detail=f"On {run.host}: {SURVIVORS}")


async def _has_another_life(held: Held) -> bool:
    """Whether a run that the database failed may go on when its lease is over.

    Not where the database answers again, to count this, and has failed the attempt `DEATHS` times: then it is not away, but
    something of this run's cannot be stored, and it would begin again for ever.
    """
    try:
        return await db.call_aside(runs.count_fault, held.id, held.fence) < DEATHS
    except Exception:
        logger.exception("run %s: that it could not be driven could not be counted", held.id)
        return True


async def _claimed_already(here: Here | None) -> Held | None:
    """What an earlier try to end this life has claimed, where that commit is done and only its answer was lost."""
    if here is None or not here.tried:
        return None
    try:
        return next(iter(await db.call(claims.confirmed, here.tried, worker=here.worker)), None)
    except Exception:
        logger.exception("what was claimed by worker %s could not be looked up; its lease gives it back", here.worker)
        return None


async def _drive(held: Held, port: RunPort, here: Here | None) -> Settled:
    run = await db.call(runs.get, held.id)
    if (run.report or {}).get("status") == "completed":
        # an earlier life had reported and died before it could end: nothing is left to do but to remove its folder
        await db.call_aside(spec.remove_homes, held.id, upto=held.fence)
        ended = Outcome(OutcomeKind.ENDED, result=run.result)
        return await db.call_aside(outcome.settle, held, ended, leaving_for=None, here=here)
    port.kept_files = await db.call_aside(dossier.begin, held.id, held.fence)
    if not port.kept_files:
        port.keep_ahead()
    minutes = run.team.limits.get("minutes")
    timekeeper = asyncio.create_task(_keep_time(held, port, float(minutes) * 60)) if minutes else None
    try:
        return await _play(held, port, _runner(task_types.get(run.task.type).RUNNER), here)
    finally:
        if timekeeper is not None:
            timekeeper.cancel()


async def _keep_time(held: Held, port: RunPort, limit_s: float) -> None:
    """Let the run leave when the attempt has worked for so long, in this life and those before."""
    while True:
        try:
            left = await db.call(worktime.left_s, held.id, held.fence, limit_s=limit_s)
        except LeaseLost:
            return
        except Exception:
            logger.exception("run %s: its working time could not be read", held.id)
            left = LOOK_S
        if left <= 0:
            port.leave_for(Reason.TIME_LIMIT)
            return
        await asyncio.sleep(max(left, LEAST_S))


async def _play(held: Held, port: RunPort, runner: Runner, here: Here | None) -> Settled:
    while True:
        prepared = await db.call(spec.build, held.id, held.fence)
        try:
            came = await runner.run(prepared.spec, port)
            with contextlib.suppress(LeaseLost):
                await port.flush()
        finally:
            await asyncio.shield(db.call(spec.release, prepared))
        if port.unstored:
            raise port.unstored
        if port.directive() is Directive.LOST:
            return Settled()
        settled = await db.call_aside(
            outcome.settle, held, came, leaving_for=port.leaving_for, here=here, may_ask=not prepared.asked
        )
        if not settled.again:
            return settled


async def _give_up(held: Held, here: Here | None, failed: Outcome) -> Settled:
    """A fault of our own or of this machine: the life ends in words instead of hanging until its lease runs out."""
    try:
        return await db.call_aside(outcome.settle, held, failed, leaving_for=None, here=here)
    except LeaseLost:
        return Settled(following=await _claimed_already(here))
    except Exception:
        logger.exception("run %s: its failure could not be stored; its lease will run out", held.id)
        return Settled()
