"""An attempt that has ended, with its conversation in the store and its files kept, made without a Claude process."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import transaction

from tasks_app.domain.statuses import Reason, RunStatus, StepKind
from tasks_app.models import Run
from tasks_app.runners.port import StepDraft
from tasks_app.services import deliveries, runs, snapshots, steps, transcripts
from tasks_app.services.endings import Ending
from tasks_app.services.runs import Held
from tests.services import world
from tests.services.world import World

SESSION = "11111111-1111-4111-8111-111111111111"


@dataclass(frozen=True)
class Tried:
    """The attempt: step 1 is its prompt, 2 something said, 3 a call, 4 its result, 5 something said, 6 a second prompt."""

    crew: World
    run: Run
    folder: Path


def key(session: str = SESSION) -> dict[str, Any]:
    return {"project_key": "p", "session_id": session}


def row(kind: str, name: str, parent: str, text: str) -> dict[str, Any]:
    return {"type": kind, "uuid": name, "parentUuid": parent or None, "message": {"role": kind, "content": text}}


def tried(folder: Path, *, task: int = 0, **team: Any) -> Tried:
    """Make a team and let its first agent try a task once, and fail."""
    crew = world.make(**team)
    world.workspace(crew.team, folder)
    (folder / "a.txt").write_text("before")
    held = crew.claim(task)
    first = snapshots.take(crew.team.slug, str(folder))
    runs.guard(held.id, held.fence, workspace_commit=first, session_id=SESSION)
    opening = f"[crewdesk:life {held.id}:1]\n[crewdesk:task T-1 attempt 1]"
    lines = [row("user", "u1", "", opening), row("assistant", "u2", "u1", "one")]
    lines += [row("assistant", "u3", "u2", "call"), row("user", "u4", "u3", "result"), row("assistant", "u5", "u4", "two")]
    transcripts.append(key(), [*lines, row("user", "u6", "u5", "And?")], run_id=held.id, fence=held.fence)
    (folder / "a.txt").write_text("after")
    (folder / "new").mkdir()
    (folder / "new" / "b.txt").write_text("b")
    second = snapshots.take(crew.team.slug, str(folder))
    steps.record(held.id, held.fence, after=0, drafts=_steps(opening, first, second))
    fail(held)
    return Tried(crew, Run.objects.get(pk=held.id), folder)


def _steps(opening: str, first: str, second: str) -> list[StepDraft]:
    return [
        StepDraft(StepKind.PROMPT, opening, {"from": "crewdesk", "uuid": "u1", "files": first}),
        StepDraft(StepKind.SAID, "one", {"uuid": "u2"}),
        StepDraft(StepKind.TOOL_CALL, "Write", {"tool": "Write"}, tool_use_id="t1"),
        StepDraft(StepKind.TOOL_RESULT, "ok", {}, tool_use_id="t1"),
        StepDraft(StepKind.SAID, "two", {"uuid": "u5"}),
        StepDraft(StepKind.PROMPT, "And?", {"from": "message", "uuid": "u6", "files": second}),
    ]


def fail(held: Held) -> None:
    """The attempt fails; nobody has decided what is next, for the policy is asked by nobody here."""
    ending = Ending(RunStatus.FAILED, Reason.REPORTED, "It did not work.")
    with transaction.atomic():
        deliveries.end(held.id, held.fence, ending, why="its run failed")
