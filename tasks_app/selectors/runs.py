"""What execution needs to know of a run besides its row."""

import json
import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

from django.db.models import Max, Q

from tasks_app.decision_kinds import registry as decision_kinds
from tasks_app.decision_kinds.base import ANSWERED
from tasks_app.domain import planning
from tasks_app.domain.lost_calls import CUT_OFF, MADE, LostCall, carried_out
from tasks_app.domain.statuses import DecisionKind, DecisionStatus, RunStatus, StepKind
from tasks_app.domain.text import cut
from tasks_app.models import Agent, Decision, Run, Step, Task
from tasks_app.selectors.conversations import Conversation

LATEST_CALLS = 20
WRITERS = ("Write", "Edit", "MultiEdit", "NotebookEdit")
COMMANDS = ("Bash", "PowerShell", "Monitor", "Skill", "SlashCommand")
"""Tools that run commands: a skill and a slash command may begin with some."""
DID = tuple(kind.value for kind in (StepKind.SAID, StepKind.THOUGHT, StepKind.TOOL_CALL, StepKind.TOOL_RESULT, StepKind.SUBTASK))
"""Steps of the agent's own: what it was told, and what Claude Code or Crewdesk noted, is none."""
LINE = 320
"""Characters of a step that a dossier keeps."""
INTERRUPTED = "cut off: the turn was interrupted before this was done (parked or stopped); nobody refused it"
PATH_IN_PREVIEW = re.compile(r'"(?:file_path|notebook_path)": ("(?:[^"\\]|\\.)*")')


def lives_under_way() -> list[tuple[str, int]]:
    """The lives that workers hold now: run and fence."""
    return list(Run.objects.filter(status=RunStatus.RUNNING.value).values_list("pk", "fence"))


def colleagues(run: Run) -> list[tuple[str, str]]:
    """Return (name, role) of the other agents of the team."""
    return list(Agent.objects.filter(team_id=run.team_id).exclude(pk=run.agent_id).values_list("name", "role"))


def needs(task_id: int) -> list[Task]:
    """Return the tasks it depends on, by number."""
    return list(Task.objects.filter(dependants__task_id=task_id).order_by("number"))


def dossiers(task_id: int) -> list[dict[str, Any]]:
    """Return the dossiers of every ended attempt, oldest first."""
    ended = Run.objects.filter(task_id=task_id, status__in=(RunStatus.FAILED.value, RunStatus.KILLED.value)).order_by("attempt")
    return [run.dossier for run in ended if run.dossier]


def last_call_without_result(run_id: str) -> str:
    """Return the latest tool call of the main thread that has no result, as one line; "" where there is none."""
    call = Step.objects.filter(run_id=run_id, kind=StepKind.TOOL_CALL.value, parent_tool_use_id="").order_by("-seq").first()
    if call is None or Step.objects.filter(run_id=run_id, kind=StepKind.TOOL_RESULT.value, tool_use_id=call.tool_use_id).exists():
        return ""
    return f"{call.text} {_given(call)}"[:500]


def _given(call: Step) -> str:
    """What a call was made with, as JSON."""
    return json.dumps(call.data.get("input") or {}, ensure_ascii=False)


def lost_calls(run_id: str, conversation: Conversation, *, anew: bool = False) -> list[LostCall]:
    """Return the last calls of the main thread that the stored transcript does not hold, or whose result it does not hold.

    A transcript follows its process by about 0.1 s: a few calls at most, so that the ends of both are compared.
    `anew`: all of the last ones, for an attempt that begins with its prompt again, whatever stands before that.
    """
    mine = Step.objects.filter(run_id=run_id, parent_tool_use_id="")
    calls = list(mine.filter(kind=StepKind.TOOL_CALL.value).exclude(tool_use_id="").order_by("-seq")[:LATEST_CALLS])[::-1]
    if not calls:
        return []
    results = _results(run_id, [call.tool_use_id for call in calls])
    return [
        _lost(call, results.get(call.tool_use_id))
        for call in calls
        if anew or _is_lost(call.tool_use_id, conversation, came=call.tool_use_id in results)
    ]


def _results(run_id: str, calls: Sequence[str]) -> dict[str, Step]:
    """What these calls have brought back, by their ids; not of those that were cut off."""
    came = Step.objects.filter(run_id=run_id, kind=StepKind.TOOL_RESULT.value, tool_use_id__in=calls)
    return {step.tool_use_id: step for step in came if carried_out(step.text, is_error=bool(step.data.get("is_error")))}


def unseen_answers(run_id: str, conversation: Conversation) -> list[str]:
    """Return the decisions whose answer counts as told, but by no line that a process which goes on reads (`Conversation`).

    A grant is none of them, for it was used; neither is what a call has brought back: that is told as a lost call.
    """
    told = Decision.objects.filter(run_id=run_id, consumed_at__isnull=False, status=DecisionStatus.ANSWERED.value)
    found = [one for one in told if one.choice not in decision_kinds.get(one.kind).GRANTS]
    if not found:
        return []
    brought = _results(run_id, [one.tool_use_id for one in found])
    untold = [one for one in found if one.tool_use_id not in brought and not _reads_of(one, conversation)]
    return [one.pk for one in untold if one.consumed_at and one.consumed_at.timestamp() >= conversation.since]


def _reads_of(decision: Decision, conversation: Conversation) -> bool:
    """Whether a line tells of the answer: a prompt of ours, or the result of the call, which was not cut off."""
    marks = [ANSWERED.format(name) for name in (decision.tool_use_id, decision.pk) if name]
    if any(map(conversation.holds, marks)):
        return True
    result = f'"tool_use_id": "{decision.tool_use_id}"'
    came = any(result in line and not any(word in line for word in CUT_OFF) for line in conversation.lines)
    return bool(decision.tool_use_id) and came and conversation.holds_call(decision.tool_use_id)


