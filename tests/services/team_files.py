"""A team with something of everything, its file, and what is stored of a team in a form that can be compared."""

import hashlib
import io
import json
import zipfile
from collections.abc import Callable

from tasks_app.models import Run, Team
from tasks_app.services import context, team_export, team_import
from tests import factories as make
from tests.services import world

EMOJI = "🧑‍🚀" * 60_000
"""More than a megabyte of UTF-8."""


def full(**team):
    """A team in the middle of its work."""
    crew = world.make(titles=("Build", "Check"), chain=True, **team)
    team, held = crew.team, crew.claim()
    folder = team.workspace
    session = "0f8fad5b-d9cb-469f-a165-70867728950e"
    Run.objects.filter(pk=held.id).update(session_id=session, started_session=True, cost_due=True)
    run = Run.objects.get(pk=held.id)
    make.StepFactory(run=run, text=f"I write {folder}/a.py for {run.pk}")
    make.StepFactory(run=run, text=EMOJI)
    make.MessageUsageFactory(run=run)
    make.CostReadingFactory(run=run)
    options = [{"label": "Give it to another", "effect": "", "action": f"reassign:{crew.agents[1].pk}"}]
    payload = {"problem": "p", "tried": [], "options": options, "recommendation": "", "auto": True}
    make.DecisionFactory(run=run, kind="escalation", payload=payload)
    first = make.MessageFactory(team=team, sender=crew.agents[0], recipient=crew.agents[1])
    make.MessageFactory(team=team, sender=crew.agents[1], recipient=crew.agents[0], reply_to=first, delivered_run=run.pk)
    by = context.Writer("user:lead")
    context.share(team.pk, name="large", value="x" * (10 * 2**20 - 2 if team.goal == "large" else 2**17), by=by)
    context.share(team.pk, name="small", value={"in": folder}, by=by)
    make.CheckpointFactory(team=team, run_id=run.pk, data={"runs": [{"id": run.pk, "session_id": session}]})
    line = {"type": "user", "uuid": "u1", "sessionId": session, "cwd": folder, "message": {"content": "\ud800 \0 " + run.pk}}
    make.TranscriptEntryFactory(session_id=session, uuid="u1", entry=json.dumps(line))
    make.TaskRuleFactory(task=crew.tasks[0])
    return crew


def export(team) -> io.BytesIO:
    out = io.BytesIO()
    team_export.write(team.pk, out)
    out.seek(0)
    return out


def load(file, name="", **words) -> Team:
    return team_import.load(file, name=name, user_id=None, actor="user:lead", **words)


def changed(file: io.BytesIO, change: Callable[[dict[str, bytes]], None]) -> io.BytesIO:
    """The file, changed by whoever knows the format: the hashes in its manifest are those of what it holds now."""
    with zipfile.ZipFile(file) as found:
        members = {name: found.read(name) for name in found.namelist()}
    change(members)
    return packed(members)


def edit(table, place, **values):
    """A change for `changed`: other values in the row at that place."""

    def change(members):
        name = f"rows/{table}.jsonl"
        found = [json.loads(line) for line in members[name].splitlines()]
        found[place] |= values
        members[name] = b"".join(json.dumps(row).encode() + b"\n" for row in found)

    return change


def packed(members: dict[str, bytes]) -> io.BytesIO:
    raw = members.get("manifest.json", b"")
    manifest = json.loads(raw) if raw.startswith(b"{") else {}
    for name, data in members.items():
        if name in manifest.get("members", {}):
            manifest["members"][name] |= {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in members.items():
            made.writestr(name, json.dumps(manifest) if name == "manifest.json" and manifest else data)
    out.seek(0)
    return out


def rows(file: io.BytesIO, table: str) -> list[dict]:
    with zipfile.ZipFile(file) as found:
        return [json.loads(line) for line in found.read(f"rows/{table}.jsonl").splitlines()]
