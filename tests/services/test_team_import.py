"""A team from its file: whole or not at all, with ids of its own, and able to go on."""

import io
import json
import zipfile
from pathlib import Path

import pytest
from django.apps import apps

from tasks_app.decision_kinds.base import payload_hash
from tasks_app.domain import checkpoint
from tasks_app.domain.errors import Conflict, Invalid, TooLarge
from tasks_app.domain.leases import NEVER
from tasks_app.models import Agent, Checkpoint, ContextChunk, Decision, Event, Message, Run, Step, Team, TranscriptEntry
from tasks_app.selectors.checkpoints import mark
from tasks_app.services import actions, checkpoints, claims, context, snapshots, team_export, team_tables, workspaces
from tests.services import team_files, world
from tests.services.team_files import changed, edit, export, full, load, rows

pytestmark = [pytest.mark.django_db, pytest.mark.files]


@pytest.fixture(autouse=True)
def home(tmp_path, settings):
    settings.HOME = tmp_path / "home"
    settings.HOME.mkdir(mode=0o700)


@pytest.fixture
def crew(tmp_path):
    work = tmp_path / "project"
    work.mkdir()
    (work / "a.py").write_text("a = 1\n")
    return full(workspace=str(work), name="Atlas", slug="atlas")


def stored():
    return {m.__name__: list(m._default_manager.order_by("pk").values()) for m in apps.get_app_config("tasks_app").get_models()}


def test_every_table_is_in_the_file_or_said_not_to_be():
    known = {table.model for table in team_tables.ALL} | {*team_tables.NOT_OF_A_TEAM, *team_tables.OTHERWISE}
    assert set(apps.get_app_config("tasks_app").get_models()) - known == set()


def test_a_copy_is_a_team_of_its_own_with_everything_and_other_ids(crew):
    team = load(export(crew.team), "Atlas again")
    assert (team.name, team.slug, team.status, team.workspace_mode) == ("Atlas again", "atlas-again", "paused", "copy")
    assert Path(team.workspace) == workspaces.root("atlas-again") / "work"
    assert (Path(team.workspace) / "a.py").read_text() == "a = 1\n"
    for name in ("tasks", "agents", "runs", "decisions", "messages", "context", "checkpoints"):
        old, new = (getattr(one, name) for one in (crew.team, team))
        assert old.count() == new.count() > 0, name
        assert not {*old.values_list("pk", flat=True)} & {*new.values_list("pk", flat=True)}


def test_what_refers_to_something_refers_to_the_copy(crew):
    team = load(export(crew.team), "Copy")
    run, ada = team.runs.get(), team.agents.get(name="builder-2")
    assert run.task.team == run.agent.team == team
    step = Step.objects.filter(run=run).first()
    assert step.text == f"I write {team.workspace}/a.py for {run.pk}"
    assert Step.objects.filter(run=run, text=team_files.EMOJI).exists()
    assert team.decisions.get().payload["options"][0]["action"] == f"reassign:{ada.pk}"
    answer = Message.objects.get(team=team, reply_to__isnull=False)
    assert (answer.reply_to.team, answer.delivered_run) == (team, run.pk)
    line = TranscriptEntry.objects.get(session_id=run.session_id)
    entry = json.loads(line.entry)
    assert entry == {"type": "user", "uuid": "u1", "sessionId": run.session_id, "cwd": team.workspace} | {
        "message": {"content": f"\ud800 \0 {run.pk}"}
    }
    assert team.checkpoints.get().data == {"runs": [{"id": run.pk, "session_id": run.session_id}]}
    assert team.context.get(name="small").value == {"in": team.workspace}
    assert b"".join(bytes(c.data) for c in ContextChunk.objects.filter(blob__team=team).order_by("position")).startswith(b'"xxx')


def test_the_copys_checkpoints_can_be_restored_and_a_damaged_one_stays_damaged(crew):
    context.share(crew.team.pk, name="place", value={"in": crew.team.workspace}, by=context.Writer("user:lead"))
    kept = checkpoints.save(crew.team.pk, name="Before", by="user:lead")
    spoilt = checkpoints.save(crew.team.pk, name="Spoilt", by="user:lead")
    Checkpoint.objects.filter(pk=spoilt.pk).update(data={**spoilt.data, "last_seq": 1})
    team = load(export(crew.team), "Copy")
    own = team.checkpoints.get(name="Before")
    content = checkpoint.read(own.data, team=mark(team))
    assert [one.id for one in content.runs] == [run.pk for run in team.runs.all()]
    assert snapshots.holds(team.slug, content.workspace)
    (place,) = [one for one in content.context if one.name == "place"]
    assert (json.loads(place.json_text), checkpoint.digest(place.json_text)) == ({"in": team.workspace}, place.digest)
    assert own.blobs.count() == Checkpoint.objects.get(pk=kept.pk).blobs.count() == 1
    with pytest.raises(Invalid, match="is damaged"):
        checkpoint.read(team.checkpoints.get(name="Spoilt").data, team=mark(team))
    with pytest.raises(Invalid, match="of another team"):
        checkpoint.read(own.data, team=mark(crew.team))


