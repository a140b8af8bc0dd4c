"""What a run is given: its prompt, its rules, its environment; and no secret of ours."""

import os
import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from tasks_app.domain.errors import LeaseLost
from tasks_app.domain.estimate import ENOUGH
from tasks_app.domain.statuses import Scope
from tasks_app.execution import environment, prompts, spec
from tasks_app.models import Agent, ContextEntry, ContextRead, Run, Task, TaskRule, Team, TranscriptEntry
from tasks_app.services import context, deliveries, expiry, task_edits
from tasks_app.services.decisions import open_for_run
from tests import factories
from tests.services import world


@pytest.fixture
def real(monkeypatch):
    """A worker's environment with everything that must not get through, and what must."""
    for name, value in {
        "SECRET_KEY": "s3cret",
        "CREWDESK_SECRET_KEY": "s3cret",
        "DATABASE_URL": "postgres://u:p@h/db",
        "REDIS_URL": "redis://:p@h",
        "AWS_SECRET_ACCESS_KEY": "aws",
        "GITHUB_TOKEN": "ghp_x",
        "ANTHROPIC_API_KEY": "sk-ant-real",
        "CLAUDE_CODE_OAUTH_TOKEN": "oauth-real",
    }.items():
        monkeypatch.setenv(name, value)


def build(held):
    return spec.build(held.id, held.fence).spec


def test_the_first_prompt_says_all_that_is_known(crew):
    needed = factories.TaskFactory(team=crew.team, number=7, done=True, title="Schema", output="The table is `invoice`.")
    task_edits.add_dependencies(crew.tasks[0].pk, needs=[needed.pk], actor="user:ada")
    Task.objects.filter(pk=crew.tasks[0].pk).update(description="Make the page.", guidance="Use uv.")
    context.share(crew.team.pk, name="api.url", value="http://x", by=context.Writer("agent:builder-2"))
    dossier = {
        "attempt": 1,
        "agent": "builder-2",
        "reason": "reported",
        "error": "401",
        "approaches": ["key"],
        "diff": {"files": ["a.py"]},
    }
    factories.RunFactory(task=crew.tasks[0], team=crew.team, agent=crew.agents[1], failed=True, dossier=dossier)
    prompt = build(crew.claim()).prompt
    for words in (
        "[crewdesk:task T-1 attempt 2]",
        "Make the page.",
        "1. It works.",
        "T-7 Schema\nThe table is `invoice`.",
        'api.url (version 1, by builder-2): "http://x"',
        "Attempt 1 by builder-2: reported\n401\n- tried: key\n- changed files: a.py",
        "Guidance of the lead\nUse uv.",
        'taskId "1"',
        "mcp__crew__Escalate",
    ):
        assert words in prompt


def test_who_it_is_and_who_the_others_are_stands_in_the_system_prompt(crew):
    Agent.objects.filter(pk=crew.agents[0].pk).update(instructions="Write tests first.")
    text = build(crew.claim()).system_prompt
    for words in (
        "You are builder-1, builder",
        "Ship the billing feature.",
        "builder-2 (builder)",
        "Write tests first.",
        "never permission",
    ):
        assert words in text


def test_long_outputs_and_contexts_are_cut_and_say_so(crew):
    """N20"""
    needed = factories.TaskFactory(team=crew.team, number=7, done=True, output="🚀é漢" * 350_000)
    task_edits.add_dependencies(crew.tasks[0].pk, needs=[needed.pk], actor="user:ada")
    for number in range(20):
        context.share(crew.team.pk, name=f"n{number}", value="漢" * 5_000, by=context.Writer("agent:b"))
    prompt = build(crew.claim()).prompt
    assert len(prompt) < 40_000
    assert 'read it whole with mcp__crew__ReadContext, name "n19")' in prompt
    assert "15 more, not shown here: n14, n13," in prompt
    prompt.encode()


def test_the_prompt_tells_what_the_task_may_see_newest_first_and_notes_who_was_told(crew):
    for name, number, scope in (
        ("old", None, Scope.TEAM),
        ("mine", 1, Scope.TASK),
        ("theirs", 2, Scope.TASK),
        ("new", None, None),
    ):
        by = context.Writer("agent:b", task_number=number)
        context.share(crew.team.pk, name=name, value=name, by=by, scope=scope)
    context.share(crew.team.pk, name="over", value=1, by=context.Writer("agent:b"), ttl_s=60)
    ContextEntry.objects.filter(name="over").update(expires_at=world.now() - timedelta(days=1))
    held = crew.claim()
    prompt = build(held).prompt
    at = [prompt.index(f"- {name} (version 1") for name in ("new", "mine", "old")]
    assert at == sorted(at)
    assert "theirs" not in prompt
    assert "- over" not in prompt
    told = ContextRead.objects.values_list("entry__name", "reader", "run_id", "version", "how")
    assert set(told) == {(name, "builder-1", held.id, 1, "prompt") for name in ("new", "mine", "old")}


