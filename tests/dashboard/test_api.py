"""The API: the same actions as the pages, one shape of error, never a 500."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tasks_app.domain.statuses import DecisionStatus, TaskStatus
from tasks_app.models import Team
from tasks_app.services import task_edits
from tests import factories

pytestmark = pytest.mark.django_db

PLAN = """
team: Small
agents: [{name: ada, role: dev}]
tasks: [{title: One, criteria: [it works]}]
"""


@pytest.fixture
def lead(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("lead"))
    return client


def post(client: Client, path: str, body: Any) -> Any:
    return client.post(f"/api/{path}", data=json.dumps(body), content_type="application/json")


@pytest.mark.parametrize("budget", [{"budget_usd": 1e9}, {"budget_usd": float("inf")}, {"budget_usd": float("nan")},
                                    {"budget_usd": 0.00001}, {"budget_tokens": 10**30}])  # fmt: skip
def test_a_budget_that_no_plan_may_have_is_refused_and_the_team_can_still_be_seen(lead: Client, budget: dict[str, float]) -> None:
    factories.AgentFactory(team=factories.TeamFactory(slug="atlas"), name="ada", role="builder")
    refused = post(lead, "teams/atlas/tasks", {"title": "Fix it", "criteria": ["It is there"], **budget})
    assert (refused.status_code, refused.json()["error"]["field"].split(".")[-1]) == (422, *budget)
    assert lead.get("/teams/atlas/").status_code == 200


def test_the_plan_of_a_running_team_is_changed(lead: Client) -> None:
    team = factories.TeamFactory(slug="atlas")
    factories.AgentFactory(team=team, name="ada", role="builder")
    first = factories.TaskFactory(team=team, number=1, in_progress=True)
    type(team).objects.update(last_task_number=1)
    body = {"title": "Fix things", "criteria": ["check: pytest -q"], "depends_on": ["T-1"], "minutes": [5, 20], "budget_usd": 2}
    made = post(lead, "teams/atlas/tasks", body)
    assert made.status_code == 201, made.content
    assert made.json()["id"] == "T-2"
    assert "vague_title" in {one["code"] for one in made.json()["findings"]}
    task = team.tasks.get(number=2)
    assert (task.criteria, task.expected_max, [d.needs_id for d in task.dependencies.all()]) == (
        [{"check": "pytest -q"}],
        20,
        [first.pk],
    )
    path = f"tasks/{task.pk}"
    edited = lead.patch(f"/api/{path}", data=json.dumps({"title": "Export", "assignee": "ada"}), content_type="application/json")
    assert edited.status_code == 200, edited.content
    task.refresh_from_db()
    assert (task.title, task.assignee.name, task.criteria) == ("Export", "ada", [{"check": "pytest -q"}])
    assert lead.delete(f"/api/{path}/dependencies/T-1").status_code == 200
    assert lead.delete(f"/api/{path}/dependencies/T-1").json()["error"]["code"] == "conflict"
    assert post(lead, f"{path}/dependencies", {"needs": ["T-1"]}).status_code == 200
    circle = post(lead, f"tasks/{first.pk}/dependencies", {"needs": ["T-2"]})
    assert (circle.status_code, circle.json()["error"]["field"]) == (422, "depends_on")
    assert "T-1 → T-2 → T-1" in circle.json()["error"]["message"]
    unknown = post(lead, "teams/atlas/tasks", {**body, "depends_on": ["T-9"]})
    assert "There are T-1 to T-2" in unknown.json()["error"]["message"]
    late = lead.patch(f"/api/tasks/{first.pk}", data="{}", content_type="application/json")
    assert late.status_code == 409


def test_who_may_only_watch_changes_no_plan(client: Client) -> None:
    task = factories.TaskFactory()
    client.force_login(factories.TeamAccessFactory(team=task.team, level="viewer").user)
    assert post(client, f"teams/{task.team.slug}/tasks", {"title": "A", "criteria": ["b"]}).status_code == 403
    assert client.patch(f"/api/tasks/{task.pk}", data="{}", content_type="application/json").status_code == 403
    assert client.delete(f"/api/tasks/{task.pk}/dependencies/T-1").status_code == 403


def test_nobody_gets_401_in_the_shape_of_every_error(client: Client) -> None:
    answer = client.get("/api/teams")
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "sign_in_required"


def test_a_post_without_the_csrf_token_is_refused() -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.create_superuser("lead"))
    assert post(client, "teams", {"plan": PLAN, "rehearse": True}).status_code == 403


def test_a_plan_starts_a_team_and_its_status_and_events_can_be_read(lead: Client) -> None:
    made = post(lead, "teams", {"plan": PLAN, "rehearse": True})
    assert made.status_code == 201, made.content
    slug = made.json()["slug"]
    assert [t["title"] for t in lead.get(f"/api/teams/{slug}").json()["tasks"]] == ["One"]
    events = lead.get(f"/api/teams/{slug}/events?after=1").json()
    assert events["events"][0]["seq"] == 2
    assert events["last_seq"] == events["events"][-1]["seq"]
    first = lead.get(f"/api/teams/{slug}/events?limit=1").json()["events"][0]
    assert first["text"].startswith("Lead started the team "), "the sentence of History"


@pytest.mark.parametrize(
    ("setting", "said", "rehearsed"),
    [
        (True, {}, True),
        (False, {"rehearse": True}, True),
        (False, {}, None),
        (True, {"rehearse": False}, None),
        (True, {"rehearse": None}, True),
    ],
)
def test_a_team_is_rehearsed_as_the_settings_say_unless_said_otherwise(
    lead: Client, settings: Any, setting: bool, said: Any, rehearsed: bool | None
) -> None:
    """There is no key in the tests, so a team of real agents is refused."""
    settings.REHEARSE = setting
    answer = post(lead, "teams", {"plan": PLAN, **said})
    assert answer.status_code == (201 if rehearsed else 422), answer.content
    assert Team.objects.values_list("rehearsal", flat=True).first() is rehearsed


def test_a_bad_plan_names_every_problem_with_its_line(lead: Client) -> None:
    answer = post(lead, "teams", {"plan": "team: X\nagents: []\ntasks: [{title: A, criteria: []}]\n", "rehearse": True})
    assert answer.status_code == 422
    problems = answer.json()["error"]["problems"]
    assert {p["path"] for p in problems} >= {"agents", "tasks[0].criteria"}
    assert all(p["line"] for p in problems)


def test_a_plan_from_the_network_cannot_name_folders_of_the_server(lead: Client) -> None:
    answer = post(lead, "teams", {"plan": PLAN + "workspace: /etc\n", "rehearse": True})
    assert answer.status_code == 422
    assert "cannot name folders" in answer.json()["error"]["message"]


def test_a_blocked_task_can_be_neither_started_nor_completed_and_the_refusal_names_the_blocker(lead: Client) -> None:
    """N03 by the API."""
    team = factories.TeamFactory()
    agent = factories.AgentFactory(team=team, name="ada")
    first, second = factories.TaskFactory(team=team, title="A"), factories.TaskFactory(team=team, title="B")
    task_edits.add_dependencies(second.pk, needs=[first.pk], actor="user:lead")
    for verb, body in (("start", {"agent": agent.name}), ("complete", {"note": "done"})):
        answer = post(lead, f"tasks/{second.pk}/{verb}", body)
        assert answer.status_code == 409
        assert answer.json()["error"]["code"] == "blocked"
        assert f"{first.label} A" in answer.json()["error"]["message"]
    second.refresh_from_db()
    assert second.status == TaskStatus.PENDING.value


def test_the_second_answer_is_refused_and_names_the_first(lead: Client) -> None:
    decision = factories.DecisionFactory()
    shown = lead.get(f"/api/decisions/{decision.pk}").json()
    body = {"choice": "allow", "version": shown["version"], "payload_hash": shown["payload_hash"]}
    assert post(lead, f"decisions/{decision.pk}/answer", body).status_code == 200
    again = post(lead, f"decisions/{decision.pk}/answer", {**body, "choice": "deny"})
    assert again.status_code == 409
    assert "Already decided by lead" in again.json()["error"]["message"]
    decision.refresh_from_db()
    assert (decision.status, decision.choice) == (DecisionStatus.ANSWERED.value, "allow")


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("teams", {"plan": PLAN, "rehaerse": True}, "rehaerse"),
        ("teams", {"rehearse": True}, "plan"),
        ("decisions/d00000000/answer", {"choice": "allow", "version": "x", "payload_hash": ""}, "version"),
    ],
)
def test_a_bad_body_is_refused_with_the_field(lead: Client, path: str, body: Any, field: str) -> None:
    answer = post(lead, path, body)
    assert answer.status_code == 422
    assert field in answer.json()["error"]["message"]


def test_a_viewer_may_read_and_not_act_and_a_stranger_sees_nothing(client: Client) -> None:
    team = factories.TeamFactory()
    user = User.objects.create_user("vera")
    client.force_login(user)
    assert client.get(f"/api/teams/{team.slug}").status_code == 404
    factories.TeamAccessFactory(team=team, user=user, level="viewer")
    assert client.get(f"/api/teams/{team.slug}").status_code == 200
    assert client.post(f"/api/teams/{team.slug}/pause").status_code == 403


def test_the_hand_over_of_a_task_is_read_and_its_guidance_is_set_under_a_version(lead: Client, client: Client) -> None:
    task = factories.TaskFactory(title="Payment API")
    told = lead.get(f"/api/tasks/{task.pk}/handover").json()
    assert (told["attempt"], told["guidance"], told["parts"][0]["title"]) == (1, "", "Task")
    send = lambda **body: lead.put(f"/api/tasks/{task.pk}/guidance", body, content_type="application/json")  # noqa: E731
    assert send(guidance="Use SQLite.", seen=told["seen"]).status_code == 200
    stale = send(guidance="Mine.", seen=told["seen"])
    assert stale.json()["error"]["field"] == "guidance"
    assert (stale.status_code, stale.json()["error"]["code"]) == (409, "stale")
    assert lead.get(f"/api/tasks/{task.pk}/handover").json()["guidance"] == "Use SQLite."
    client.force_login(User.objects.create_user("eve"))
    assert client.get(f"/api/tasks/{task.pk}/handover").status_code == 404
