"""What the next agent is told of the attempts before its own: their dossiers as text, the latest in full, within a limit."""

from collections.abc import Mapping, Sequence
from typing import Any

from tasks_app.domain.text import cut

LIMIT = 24_000
"""Characters of all attempts together; the latest come first, what does not fit is counted."""
PATCH_LIMIT = 8_000
"""Characters of the diff of the latest attempt; of those before only what it changed is told."""
STEPS = 10
STEP_LIMIT = 300
ERROR_LIMIT = 2_000
APPROACHES = 20
ITEM_LIMIT = 600

Dossier = Mapping[str, Any]


def text(dossiers: Sequence[Dossier]) -> str:
    """Return the part of the prompt about these attempts, oldest first; empty where there were none."""
    shown: list[str] = []
    room = LIMIT
    for place, dossier in enumerate(reversed(dossiers)):
        one = _attempt(dossier, latest=place == 0)
        if len(one) > room and shown:
            break
        shown.append(cut(one, LIMIT))
        room -= len(one)
    left = len(dossiers) - len(shown)
    first = [f"({left} earlier {'attempt is' if left == 1 else 'attempts are'} not shown: there is no room.)"] if left else []
    return "## What was already tried\n" + "\n\n".join([*first, *reversed(shown)]) if shown else ""


def _attempt(dossier: Dossier, *, latest: bool) -> str:
    head = f"### Attempt {dossier.get('attempt')} by {dossier.get('agent')}: {dossier.get('reason')}"
    lines = [
        head,
        cut(str(dossier.get("error") or ""), ERROR_LIMIT),
        *(f"- tried: {cut(str(one), ITEM_LIMIT)}" for one in (dossier.get("approaches") or [])[:APPROACHES]),
        *_criteria(dossier),
        _used(dossier),
        *_changed(dossier.get("diff"), latest=latest),
        *_steps(dossier.get("last_steps")),
    ]
    return "\n".join(line for line in lines if line)


def _criteria(dossier: Dossier) -> list[str]:
    """What the agent says is met and how it knows, then what the system has proved."""
    evidence: Mapping[str, Any] = dossier.get("evidence") or {}
    named = {str(one): evidence.get(one, "") for one in dossier.get("criteria_met") or []} | dict(evidence)
    told = {name: f": {cut(str(how), ITEM_LIMIT)}" if how else "" for name, how in named.items()}
    said = [f"- criterion {name} was met, says the agent{how}" for name, how in told.items()]
    return said + [
        f"- criterion {proof['number']} {'was met' if proof['met'] else 'was not met'}: {cut(str(proof['says']), ITEM_LIMIT)}"
        for proof in dossier.get("proofs") or []
    ]


def _used(dossier: Dossier) -> str:
    parts = []
    if dossier.get("tokens"):
        parts.append(f"{dossier['tokens']:,} tokens")
    if dossier.get("cost_usd") is not None:
        parts.append(f"{'at least ' if dossier.get('cost_partial') else ''}${float(dossier['cost_usd']):.2f}")
    if dossier.get("seconds") is not None:
        parts.append(f"{max(1, round(dossier['seconds'] / 60))} min")
    return f"- it took {', '.join(parts)}" if parts else ""


def _changed(diff: Any, *, latest: bool) -> list[str]:
    if not isinstance(diff, Mapping) or not diff.get("files"):
        return []
    files: list[str] = list(diff["files"])
    names = ", ".join(files[:30]) + (f" and {len(files) - 30} more" if len(files) > 30 else "")
    lines = [f"- changed files: {cut(names, ERROR_LIMIT)}{f' ({summary})' if (summary := diff.get('summary')) else ''}"]
    patch = str(diff.get("patch") or "").rstrip("\n")
    if not latest or not patch:
        return lines
    shortened = " (shortened)" if diff.get("cut") or len(patch) > PATCH_LIMIT else ""
    return [*lines, f"- its diff{shortened}:", "~~~~diff", cut(patch, PATCH_LIMIT), "~~~~"]


def _steps(steps: Any) -> list[str]:
    last = [f"  - {cut(' '.join(str(one).split()), STEP_LIMIT)}" for one in (steps or [])[-STEPS:]]
    return ["- its last steps:", *last] if last else []
