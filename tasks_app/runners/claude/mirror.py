"""The session store as one process uses it: knows which tool calls are stored, so that a request to the lead can wait for it.

Claude Code mirrors its transcript in the background, 30 to 100 ms behind [measured]: too slow to wait for at each call. What a
crash in that time takes from the transcript is told to the resumed agent from the steps (`prompts.going_on`). Only what is asked
of the lead waits: the life that goes on after the answer must find the call that was asked for.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from tasks_app.domain.errors import LeaseLost


class Mirror:
    """Passes everything on to the port's store. `lose` is called when the store says that the run is somebody else's.

    `known`: rows by session that were read just now. A long conversation takes its time: the SDK gets these once, and no life
    but this may have added any. They are emptied then: whoever else holds them must not keep megabytes for the run's whole life.
    """

    def __init__(self, store: Any, *, lose: Callable[[], None], known: Mapping[str, list[Any]] | None = None) -> None:
        self._store = store
        self._lose = lose
        self._known = dict(known or {})
        self._stored: dict[str, asyncio.Event] = {}

    async def stored(self, tool_use_id: str, *, within_s: float) -> bool:
        """Wait until the call is in the store; whether it is."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._event(tool_use_id).wait()
        return self._event(tool_use_id).is_set()

    async def append(self, key: Mapping[str, str], entries: Sequence[Any]) -> None:
        """Store rows, then let the calls in them go on."""
        try:
            await self._store.append(key, entries)
        except LeaseLost:
            self._lose()
            raise
        for name in _calls(entries):
            self._event(name).set()

    async def load(self, key: Mapping[str, str]) -> Any:
        """Return the rows of a session."""
        known = None if key.get("subpath") else self._known.pop(key["session_id"], None)
        if not known:
            return await self._store.load(key)
        rows = known.copy()
        known.clear()
        return rows

    async def list_subkeys(self, key: Mapping[str, str]) -> list[str]:
        """Return the sub-agents' places in a session."""
        return list(await self._store.list_subkeys(key))

    def _event(self, name: str) -> asyncio.Event:
        return self._stored.setdefault(name, asyncio.Event())


def _calls(entries: Sequence[Any]) -> Iterator[str]:
    """The ids of the tool_use blocks in transcript rows, which are only loosely specified."""
    for entry in entries:
        message = entry.get("message") if isinstance(entry, dict) else None
        content = message.get("content") if isinstance(message, dict) else None
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and block.get("type") == "tool_use":
                yield str(block.get("id"))
