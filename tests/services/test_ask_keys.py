"""What makes a request the same one again: in a later life of its run, after its team came from a file, after an upgrade."""

import json
from hashlib import sha256

import pytest

from tasks_app.domain.statuses import DecisionKind
from tasks_app.models import Decision
from tasks_app.services import actions, claims, decisions
from tests.services import world
from tests.services.asking import opened
from tests.services.team_files import export, full, load

pytestmark = [pytest.mark.django_db, pytest.mark.files]


def write(workspace, end, kind=DecisionKind.PERMISSION):
    said = f"{workspace}: a{end}b{end}"
    if kind is DecisionKind.PLAN:
        return world.ask(kind, plan=said)
    return world.ask(kind, tool="Write", input={"file_path": f"{workspace}/a.txt", "content": said})


@pytest.mark.parametrize("kind", [DecisionKind.PERMISSION, DecisionKind.PLAN])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\xa0", "\u202e"], ids=ascii)
def test_a_request_that_came_from_a_file_is_found_by_the_call_that_asks_it_again(tmp_path, settings, end, kind):
    settings.HOME = tmp_path / "home"
    settings.HOME.mkdir(mode=0o700)
    (tmp_path / "project").mkdir()
    old = full(workspace=str(tmp_path / "project"), name="Atlas", slug="atlas").team
    Decision.objects.all().delete()
    run = old.runs.get()
    decisions.open_for_run(run.pk, run.fence, write(old.workspace, end, kind))
    new = load(export(old), "Copy")
    decision = new.decisions.get()
    world.answer(decision, "allow" if kind is DecisionKind.PERMISSION else "approve")
    actions.resume_team(new.pk, actor="user:lead")
    held = claims.claim(new.runs.get().pk, worker="w", host="h")
    assert held is not None
    again = decisions.open_for_run(held.id, held.fence, write(new.workspace, end, kind))
    assert (again.pk, again.status) == (decision.pk, "answered"), "the lead is not asked a second time"


def test_two_keys_of_one_length_are_two_requests():
    held, first = opened(input={"command": "deploy --token=Aa1Bb2Cc3Dd4"})
    second = decisions.open_for_run(held.id, held.fence, world.ask(input={"command": "deploy --token=Zz9Yy8Xx7Ww6"}))
    assert first.payload == second.payload
    assert first.pk != second.pk


def test_what_an_earlier_version_asked_is_found_by_the_sum_that_it_kept():
    given = {"command": "a\r\n"}
    held, first = opened(input=given)
    raw = json.dumps(["permission", {"input": given, "tool": first.payload["tool"]}])
    Decision.objects.update(ask_key=sha256(raw.encode()).hexdigest())
    assert decisions.open_for_run(held.id, held.fence, world.ask(input=given)).pk == first.pk
