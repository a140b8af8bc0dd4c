"""A plan's sandbox reaches every life of its runs, and a machine that cannot make one refuses the plan in words."""

import pytest

from tasks_app.domain.errors import Invalid
from tasks_app.execution import spec
from tasks_app.models import Team
from tasks_app.services import actions, workspaces
from tasks_app.services.teams import Source
from tests.services import world
from tests.services.test_actions import plan


@pytest.mark.parametrize("sandbox", [True, False])
@pytest.mark.django_db
def test_the_team_s_sandbox_is_that_of_its_runs(sandbox, settings, tmp_path):
    settings.HOME = tmp_path / "home"
    crew = world.make()
    world.workspace(crew.team, tmp_path / "work")
    Team.objects.update(limits={"sandbox": sandbox})
    held = crew.claim()
    assert spec.build(held.id, held.fence).spec.sandbox is sandbox


def test_where_bubblewrap_is_missing_the_refusal_names_it_and_the_field(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(Invalid, match="bwrap and socat not found") as refused:
        workspaces.must_isolate()
    assert refused.value.field == "limits.sandbox"


def test_a_plan_with_a_sandbox_does_not_start_without_one_and_leaves_nothing_behind(monkeypatch, tmp_path, settings, db):
    settings.HOME = tmp_path / "home"
    monkeypatch.setenv("PATH", "/nonexistent")
    wanted = plan(limits={"sandbox": True})
    with pytest.raises(Invalid, match="cannot run a sandbox"):
        actions.start_team(wanted, source=Source("text", tmp_path), user_id=None, rehearsal=True, actor="user:ada")
    assert not Team.objects.exists()
    assert workspaces.taken() == set()


def test_where_namespaces_are_forbidden_the_refusal_says_so(monkeypatch, tmp_path):
    for name in ("bwrap", "socat"):
        (tmp_path / name).write_text("#!/bin/sh\necho No permissions to create new namespace >&2\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(Invalid, match="No permissions to create new namespace"):
        workspaces.must_isolate()


@pytest.mark.parametrize("allowed", [True, False])
def test_a_mac_needs_no_bubblewrap_only_its_own_sandbox(monkeypatch, tmp_path, allowed):
    program = tmp_path / "sandbox-exec"
    program.write_text("#!/bin/sh\n" + ("exit 0\n" if allowed else "echo Operation not permitted >&2\nexit 71\n"))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    monkeypatch.setattr("sys.platform", "darwin")
    if allowed:
        workspaces.must_isolate()
        return
    with pytest.raises(Invalid, match=r"Operation not permitted\. Or leave sandbox out") as refused:
        workspaces.must_isolate()
    assert refused.value.field == "limits.sandbox"