def _is_lost(name: str, conversation: Conversation, *, came: bool) -> bool:
    """Whether the call, or what it brought back, is in no line and was not told of as lost either."""
    if conversation.holds(MADE.format(name)):
        return False
    return not conversation.holds_call(name) or (came and not conversation.holds(f'"tool_use_id": "{name}"'))


def _lost(call: Step, result: Step | None) -> LostCall:
    if result is None:
        return LostCall(call.tool_use_id, call.text, _given(call))
    return LostCall(call.tool_use_id, call.text, _given(call), result.text, failed=bool(result.data.get("is_error")))


def plans_sent_back(run_id: str) -> tuple[str, ...]:
    """Return the lead's comments on the plans of this run that were sent back in a row, up to now, by all its lives."""
    about = Q(kind=DecisionKind.PLAN.value) | Q(kind=DecisionKind.ESCALATION.value, payload__has_key="plan")
    answered = Decision.objects.filter(about, run_id=run_id, status=DecisionStatus.ANSWERED.value)
    return planning.sent_back(answered.order_by("answered_at", "pk").values_list("kind", "choice", "note"))


def last_steps(run_id: str, *, count: int = 10) -> list[str]:
    """Return the last things that the agent did, as short lines, oldest first; not what it was told."""
    rows = Step.objects.filter(run_id=run_id, kind__in=DID).order_by("-seq")[:count]
    return [_line(row) for row in reversed(rows)]


def _line(row: Step) -> str:
    """One step; a call with what it was made with, a result that is none in our words: Claude Code says that a person refused."""
    if row.kind == StepKind.TOOL_RESULT.value and not carried_out(row.text, is_error=bool(row.data.get("is_error"))):
        return f"{row.kind}: {INTERRUPTED}"
    with_what = f" {_given(row)}" if row.kind == StepKind.TOOL_CALL.value and row.data.get("input") else ""
    return cut(f"{row.kind}: {row.text}{with_what}", LINE)


def files_written(run_id: str) -> list[str]:
    """Return the files that the run's own Write, Edit and NotebookEdit calls named, each once."""
    calls = Step.objects.filter(run_id=run_id, kind=StepKind.TOOL_CALL.value).order_by("seq").values_list("data", flat=True)
    names = (_file_of(data) for data in calls if data.get("tool") in WRITERS)
    return list(dict.fromkeys(name for name in names if name))


def written_beside(attempt: Run) -> list[str]:
    """Return the files that runs of other tasks named meanwhile, and the attempt did not."""
    others = beside(attempt, until=None)
    if not others:
        return []
    calls = Step.objects.filter(run__in=others, kind=StepKind.TOOL_CALL.value, data__tool__in=WRITERS).order_by("pk")
    names = {_file_of(data) for data in calls.values_list("data", flat=True)}
    return sorted(names - {"", *files_written(attempt.pk)})


def _file_of(data: dict[str, Any]) -> str:
    """The file a call names; of a large call only the beginning of its JSON is kept."""
    given = data.get("input") or {}
    if name := given.get("file_path") or given.get("notebook_path"):
        return str(name)
    found = PATH_IN_PREVIEW.search(str(data.get("preview") or ""))
    return str(json.loads(found[1])) if found else ""


def next_attempt(task_id: int) -> int:
    """Return the number that the next attempt at the task will have."""
    return (Run.objects.filter(task_id=task_id).aggregate(n=Max("attempt"))["n"] or 0) + 1


def attempts_to_undo(run: Run) -> list[Run]:
    """Return the earlier attempts whose changes a clean start takes back, oldest first: those since the last clean start."""
    earlier = Run.objects.filter(task_id=run.task_id, attempt__lt=run.attempt).exclude(workspace_commit="").order_by("attempt")
    found: list[Run] = []
    for one in earlier:
        found = [one] if one.start_from == "clean" else [*found, one]
    return found


def attempts_let_go(run: Run) -> list[int]:
    """Return the earlier attempts whose files retention has let go, by their numbers."""
    earlier = Run.objects.filter(task_id=run.task_id, attempt__lt=run.attempt, dossier__files_gone=True)
    return list(earlier.order_by("attempt").values_list("attempt", flat=True))


def beside(attempt: Run, *, until: datetime | None) -> list[Run]:
    """Return the runs of other tasks, of any team, that worked on the same files between its start and `until` (None: now)."""
    others = Run.objects.filter(in_workspace(attempt.team.workspace), started_at__isnull=False).exclude(task_id=attempt.task_id)
    others = others.filter(Q(ended_at__isnull=True) | Q(ended_at__gt=attempt.started_at or attempt.created_at))
    return list(others.filter(started_at__lt=until) if until else others)


def in_workspace(workspace: str) -> Q:
    """What runs are filtered by to find those whose team works in this folder, in one inside it, or in one that it lies in."""
    above = [str(folder) for folder in PurePosixPath(workspace).parents]
    return Q(team__workspace__in=[workspace, *above]) | Q(team__workspace__startswith=f"{workspace}/")


def ran_commands(run: Run) -> bool:
    """Whether it ran commands, or had its criteria checked by some: these may have changed any file."""
    return bool(run.proofs) or Step.objects.filter(run=run, kind=StepKind.TOOL_CALL.value, data__tool__in=COMMANDS).exists()
