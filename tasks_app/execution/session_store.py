"""The SDK's `SessionStore` on our tables (duck-typed): the transcript reaches the database while the run is running.

Contract: claude_agent_sdk.types.SessionStore; proved by claude_agent_sdk.testing.run_session_store_conformance.
"""

from typing import Any

from tasks_app.execution import db
from tasks_app.services import transcripts


class DatabaseSessionStore:
    """Stores transcripts; with a run, refuses to write once the run belongs to another life (`LeaseLost`)."""

    def __init__(self, *, run_id: str = "", fence: int = 0) -> None:
        self._run_id = run_id
        self._fence = fence

    async def append(self, key: Any, entries: list[Any]) -> None:
        """Append a batch in order."""
        await db.in_line(transcripts.append, key, entries, run_id=self._run_id, fence=self._fence)

    async def load(self, key: Any) -> list[Any] | None:
        """Return every line, or None."""
        return await db.call(transcripts.load, key)

    async def list_sessions(self, project_key: str) -> list[Any]:
        """Return sessions with their last change."""
        return await db.call(transcripts.sessions, project_key)

    async def list_subkeys(self, key: Any) -> list[str]:
        """Return the sub-agents' subpaths."""
        return await db.call(transcripts.subkeys, key)

    async def delete(self, key: Any) -> None:
        """Delete a session or one subpath."""
        await db.call(transcripts.delete, key)
