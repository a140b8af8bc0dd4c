"""Puts one question to the lead and turns every way that can end into an answer or a refusal; never into consent."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from claude_agent_sdk import PermissionResultDeny

from tasks_app.domain.errors import LeaseLost
from tasks_app.runners.port import Answer, Ask, AskWithdrawn, Parked, Port

log = logging.getLogger(__name__)

PARKED = "Parked: the lead will decide later. Stop here; nothing was rejected. You will be told what was decided."
ENDING = "This run is being ended. Stop here."
STOPPED = (
    "[crewdesk:stopped] What you were doing was stopped so that you read this at once. Where the conversation says that the user "
    "rejected or interrupted a call, nothing was rejected. Whether that call took effect is unknown: look before you repeat it."
)
WITHDRAWN = (
    "Nobody decided on this: the request was withdrawn{why}. The lead did not deny it. "
    "Go on without it, or ask again if you cannot."
)
UNAVAILABLE = (
    "The approval service is unavailable, so nobody could decide on this. The lead did not deny it. "
    "Wait a little and ask again, or go on without it."
)


@dataclass
class Desk:
    """The lead's desk, as one process of a run sees it. `wake` is called when the run has to end because of an answer."""

    port: Port
    wake: Callable[[], None]
    parked: bool = False
    lost: bool = False
    closed: bool = False  # the run is being stopped: nothing is asked any more
    interrupting: bool = False  # the turn is being stopped for a message, and a hook's words would be lost with it
    handing: asyncio.Lock = field(default_factory=asyncio.Lock)  # held while a hook takes what is due

    @property
    def ends(self) -> bool:
        """Whether the run is ending, so that nothing is asked and nothing is let through any more."""
        return self.parked or self.lost or self.closed

    def lose(self) -> None:
        """The run turned out to be somebody else's."""
        self.lost = True
        self.wake()

    def park(self) -> None:
        """The lead will decide later: the process ends, the run goes on with the answer."""
        self.parked = True
        self.wake()

    async def ask(self, ask: Ask) -> Answer | PermissionResultDeny:
        """Return the lead's answer, or how to refuse the call. Cancelling withdraws the request (the port sees it)."""
        if self.ends:
            return self.ending()
        try:
            return await self._put(ask)
        except Parked:
            self.park()
            return self.ending()
        except LeaseLost:
            self.lose()
            return self.ending()
        except AskWithdrawn as problem:
            why = f" ({problem})" if str(problem) else ""
            return PermissionResultDeny(message=WITHDRAWN.format(why=why))
        except Exception:
            log.exception("asking the lead failed", extra={"kind": ask.kind.value, "tool_use_id": ask.tool_use_id})
            return PermissionResultDeny(message=UNAVAILABLE)

    async def _put(self, ask: Ask) -> Answer:
        """Ask in a task of its own: where the run parks on another question, this one is left open instead of withdrawn."""
        task = asyncio.ensure_future(self.port.ask(ask))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.cancel("parked" if self.parked else "withdrawn")
            await asyncio.wait([task])
            raise

    def ending(self) -> PermissionResultDeny:
        """Return the refusal that also ends the turn."""
        return PermissionResultDeny(message=PARKED if self.parked else ENDING, interrupt=True)