def test_rules_of_team_agent_and_task_are_joined(crew):
    Team.objects.update(permissions={"allow": ["Read"], "deny": ["Bash(rm:*)"]})
    Agent.objects.filter(pk=crew.agents[0].pk).update(permissions={"allow": ["Edit"], "ask": ["WebFetch"]})
    TaskRule.objects.create(task=crew.tasks[0], rule="Bash(make:*)", by="ada", at=world.now())
    found = build(crew.claim())
    assert (found.allow, found.deny, found.ask) == (("Read", "Edit", "Bash(make:*)"), ("Bash(rm:*)",), ("WebFetch",))


@pytest.mark.parametrize(
    ("task", "agent", "approved", "expected"),
    [
        (None, True, False, True),
        (None, False, False, False),
        (False, True, False, False),
        (True, False, False, True),
        (True, True, True, False),
    ],
)
def test_plan_mode_is_the_tasks_choice_else_the_agents_and_over_when_approved(crew, task, agent, approved, expected):
    Task.objects.update(plan_mode=task)
    Agent.objects.update(plan_mode=agent)
    held = crew.claim()
    Run.objects.update(plan_approved=approved)
    assert build(held).plan_mode is expected


def test_limits_models_and_tools_come_from_team_agent_and_run(crew):
    Team.objects.update(limits={"turns": 40}, budget_usd=5, used_usd=2)
    Agent.objects.update(model="sonnet", tools=["Read", "Bash"])
    held = crew.claim()
    found = build(held)
    assert (found.model, found.max_turns, found.builtin_tools) == ("sonnet", 40, ("Read", "Bash"))
    assert found.max_budget_usd == pytest.approx(2.0), "until 80 %, where it is to be told"
    assert len(found.tools) == 13
    Run.objects.update(model_override="haiku", budget_waived=True)
    found = build(held)
    assert (found.model, found.max_budget_usd) == ("haiku", None)


def stored(session):
    TranscriptEntry.objects.create(project_key="p", session_id=session, uuid="1", entry="{}", mtime_ms=1)


def test_a_session_that_the_database_holds_is_resumed_and_another_starts_anew(crew):
    held = crew.claim()
    session = str(uuid.uuid4())
    Run.objects.update(session_id=session, started_session=True)
    assert build(held).session_id is None, "nothing of it is stored"
    stored(session)
    found = build(held)
    assert found.session_id == session
    assert "You go on with T-1 Build." in found.prompt


def test_an_agent_goes_on_in_its_session_while_there_is_room_and_else_is_told_what_it_did(crew):
    stored("own")
    Agent.objects.update(session_id="own", handover="- T-9 Schema: done", context_tokens=100_000, context_window=200_000)
    held = crew.claim()
    found = build(held)
    assert (found.session_id, "T-9 Schema" in found.prompt) == ("own", False)
    assert "[crewdesk:task T-1 attempt 1]" in found.prompt
    Agent.objects.update(context_tokens=160_000)
    found = build(held)
    assert (found.session_id, "Where you left off\n- T-9 Schema: done" in found.prompt) == (None, True)


def test_a_task_that_is_known_to_need_more_than_is_left_starts_a_fresh_session(crew):
    stored("own")
    Agent.objects.update(session_id="own", handover="- T-9 Schema: done", context_tokens=100_000, context_window=200_000)
    held, ended = crew.claim(), timezone.now()
    for _ in range(ENOUGH):
        assert build(held).session_id == "own", "too few like it are known"
        known = {"context_first": 40_000, "context_peak": 180_000}
        factories.RunFactory(ended=True, started_at=ended - timedelta(minutes=9), ended_at=ended, **known)
    found = build(held)
    assert (found.session_id, "Where you left off\n- T-9 Schema: done" in found.prompt) == (None, True)
    Agent.objects.filter(pk=held.agent_id).update(context_tokens=10_000)
    assert build(held).session_id == "own"


