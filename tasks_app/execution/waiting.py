"""Waiting for the lead: subscribe, look, sleep at most 5 s, look again; after the grace the run is parked."""

import asyncio
import logging
import time
from asyncio import wait_for
from collections import Counter
from typing import Any, Protocol

from tasks_app.domain.errors import DecisionGone, DomainError, HandedOver, LeaseLost
from tasks_app.domain.leases import LOOK_S
from tasks_app.execution import db
from tasks_app.runners.port import Answer, Ask, AskWithdrawn, Directive, Parked
from tasks_app.services import decisions, deliveries, scheduling
from tasks_app.services.runs import Held

logger = logging.getLogger(__name__)
PARKED = ("parked",)
"""How a call is cancelled (its exception's arguments) because the run parked on another request."""


class Waiter(Protocol):
    """What waiting needs of a port."""

    held: Held
    poked: asyncio.Event
    parking: bool
    waiting: Counter[str]

    def directive(self) -> Directive:
        """What the system wants right now."""

    def direct(self, directive: Directive) -> None:
        """Tell the runner what the system wants."""

    def withdraw_soon(self, decision_id: str) -> None:
        """Withdraw the decision unless this life turns out to be over."""


async def ask(port: Waiter, request: Ask, *, grace_s: float) -> Answer:
    """Open the decision and wait for its answer, attached, for at most the grace.

    Raises `Parked` (no answer yet, or the worker leaves), `AskWithdrawn` (it ended without an answer, or could not be
    asked: never consent), `LeaseLost`. Cancelled by Claude Code: the decision is withdrawn.
    """
    until = time.monotonic() + grace_s
    while True:
        try:
            return await _ask(port, request, until)
        except HandedOver:
            continue  # another call with the same words has had the answer: one answer is for one call, so this one asks anew


async def _ask(port: Waiter, request: Ask, until: float) -> Answer:
    try:
        decision = await _open(port, request)
    except LeaseLost:
        port.direct(Directive.LOST)
        raise
    except DomainError as error:
        raise AskWithdrawn(error.message) from None
    except Exception as error:
        logger.exception("run %s: a request could not be stored", port.held.id)
        raise AskWithdrawn("The approval service does not answer; nobody has denied this. Try again later.") from error
    port.waiting[decision.pk] += 1
    try:
        await _leave_place(port)
        return await _wait(port, decision.pk, request.tool_use_id, until)
    except asyncio.CancelledError as cancelled:
        if cancelled.args != PARKED:  # else the run parked on another request: this one stays open too
            port.withdraw_soon(decision.pk)
        raise
    finally:
        port.waiting[decision.pk] -= 1


async def _leave_place(port: Waiter) -> None:
    """Who waits leaves its place under the team's cap to another. That nobody can be given it refuses no request."""
    try:
        await db.call(scheduling.tick, port.held.team_id)
    except Exception:
        logger.exception("team %s could not be scheduled; a sweep does it", port.held.team_id)


async def _open(port: Waiter, request: Ask) -> Any:
    """Store the request. The storing goes on where the call is cancelled meanwhile: what it stored must be withdrawn then."""
    opening = asyncio.ensure_future(db.call(decisions.open_for_run, port.held.id, port.held.fence, request))
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError as cancelled:
        parked = cancelled.args == PARKED
        opening.add_done_callback(lambda opened: _nobody_waits(port, opened, parked=parked))
        raise


def _nobody_waits(port: Waiter, opened: asyncio.Future[Any], *, parked: bool) -> None:
    if opened.cancelled():
        return
    if error := opened.exception():
        logger.warning("run %s: a request that was taken back could not be stored: %r", port.held.id, error)
    elif not parked:
        port.withdraw_soon(opened.result().pk)


async def _wait(port: Waiter, decision_id: str, tool_use_id: str, until: float) -> Answer:
    while True:
        port.poked.clear()
        try:
            answered = await db.call(deliveries.deliver, decision_id, port.held.fence, tool_use_id=tool_use_id, mine={})
        except DecisionGone as gone:
            raise AskWithdrawn(f"This request ended without an answer: {gone.message}. That is not consent.") from None
        if answered is not None:
            return Answer(answered.choice, note=answered.note, data=answered.answer, by=answered.answered_by)
        left = until - time.monotonic()
        if left <= 0 or port.parking or port.directive() is not Directive.GO_ON:
            port.parking = True
            raise Parked
        try:
            await wait_for(port.poked.wait(), min(LOOK_S, left))
        except TimeoutError:
            continue
