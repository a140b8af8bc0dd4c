"""Asks the lead to judge a reported task: what is to be looked at, what was proved already, and what changed."""

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol

from tasks_app.domain import criteria
from tasks_app.domain.criteria import Criterion, Proof, Result
from tasks_app.domain.statuses import DecisionKind
from tasks_app.domain.text import cut
from tasks_app.execution import db
from tasks_app.runners.port import Answer, Ask, AskWithdrawn
from tasks_app.services import differences, runs, snapshots
from tasks_app.services.runs import Held
from tasks_app.tools.tasks import Update, given_evidence

PATCH_LIMIT = 20_000
"""Characters of the difference that stands on the card; the rest is in the workspace."""


class Asker(Protocol):
    """What asking needs of a port."""

    held: Held

    async def ask(self, ask: Ask) -> Answer:
        """Ask the lead and wait."""


async def ask(
    port: Asker, judged: Sequence[Criterion], report: Update, proved: Sequence[Result], tool_use_id: str
) -> list[Result]:
    """Return the lead's verdict as a result for each criterion. Raises `Parked` and `LeaseLost`, as the port does."""
    run = await db.call(runs.get, port.held.id)
    payload = await asyncio.to_thread(_payload, run, judged, report, proved)
    try:
        answer = await port.ask(Ask(DecisionKind.REVIEW, payload, tool_use_id))
    except AskWithdrawn as problem:
        return [Result(one.number, Proof.JUDGE, False, f"nobody judged it: {problem}") for one in judged]
    met = answer.choice == "approve"
    word = f"accepted by {answer.by}" if met else f"sent back by {answer.by}"
    says = f"{word}: {answer.note}" if answer.note else word
    return [Result(one.number, Proof.JUDGE, met, says, by=answer.by) for one in judged]


def _payload(run: Any, judged: Sequence[Criterion], report: Update, proved: Sequence[Result]) -> dict[str, Any]:
    evidence = given_evidence(report)
    now = snapshots.take(run.team.slug, run.team.workspace)
    diff = differences.diff(run.team.slug, run.workspace_commit, now)
    texts = criteria.texts(run.task.criteria)
    person = next((one.person for one in judged if one.person), "")
    return {
        **({"judge": person} if person else {}),
        "task": f"{run.task.label} {run.task.title}",
        "criteria": [
            {"number": one.number, "text": one.text, "evidence": criteria.evidence_for(one, evidence)} for one in judged
        ],
        "summary": report.summary,
        "proofs": [{"number": one.number, "text": texts[one.number - 1], "says": one.says} for one in proved],
        "diff": {**diff, "patch": cut(diff["patch"], PATCH_LIMIT)},
        "left_out": max(int(diff["length"]) - PATCH_LIMIT, 0),
        "left_out_more": not diff["all"],
    }
