"""Orders of the system (stop, leave, lost): how a run ends for each, and waiting that each of them cuts short."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from tasks_app.domain.statuses import Reason
from tasks_app.runners.port import Directive, Outcome, OutcomeKind

T = TypeVar("T")
ENDINGS = {
    Directive.STOP: Outcome(OutcomeKind.STOPPED, Reason.STOPPED, "A person stopped the run."),
    Directive.LEAVE: Outcome(OutcomeKind.PARKED, Reason.INTERRUPTED, "The worker left; the run goes on elsewhere."),
    Directive.LOST: Outcome(OutcomeKind.LOST, Reason.WORKER_LOST, "The run belongs to another worker now."),
}


async def unless_ordered(order: "asyncio.Task[Directive]", work: Coroutine[Any, Any, T]) -> T | None:
    """Return what `work` returns, None where an order has come by then: nobody waits for it any more, what it began may go on."""
    working = asyncio.create_task(work)
    try:
        await asyncio.wait({working, order}, return_when=asyncio.FIRST_COMPLETED)
        return None if order.done() else working.result()
    finally:
        working.cancel()
