"""Transcripts: the resumable record of a session. What it holds is what an agent remembers after a crash."""

import json
import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Max

from tasks_app.domain.errors import Conflict
from tasks_app.domain.lost_calls import carried_out
from tasks_app.models import TranscriptEntry
from tasks_app.selectors.conversations import begins
from tasks_app.services import calls as crew_calls
from tasks_app.services import deliveries, messages, rows, runs
from tasks_app.services.clock import now_s

GONE = (
    "The conversation of this attempt is not kept any more, so there is nothing to fork from. Give the task out again: "
    "the next attempt is told what was tried."
)
DAMAGED = (
    "The stored conversation of this attempt has a gap before that message, so a fork of it would not be what it says. "
    "Fork from an earlier message, or give the task out again."
)
ANSWERED = re.compile(r"\[crewdesk:answered ([\w-]{1,80})\]")
MESSAGE = re.compile(r"\[message (m[0-9a-z]{8}) ")


def _scope(key: Mapping[str, Any]) -> dict[str, str]:
    return {"project_key": key["project_key"][:300], "session_id": key["session_id"], "subpath": key.get("subpath") or ""}


@transaction.atomic
def append(key: Mapping[str, Any], entries: Sequence[Mapping[str, Any]], *, run_id: str = "", fence: int = 0) -> None:
    """Append lines in order; a line with a known uuid is kept once. With a run: only while this life holds it.

    In the same commit, answers and messages whose effect these lines hold are spent. Raises `LeaseLost`.
    """
    if not entries:
        return
    written = [(entry, json.dumps(entry)) for entry in entries]
    if run_id:
        told = not key.get("subpath") and any(_is_prompt(e, text, run_id) for e, text in written)
        # before the task's own prompt is stored there is nothing to go on from: the next life starts with it again
        runs.guard(run_id, fence, **({"started_session": True} if told else {}))
    scope, stamp = _scope(key), int(now_s() * 1000)
    lines = [TranscriptEntry(**scope, uuid=e.get("uuid") or None, entry=text, mtime_ms=stamp) for e, text in written]
    rows.add(lines, known="ON CONFLICT DO NOTHING")
    if run_id and scope["subpath"]:
        _spend_leave(run_id, fence, written)
    elif run_id:
        _spend(run_id, fence, written)


def _is_prompt(entry: Mapping[str, Any], text: str, run_id: str) -> bool:
    """Whether this line is the prompt that the attempt begins with; what a tool has printed is none."""
    return entry.get("type") == "user" and '"type": "tool_result"' not in text and begins(text, run_id)


def _spend_leave(run_id: str, fence: int, written: Sequence[tuple[Mapping[str, Any], str]]) -> None:
    """What a sub-agent had leave for and has done may not be done again without leave.

    Nothing else is spent by what it says: it does not live on, and one that is begun again knows of no answer and no call.
    """
    done = [call for entry, _ in written for call in _done(_results(_blocks(entry)))]
    if done and rows.owes(run_id):
        deliveries.consume_leave(run_id, fence, results=done)


