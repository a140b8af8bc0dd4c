"""Proves the criteria of a task before its agent may report it as completed. Outside any transaction, off the event loop."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from pydantic import ValidationError

from tasks_app.domain import addresses, criteria
from tasks_app.domain.criteria import Criterion, Proof, Result
from tasks_app.domain.ids import parse_task_label
from tasks_app.domain.text import clean_json, one_line
from tasks_app.execution import checks, db, environment, review
from tasks_app.execution.spec import home_of
from tasks_app.runners.port import Directive
from tasks_app.selectors import crew
from tasks_app.services import proofs
from tasks_app.services import runs as running
from tasks_app.tools.base import Caller
from tasks_app.tools.tasks import Update, given_evidence

TOOL = "TaskUpdate"


class Prover(review.Asker, Protocol):
    """What proving needs of a port."""

    @property
    def caller(self) -> Caller:
        """Who reports."""

    def directive(self) -> Directive:
        """What the system wants right now."""

    async def directive_changed(self) -> Directive:
        """Wait until it wants something else than to go on."""


async def caller_with_proofs(port: Prover, name: str, arguments: Mapping[str, Any], tool_use_id: str) -> Caller:
    """Return the caller of a tool, with the results of its proofs where the call reports its own task as completed.

    What the lead judges is asked when everything else is met. Raises `LeaseLost` where the run is not this life's any more, and
    `Parked` where the lead does not answer within the grace.
    """
    report = _report(port.caller, arguments) if name == TOOL else None
    if report is None:
        return port.caller
    stored = await db.call(crew.criteria, port.caller.task_id)
    wanted = [one for one in criteria.read(stored) if one.proof is not Proof.SAID]
    if not wanted:
        return port.caller
    evidence = given_evidence(report)
    results = await _prove(port, wanted, evidence)
    if port.directive() is not Directive.GO_ON:
        return replace(port.caller, proofs=tuple(results))
    await _record(port, results)
    left = criteria.unmet(stored, evidence, {one.number: one for one in results})
    left = [one for one in left if not one.criterion.reviewed_by(port.caller.agent)]
    if left and all(one.criterion.proof is Proof.JUDGE for one in left):
        judged = await review.ask(port, [one.criterion for one in left], report, results, tool_use_id)
        results = sorted([*results, *judged], key=lambda one: one.number)
        await _record(port, results, told=judged)
    return replace(port.caller, proofs=tuple(results))


async def _record(port: Prover, results: Sequence[Result], *, told: Sequence[Result] | None = None) -> None:
    if results:
        await db.call(proofs.record, port.held.id, port.held.fence, results, told=results if told is None else told)


def _report(caller: Caller, arguments: Mapping[str, Any]) -> Update | None:
    """The call, where it is a report of the caller's own task; what is wrong with it is for the tool to say."""
    try:
        given = Update.model_validate(clean_json(dict(arguments)))
    except ValidationError:
        return None
    mine = given.status == "completed" and parse_task_label(given.taskId) == caller.task_number
    return given if mine else None


async def _prove(port: Prover, wanted: list[Criterion], evidence: Mapping[str, Any]) -> list[Result]:
    run = await db.call(running.get, port.held.id)
    workspace = Path(run.team.workspace)
    found: list[Result] = []
    for one in wanted:
        if one.proof is Proof.CHECK:
            found.append(await _check(port, one, workspace))
        elif one.proof is Proof.ARTIFACT:
            said = criteria.evidence_for(one, evidence)
            found.append(await asyncio.to_thread(artifact, one, workspace, said))
    return found


async def _check(port: Prover, one: Criterion, workspace: Path) -> Result:
    home = home_of(port.held.id, port.held.fence)
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder = Path(
        tempfile.mkdtemp(prefix="check-", dir=home)
    )  # its own: an agent that reached its HOME could prepare a fixed one
    env = environment.for_check(home=folder, run_id=port.held.id, fence=port.held.fence)
    stop = asyncio.Event()
    watch = asyncio.create_task(port.directive_changed())
    watch.add_done_callback(lambda _: stop.set())
    try:
        ran = await checks.run(one.value, cwd=workspace, home=folder, env=env, limit_s=one.limit_s, stop=stop)
    finally:
        watch.cancel()
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)  # it may be large: a cache of what was installed
    ended = ran.why or (f"exit code {ran.exit_code}" if (ran.exit_code or 0) >= 0 else f"ended by signal {-(ran.exit_code or 0)}")
    last = f": {one_line(ran.tail.splitlines()[-1], 200)}" if ran.tail and ran.exit_code == 0 else ""
    says = f"`{one_line(one.value, 200)}`: {ended} after {ran.seconds:.1f} s{last}"
    return Result(one.number, Proof.CHECK, ran.exit_code == 0, says, ran.exit_code, ran.tail, round(ran.seconds, 1))


def artifact(one: Criterion, workspace: Path, evidence: str) -> Result:
    """Look for a file of the workspace, or for an address in the evidence; addresses are read, never fetched."""
    met, says = _address(one.value, evidence) if criteria.is_address(one.value) else _file(one.value, workspace)
    return Result(one.number, Proof.ARTIFACT, met, says)


def _address(start: str, evidence: str) -> tuple[bool, str]:
    words = (word.strip("<>()[]\"'.,;") for word in evidence.split())
    found = next((word for word in words if criteria.is_address(word) and addresses.below(word, start)), "")
    return (True, found) if found else (False, f"the evidence names no address below {start}")


def _file(name: str, workspace: Path) -> tuple[bool, str]:
    base, target = os.path.realpath(workspace), os.path.realpath(workspace / name)
    if os.path.commonpath([base, target]) != base:
        return False, f"{name} leads out of the workspace"
    try:
        if os.path.isdir(target):
            count = len(os.listdir(target))
            return count > 0, f"{name}: {count} entries" if count else f"{name} is an empty folder"
        size = os.stat(target).st_size if os.path.isfile(target) else None
    except OSError as error:
        return False, f"{name} cannot be read: {error.strerror}"
    if size is None:
        return False, f"{name} is not there"
    return size > 0, f"{name}: {size:,} bytes" if size else f"{name} is empty"
