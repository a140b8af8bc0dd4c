"""Who decides what in a team, as plain JSON values: the same from the API and the terminal."""

from typing import Any

from tasks_app.selectors.leading import Done, Overview


def overview(found: Overview) -> dict[str, Any]:
    """Return settings, lead agent, what waits for it and what it did."""
    agent = found.agent
    return {
        "settings": found.settings.stored(),
        "lead_agent": {"name": agent.name, "active": agent.active, "working": agent.working} if agent else None,
        "waiting": found.waiting,
        "turns": found.turns,
        "decided": [_done(one) for one in found.done],
        "handed_on": [_done(one) for one in found.handed],
        "gave_out": [_done(one) for one in found.moved],
    }


def _done(one: Done) -> dict[str, Any]:
    return {"at": one.at.isoformat(), "id": one.decision, "task": one.task, "title": one.title, "what": one.words}