def _blocks(entry: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = (entry.get("message") or {}).get("content") if entry.get("type") in ("user", "attachment") else None
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _results(blocks: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [block for block in blocks if block.get("type") == "tool_result"]


def _done(results: Sequence[Mapping[str, Any]]) -> list[str]:
    return [str(block.get("tool_use_id") or "") for block in results if _genuine(block)]


def _spend(run_id: str, fence: int, written: Sequence[tuple[Mapping[str, Any], str]]) -> None:
    """`written`: each entry with its text as it is stored."""
    calls: list[str] = []
    told: list[str] = []
    notes: list[str] = []
    for entry, text in written:
        if entry.get("type") not in ("user", "attachment"):
            continue
        blocks = _blocks(entry)
        results = _results(blocks)
        calls += _done(results)
        # what a tool printed is no prompt of ours: it could name any decision
        words = json.dumps([b for b in blocks if b not in results]) if results else text
        told += ANSWERED.findall(words)
        notes += MESSAGE.findall(text)
    if (calls or told) and rows.owes(run_id):
        deliveries.consume(run_id, fence, results=calls, told=told)
        crew_calls.tell(run_id, calls)
    if notes:
        messages.mark_read(notes, run_id=run_id)


def _genuine(result: Mapping[str, Any]) -> bool:
    """Whether a call was carried out or refused for good, as opposed to cut off together with one that was parked."""
    content = result.get("content")
    first = content[0] if isinstance(content, list) and content else content
    text = str(first.get("text") or "") if isinstance(first, dict) else str(first or "")
    return carried_out(text, is_error=bool(result.get("is_error")))


def load(key: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the lines in order, mended where some are missing, or None for a key that was never written."""
    lines = TranscriptEntry.objects.filter(**_scope(key)).order_by("pk").values_list("entry", flat=True)
    return _mended(_without_hollow([json.loads(line) for line in lines])) or None


def _without_hollow(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out a boundary whose summary was lost: what was to be compacted is then there as it was."""
    kept, summary = [], False
    for line in reversed(lines):
        boundary = line.get("subtype") == "compact_boundary"
        if summary or not boundary:
            kept.append(line)
        summary = not boundary and (summary or bool(line.get("isCompactSummary")))
    return kept[::-1]


def _mended(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Let a line whose parent was lost (the disk of its process was full for a moment) follow from the one before it.

    Claude Code would go on from some earlier prompt otherwise and know nothing of what was said since [measured with 2.1].
    A result whose call was lost it leaves out by itself; of such calls `selectors/runs.lost_calls` tells. A summary whose
    boundary was lost begins anew.
    """
    known, before = {line.get("uuid") for line in lines}, None
    for line in lines:
        if line.get("parentUuid") and line["parentUuid"] not in known:
            line["parentUuid"] = None if line.get("isCompactSummary") else before
        before = line.get("uuid") or before
    return lines


def sessions(project_key: str) -> list[dict[str, Any]]:
    """Return each session of a project with its last change in Unix milliseconds."""
    rows = (
        TranscriptEntry.objects.filter(project_key=project_key[:300], subpath="").values("session_id").annotate(m=Max("mtime_ms"))
    )
    return [{"session_id": row["session_id"], "mtime": row["m"]} for row in rows]


def subkeys(key: Mapping[str, Any]) -> list[str]:
    """Return the subpaths of a session (its sub-agents)."""
    scope = {"project_key": key["project_key"][:300], "session_id": key["session_id"]}
    return sorted(set(TranscriptEntry.objects.filter(**scope).exclude(subpath="").values_list("subpath", flat=True)))


def delete(key: Mapping[str, Any]) -> None:
    """Delete a session with everything under it, or one subpath; an unknown key is no error."""
    scope = _scope(key)
    if not scope["subpath"]:
        del scope["subpath"]
    TranscriptEntry.objects.filter(**scope).delete()


def drop(session_id: str) -> None:
    """Delete what is kept of a session that has not begun."""
    TranscriptEntry.objects.filter(session_id=session_id).delete()


def must_lead_to(session_id: str, message: str, *, run_id: str) -> None:
    """Return where the session holds the message and all that it follows from in this attempt. Raises `Conflict` otherwise.

    What was lost of the agent's work before the attempt is no part of it.
    """
    parents: dict[str, str] = {}
    lines = TranscriptEntry.objects.filter(session_id=session_id, subpath="", uuid__isnull=False).values_list("uuid", "entry")
    for name, line in lines.iterator():
        try:
            entry = json.loads(line)
            parents[str(name)] = "" if _is_prompt(entry, line, run_id) else str(entry.get("parentUuid") or "")
        except (ValueError, AttributeError):
            parents.pop(str(name), None)
    if not parents:
        raise Conflict(GONE, field="run")
    at, left = message, len(parents)
    while at and left >= 0:
        if at not in parents:
            raise Conflict(DAMAGED, field="at")
        at, left = parents[at], left - 1
    if left < 0:
        raise Conflict(DAMAGED, field="at")


def branch(session_id: str, *, lines: int, last: str) -> str:
    """Return a session of just the first lines of this one, the last of which has that uuid; "" where there is none any more.

    It is this one where it holds no more than that; else a copy under a new id, so that what was said since stays where it is.
    """
    stored = TranscriptEntry.objects.filter(session_id=session_id).order_by("pk")
    ends = list(stored.filter(subpath="").values_list("pk", "uuid")[: lines + 1])
    if not 0 < lines <= len(ends) or (ends[lines - 1][1] or "") != last:
        return ""
    if len(ends) == lines:
        return session_id
    new = str(uuid.uuid4())
    rows = []
    for row in stored.filter(pk__lt=ends[lines][0]).iterator(chunk_size=500):
        entry = json.loads(row.entry)
        if "sessionId" in entry:
            entry["sessionId"] = new
        row.pk, row.session_id, row.entry = None, new, json.dumps(entry)
        rows.append(row)
    TranscriptEntry.objects.bulk_create(rows, batch_size=200)
    return new


def holds(session_id: str) -> bool:
    """Whether there is anything of this session to resume from."""
    return bool(session_id) and TranscriptEntry.objects.filter(session_id=session_id, subpath="").exists()