def test_nothing_runs_in_a_copy_and_what_waits_goes_on_waiting(crew):
    team = load(export(crew.team), "Copy")
    run = team.runs.get()
    assert (run.status, run.due_at, run.worker, run.pid, run.lease_until) == ("pending", NEVER, "", 0, 0)
    assert team.decisions.get().parked
    assert (run.cost_due, run.cost_partial) == (False, True)
    assert claims.claim(run.pk, worker="w", host="h") is None
    assert Run.objects.get(pk=crew.team.runs.get().pk).status == "running", "the one it was copied from goes on"


def test_a_copy_goes_on_once_it_is_resumed_and_is_claimed_once(crew):
    Decision.objects.all().delete()
    team = load(export(crew.team), "Copy")
    assert claims.claim(team.runs.get().pk, worker="w", host="h") is None
    actions.resume_team(team.pk, actor="user:lead")
    assert claims.claim(team.runs.get().pk, worker="w", host="h").fence == 2
    assert claims.claim(team.runs.get().pk, worker="v", host="h") is None


def test_the_log_goes_on_without_a_gap(crew):
    team = load(export(crew.team), "Copy")
    events = list(Event.objects.filter(team=team).order_by("seq").values_list("seq", "kind"))
    assert [seq for seq, _ in events] == list(range(1, team.last_seq + 1))
    assert events[-1][1] == "team.imported"


def test_a_file_holds_no_password_and_no_folder_of_this_machine(crew):
    made = export(crew.team)
    told = b"".join(json.dumps(row).encode() for t in team_tables.ALL for row in rows(made, t.name))
    for word in (b"password", b"pbkdf2", str(crew.team.workspace).encode()):
        assert word not in told, word


def test_what_is_exported_again_is_the_same(crew):
    first = export(crew.team)
    again = export(load(export(crew.team), "Copy", same=False))
    for table in team_tables.TABLES:
        assert len(rows(first, table.name)) + (table.name == "events") == len(rows(again, table.name))
    assert rows(first, "steps")[1] == {**rows(again, "steps")[1], "run_id": rows(first, "steps")[1]["run_id"]}


def test_a_name_in_use_is_refused_with_a_suggestion_and_nothing_changes(crew):
    file, before = export(crew.team), stored()
    with pytest.raises(Conflict) as refused:
        load(file)
    assert (refused.value.field, "atlas-2" in refused.value.message.lower()) == ("name", True)
    assert stored() == before


def test_a_request_from_a_file_is_shown_as_any_other(crew):
    payload = {"problem": "a \u202e b", "options": [{"label": "x\u200b"}]}
    file = changed(export(crew.team), edit("decisions", 0, payload=payload, title="a \u202e\x1b[8m"))
    found = load(file, "Copy").decisions.get()
    assert found.payload == {"problem": "a ⟨U+202E⟩ b", "options": [{"label": "x⟨U+200B⟩"}]}
    assert (found.title, found.payload_hash) == ("a ⟨U+202E⟩⟨U+001B⟩[8m", payload_hash(found.payload))


def drop(name):
    return lambda members: members.pop(name)


def put(name, data):
    return lambda members: members.update({name: data})