def test_no_secret_of_the_worker_reaches_a_process_but_the_key_it_needs(crew, real):
    env = build(crew.claim()).env
    assert env["ANTHROPIC_API_KEY"] == "sk-ant-real"
    assert env["CLAUDE_CODE_OAUTH_TOKEN"] == "oauth-real"
    assert not {"SECRET_KEY", "CREWDESK_SECRET_KEY", "DATABASE_URL", "REDIS_URL", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN"} & set(
        env
    )
    assert not [name for name, value in env.items() if value in ("s3cret", "ghp_x", "aws")]


def test_a_rehearsal_gets_no_real_key_at_all(crew, real):
    Team.objects.update(rehearsal=True)
    held = crew.claim()
    prepared = spec.build(held.id, held.fence)
    try:
        env = prepared.spec.env
        assert env["ANTHROPIC_BASE_URL"].startswith("http://127.0.0.1:")
        assert env["ANTHROPIC_API_KEY"] == "rehearsal"
        assert not [name for name, value in env.items() if value in ("sk-ant-real", "oauth-real", "s3cret", "aws")]
        assert prepared.spec.max_budget_usd is None
    finally:
        spec.release(prepared)
    assert not spec.home_of(held.id, held.fence).exists()


def test_every_life_has_a_private_folder_of_its_own_and_a_marker(crew, home):
    held = crew.claim()
    env = build(held).env
    for name in ("HOME", "CLAUDE_CONFIG_DIR", "TMPDIR"):
        assert env[name].startswith(str(home))
        assert os.stat(env[name]).st_mode & 0o077 == 0
    later = world.next_life(held)
    other = build(later).env
    assert not os.path.exists(env["HOME"]), "what a killed life left is removed by the next"
    with pytest.raises(LeaseLost):
        build(held)
    assert os.path.exists(other["HOME"]), "a stale life removes nothing of a later one"
    assert (env["CREWDESK_RUN"], other["CREWDESK_RUN"]) == (f"{held.id}:1", f"{held.id}:2")
    assert env["HOME"] != other["HOME"]


CLOUD_KEYS = {"BEDROCK": "AWS_SECRET_ACCESS_KEY", "VERTEX": "GOOGLE_APPLICATION_CREDENTIALS", "FOUNDRY": "AZURE_CLIENT_SECRET"}


@pytest.mark.parametrize("asked", ["", *CLOUD_KEYS])
def test_an_agent_gets_the_credentials_of_the_cloud_that_has_its_model_and_of_no_other(tmp_path, monkeypatch, asked):
    for cloud, name in CLOUD_KEYS.items():
        monkeypatch.setenv(name, "secret")
        monkeypatch.setenv(f"CLAUDE_CODE_USE_{cloud}", "1" if cloud == asked else "")
    env = environment.for_run(home=tmp_path / "h", run_id="a1", fence=1, rehearsal_url=None)
    assert [name for name in CLOUD_KEYS.values() if name in env] == ([CLOUD_KEYS[asked]] if asked else [])
    if asked:
        assert environment.key_source() == "a cloud provider in the environment"


def test_where_the_key_comes_from_is_said_in_words(tmp_path, monkeypatch):
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    assert environment.key_source() == ""
    (tmp_path / ".credentials.json").write_text("{}")
    assert environment.key_source() == "a signed-in Claude Code"
    env = environment.for_run(home=tmp_path / "h", run_id="a1", fence=1, rehearsal_url=None)
    assert os.path.exists(f"{env['CLAUDE_CONFIG_DIR']}/.credentials.json")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk")
    assert environment.key_source() == "an API key in the environment"


def test_a_request_that_expired_is_told_as_what_it_is_and_never_as_the_leads_word(crew):
    """N25, N26: nobody answered is neither allowed nor denied by a person."""
    Team.objects.update(limits={"decision_timeout_s": 600})
    held = crew.claim()
    decision = open_for_run(held.id, held.fence, world.ask())
    type(decision).objects.update(expires_at=factories.ago(seconds=1))
    expiry.expire_due()
    told = prompts.going_on(spec.runs.get(held.id), deliveries.undelivered(held.id), interrupted_call="")
    assert "[crewdesk:answered toolu_1]" in told
    assert "Nobody answered in time" in told
    assert "not consent" in told
    assert "The lead DENIED" not in told
    assert "ALLOWED" not in told


def test_an_unknown_run_is_not_found(crew):
    with pytest.raises(Exception, match="does not exist"):
        spec.build("a00000000", 1)
