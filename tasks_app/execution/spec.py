"""Builds the `RunSpec` of one life of a run from what the database says, and registers a rehearsed one with its player."""

import shutil
import uuid
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings

from tasks_app.domain.context import Level, usage
from tasks_app.domain.criteria import texts
from tasks_app.domain.deciders import TURN, Decider, Subject, is_lead
from tasks_app.domain.lost_calls import LostCall
from tasks_app.execution import environment, prompts
from tasks_app.rehearsal import scripts, server
from tasks_app.runners.port import RunSpec
from tasks_app.selectors import context as shared
from tasks_app.selectors import estimates, leading
from tasks_app.selectors import runs as reading
from tasks_app.selectors.context import Entry
from tasks_app.selectors.conversations import Conversation
from tasks_app.services import context, deciding, deliveries, grants, runs, task_edits, transcripts
from tasks_app.tools import registry


@dataclass(frozen=True)
class Prepared:
    """A spec, the rehearsal key to give back afterwards, and whether the agent was asked for its report."""

    spec: RunSpec
    rehearsal_key: str | None
    asked: bool


def remove_homes(run_id: str, *, upto: int) -> None:
    """Remove the folders of this life and of those before it, which may have been killed; never of a later one."""
    for folder in home_of(run_id, 0).parent.glob(f"{run_id}-*"):
        fence = folder.name.rpartition("-")[2]
        if fence.isdigit() and int(fence) <= upto:
            shutil.rmtree(folder, ignore_errors=True)


def home_of(run_id: str, fence: int) -> Path:
    """The private folder of one life of a run: HOME, configuration and temporary files of its process."""
    return Path(settings.HOME) / "runs" / f"{run_id}-{fence}"


def build(run_id: str, fence: int) -> Prepared:
    """Return the spec of this life; a session that the database holds is resumed. Raises `LeaseLost`."""
    granted = grants.give(run_id, fence)
    run = runs.get(run_id)
    task, agent, team = run.task, run.agent, run.team
    resumes, fork = _begins(run, fence)
    carried = "" if resumes or fork else carried_session(task, agent, rehearsal=team.rehearsal)
    conversation = Conversation(run.session_id)
    closed = _to_be_told(run, conversation, resumes=resumes)
    home = home_of(run_id, fence)
    remove_homes(run_id, upto=fence)
    key = f"{run_id}-{fence}" if team.rehearsal else None  # of this life: none gives back what is another's
    spec = RunSpec(
        run_id=run_id,
        fence=fence,
        team_id=team.pk,
        agent=agent.name,
        task_label=task.label,
        attempt=run.attempt,
        prompt=_prompt(run, closed, carried, conversation, resumes=resumes),
        system_prompt=prompts.system(run, reading.colleagues(run)),
        workspace=team.workspace,
        home=str(home),
        model=run.model_override or agent.model or None,
        plan_mode=_plans(run),
        **_session(run, fork, carried, resumes=resumes),
        tools=registry.specs(lead=is_lead(agent.role)),
        refuses_unsettled=_refuses_unsettled(team),
        builtin_tools=tuple(agent.tools) if agent.tools is not None else None,
        **_rules(run),
        plans_sent_back=reading.plans_sent_back(run_id),
        max_turns=team.limits.get("turns"),
        max_budget_usd=granted,
        env=environment.for_run(home=home, run_id=run_id, fence=fence, rehearsal_url=server.shared().url(key) if key else None),
        sandbox=bool(team.limits.get("sandbox")),
        rehearsal=team.rehearsal,
    )
    if key:
        _register(run, key)  # last: nobody would give it back where the rest cannot be made
    return Prepared(spec, key, run.asked_to_report)


def _to_be_told(run: Any, conversation: Conversation, *, resumes: bool) -> list[Any]:
    """Return what was decided and is to be told; an answer that the session has lost counts as untold again."""
    if resumes:
        deliveries.tell_again(run.pk, run.fence, reading.unseen_answers(run.pk, conversation))
    return deliveries.undelivered(run.pk)


def _refuses_unsettled(team: Any) -> bool:
    """Whether the rules alone decide on permissions."""
    return deciding.settings(team.pk).by[Subject.PERMISSION] is Decider.POLICY


def _begins(run: Any, fence: int) -> tuple[bool, dict[str, Any]]:
    """Return whether the life goes on in the run's session, and, where it does not, what that is to be a fork of.

    An earlier life may have died while a fork's beginning was copied: it is copied whole, once more, under the same id.
    """
    if run.started_session and transcripts.holds(run.session_id):
        return True, {}
    if run.fork:
        with runs.holding(run.pk, fence):
            transcripts.drop(run.session_id)
    return False, dict(run.fork)