def manifest(**values):
    return lambda m: m.update({"manifest.json": json.dumps({**json.loads(m["manifest.json"]), **values}).encode()})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (edit("tasks", 1, title=7), "line 2: rows/tasks.jsonl: title: It is no text"),
        (edit("tasks", 0, title="x" * 201), "at most 200"),
        (edit("tasks", 0, status="done"), "line 1: rows/tasks.jsonl: status"),
        (edit("tasks", 0, assignee_id=77), "line 1: rows/tasks.jsonl: assignee_id: It names no row of agents"),
        (edit("tasks", 0, unheard_of=1), "unheard_of: This Crewdesk knows no such column"),
        (edit("runs", 0, status="running"), "line 1: rows/runs.jsonl: status"),
        (edit("runs", 0, agent_id=True), "agent_id"),
        (edit("runs", 0, created_at="yesterday"), "created_at: It is no date"),
        (edit("runs", 0, fence=2**40), "fence: It is no whole number"),
        (edit("agents", 0, used_usd="NaN"), "used_usd: It is no amount"),
        (edit("tasks", 0, budget_usd="99999999.99999"), "budget_usd: It is no amount"),
        (edit("agents", 1, name="builder-1"), "does not fit together"),
        (edit("events", 1, seq=9), "line 2: rows/events.jsonl: seq: The log has a gap"),
        (edit("team", 0, last_seq=1), "last_seq"),
        (edit("transcripts", 0, entry="{"), "rows/transcripts.jsonl: entry: It is no JSON"),
        (edit("context_blobs", 0, digest="0" * 64), "digest"),
        (edit("context_names", 0, schema=7), "line 1: rows/context_names.jsonl: schema: must be a mapping"),
        (edit("context_names", 1, schema={"type": "nonsense"}), "line 2: rows/context_names.jsonl: schema.type"),
        (
            edit("context_names", 0, schema={"properties": {"port": {"pattern": "(a)\\1"}}}),
            "line 1: rows/context_names.jsonl: schema.properties.port.pattern: is no regular expression of linear time. Leave",
        ),
        (
            edit("context_names", 0, schema={"$ref": "https://elsewhere.example/"}),
            "schema.$ref: must point into the schema",
        ),
        (edit("context_names", 0, schema={"title": "x" * 20_001}), "schema: is longer than 20,000 characters"),
        (put("rows/steps.jsonl", b"{\n"), "line 1: rows/steps.jsonl: The line is no JSON"),
        (put("rows/steps.jsonl", b'{"a":' * 100_000), "rows/steps.jsonl"),
        (put("rows/steps.jsonl", b""), "not as many rows"),
        (drop("rows/steps.jsonl"), "rows/steps.jsonl: It is missing"),
        (drop("manifest.json"), "no manifest"),
        (put("../../etc/passwd", b"x"), "is no name"),
        (put("/etc/passwd", b"x"), "is no name"),
        (put("blobs/" + "1" * 64, b"x"), "The manifest does not know it"),
        (put("workspace/snapshots.bundle", b"no bundle"), "git does not take it"),
        (manifest(version=2, crewdesk="9.0"), "Crewdesk 9.0 has made it"),
        (manifest(format="zip"), "no file of a Crewdesk team"),
        (put("manifest.json", b"[" * 100_000), "manifest.json: It is no JSON"),
    ],
)
def test_a_wrong_file_is_refused_with_its_place_and_nothing_is_written(crew, change, says):
    file, before = changed(export(crew.team), change), stored()
    with pytest.raises(Invalid) as refused:
        load(file, "Copy")
    assert says in refused.value.message
    assert refused.value.field == "file"
    assert stored() == before
    assert not workspaces.root("copy").exists()


@pytest.mark.parametrize("cut", [0, 10, 0.5, 0.99])
def test_a_file_that_is_cut_off_is_refused(crew, cut):
    whole = export(crew.team).getvalue()
    with pytest.raises(Invalid, match="no zip file, or not a whole one"):
        load(io.BytesIO(whole[: int(len(whole) * cut) if cut < 1 else cut]), "Copy")


def test_a_changed_byte_is_found_by_its_hash(crew):
    file = export(crew.team)
    with pytest.raises(Invalid, match=r"rows/tasks.jsonl: It is (damaged|not what)"):
        load(_with_other_bytes(file), "Copy")


def _with_other_bytes(file):
    out = io.BytesIO()
    with zipfile.ZipFile(file) as found, zipfile.ZipFile(out, "w") as made:
        for name in found.namelist():
            data = found.read(name)
            made.writestr(name, data.replace(b"Build", b"Burnt") if name == "rows/tasks.jsonl" else data)
    return out


def test_a_bomb_is_refused_before_it_is_unpacked(crew):
    file = changed(export(crew.team), put("rows/steps.jsonl", b"\n" * (300 * 2**20)))
    with pytest.raises(TooLarge):
        load(file, "Copy")


def test_a_foreign_file_is_refused(tmp_path):
    with pytest.raises(Invalid, match="no zip file"):
        load(io.BytesIO(b"\x1f\x8b something else" * 100), "Copy")


def test_a_blob_of_ten_megabytes_arrives_whole(tmp_path):
    crew = full(goal="large", workspace=str(tmp_path / "gone"), name="Big", slug="big")
    team = load(export(crew.team), "Copy")
    sizes = [len(bytes(c.data)) for c in ContextChunk.objects.filter(blob__team=team)]
    assert sum(sizes) == 10 * 2**20
    assert not any(Path(team.workspace).iterdir()), "its folder was gone: there are no files"


@pytest.mark.django_db(transaction=True)
def test_of_two_imports_at_once_of_one_name_one_is_refused(crew):
    data = export(crew.team).getvalue()
    found = world.at_once(2, lambda n: load(io.BytesIO(data), "Copy"))
    assert sorted(type(one).__name__ for one in found) == ["Conflict", "Team"]
    assert Team.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_an_export_is_of_one_moment_while_others_write(crew, monkeypatch):
    real, written = team_export._table, []

    def while_somebody_writes(table, team, places, leave):
        if table.name == "events" and not written:
            written.extend(world.at_once(1, lambda n: actions.pause_team(crew.team.pk, actor="user:lead")))
        return real(table, team, places, leave)

    monkeypatch.setattr(team_export, "_table", while_somebody_writes)
    team = load(export(crew.team), "Copy")
    assert not isinstance(written[0], Exception)
    assert "team.paused" not in world.kinds(team)
    assert Team.objects.get(pk=crew.team.pk).status == "paused"
    assert Agent.objects.filter(team=team).count() == 2