def _session(run: Any, fork: dict[str, Any], carried: str, *, resumes: bool) -> dict[str, Any]:
    """Which session the life goes on in, or the id of a new one and where that branches off."""
    return {
        "session_id": run.session_id if resumes else carried or None,
        "new_session_id": run.session_id if fork else str(uuid.uuid4()),
        "fork_of": fork.get("session", ""),
        "fork_at": fork.get("message", ""),
    }


def _plans(run: Any) -> bool:
    """Whether the agent only plans until its plan is approved: as the task says, else as the agent does."""
    wanted = run.task.plan_mode if run.task.plan_mode is not None else run.agent.plan_mode
    return bool(wanted) and not run.plan_approved


def carried_session(task: Any, agent: Any, *, rehearsal: bool) -> str:
    """Return the agent's own session, while there is room in it: else the task starts a fresh one with a hand-over summary.

    There is none at 80 %, and before that where the task is known to need more than is left until then.
    """
    roomy = usage(agent.context_tokens, agent.context_window).level not in (Level.WARN, Level.CRITICAL)
    if not (agent.session_id and roomy and transcripts.holds(agent.session_id)):
        return ""
    forecast = estimates.room_of(task, agent, rehearsal=rehearsal)
    return "" if forecast is not None and not forecast.fits else agent.session_id


def _prompt(run: Any, closed: list[Any], carried: str, conversation: Conversation, *, resumes: bool) -> str:
    lost = reading.lost_calls(run.pk, conversation, anew=not resumes)
    if resumes:
        told = prompts.going_on(run, closed, interrupted_call=reading.last_call_without_result(run.pk), lost=lost)
    else:
        told = _first(run, closed, carried, lost)
    return f"{deliveries.LIFE.format(run.pk, run.fence)}\n{told}"


def _first(run: Any, closed: list[Any], carried: str, lost: list[LostCall]) -> str:
    """The attempt's prompt; with what was decided and done where the first life died before its transcript was stored."""
    entries, dossiers = _shared(run), reading.dossiers(run.task_id)
    if run.fork:
        found = prompts.forked(run, name=run.agent.name, entries=entries, dossiers=dossiers)
    else:
        handover = "" if carried else run.agent.handover
        found = prompts.parts(run, needs=reading.needs(run.task_id), entries=entries, dossiers=dossiers, handover=handover)
    prompt = prompts.joined(found)
    if told := run.dossier.get("start"):
        prompt += f"\n\n## The workspace\n{told}"
    if not closed and not lost:
        return prompt
    return f"{prompt}\n\n{prompts.going_on(run, closed, interrupted_call='', lost=lost, anew=True)}"


def _shared(run: Any) -> list[Entry]:
    """What the team shares and the task may see, newest first; those that fit in the prompt are noted as read."""
    entries = shared.of_task(run.team_id, run.task.number)
    told = prompts.shown_in_full(entries)
    if not told:
        return entries
    with runs.holding(run.pk, run.fence):
        context.note_reads(run.team_id, told, reader=run.agent.name, run_id=run.pk, agent_id=run.agent_id, how="prompt")
    return entries


def _rules(run: Any) -> dict[str, Any]:
    """Rules of the team, the agent and the task, joined; a denied call stays denied whoever allows it."""
    joined: dict[str, tuple[str, ...]] = {}
    for name in ("allow", "deny", "ask"):
        joined[name] = (*(run.team.permissions.get(name) or ()), *(run.agent.permissions.get(name) or ()))
    joined["allow"] += tuple(task_edits.rules(run.task_id))
    return joined


def _register(run: Any, key: str) -> None:
    task, agent = run.task, run.agent
    script = _script(run.team.rehearsal_script) if run.team.rehearsal_script else None
    found = (
        script.part_for(
            agent=agent.name, role=agent.role, task_label=task.label, title=task.title, key=task.key, attempt=task.attempts + 1
        )
        if script
        else None
    )
    variables = {
        "task": task.label,
        "agent": agent.name,
        "attempt": run.attempt,
        "workspace": run.team.workspace,
        "number": task.number,
    }
    if task.type == TURN:
        variables |= leading.numbered(run.team_id)
    server.shared().register(key, found, variables, texts(task.criteria))


@lru_cache(maxsize=8)
def _script(text: str) -> scripts.Script:
    """The script in a text: all runs of a team play the same one, and reading a long one takes its time."""
    return scripts.load(text)


def release(prepared: Prepared) -> None:
    """Give back what the life used: the player's entry and the private folder (its transcript is in the database)."""
    if prepared.rehearsal_key:
        server.shared().unregister(prepared.rehearsal_key)
    remove_homes(prepared.spec.run_id, upto=prepared.spec.fence)
