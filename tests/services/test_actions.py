"""What the lead does: reassign, stop, cancel, complete, start a team; all or nothing."""

from decimal import Decimal

import pytest
from django.conf import settings
from django.db import OperationalError

from tasks_app import wake
from tasks_app.domain.errors import Conflict, DomainError, Invalid, NotFound, TooLarge
from tasks_app.domain.plan_model import Plan
from tasks_app.models import Agent, Decision, Dependency, Run, Task, Team
from tasks_app.selectors import context as shared
from tasks_app.services import (
    actions,
    decisions,
    deliveries,
    endings,
    messages,
    runs,
    scheduling,
    steps,
    teams,
    transcripts,
    workspaces,
)
from tasks_app.services.teams import Source
from tests.services import world

pytestmark = pytest.mark.django_db


@pytest.fixture
def crew():
    return world.make(agents=3)


def end_as_asked(held):
    run = runs.get(held.id)
    endings.finish(held.id, held.fence, endings.stopped_as_asked(run))
    scheduling.tick(held.team_id)


def test_a_running_task_is_stopped_first_and_then_goes_to_the_chosen_agent(crew):
    held = crew.claim()
    decisions.open_for_run(held.id, held.fence, world.ask())
    actions.reassign(crew.tasks[0].pk, agent_id=crew.agents[2].pk, guidance="Use uv.", start="last", actor="user:ada")
    assert (crew.task().status, Run.objects.get().stop_reason) == ("in_progress", "superseded")
    assert Decision.objects.get().status == "withdrawn"
    end_as_asked(held)
    first, second = Run.objects.order_by("attempt")
    assert (first.status, first.reason, crew.task().attempts) == ("killed", "superseded", 0)
    assert (second.agent, second.guidance, second.start_from) == (crew.agents[2], "Use uv.", "last")


def test_a_parked_task_goes_to_the_chosen_agent_at_once(crew):
    held = crew.claim()
    decisions.open_for_run(held.id, held.fence, world.ask())
    runs.park(held.id, held.fence, reason=runs.Reason.PARKED, interrupted=False)
    actions.reassign(crew.tasks[0].pk, agent_id=crew.agents[1].pk, actor="user:ada")
    assert list(Run.objects.order_by("attempt").values_list("status", "agent__name")) == [
        ("killed", "builder-1"),
        ("pending", "builder-2"),
    ]
    assert "run.resumable" not in world.kinds(crew.team), "a run that ends is not woken by the end of its request"


def test_a_bad_reassignment_is_refused_naming_the_field_and_changes_nothing(crew):
    other = world.make()
    Agent.objects.filter(pk=crew.agents[1].pk).update(status="stopped")
    held = crew.claim()
    before = world.frozen(crew.team)
    pk = crew.tasks[0].pk
    for words, error, field in (
        ({"agent_id": other.agents[0].pk}, NotFound, "agent"),
        ({"agent_id": 10**9}, NotFound, "agent"),
        ({"agent_id": crew.agents[1].pk}, Conflict, "agent"),
        ({"agent_id": None, "start": "middle"}, Invalid, "start"),
        ({"agent_id": None, "guidance": "x" * 20_001}, TooLarge, "guidance"),
    ):
        with pytest.raises(error) as refused:
            actions.reassign(pk, actor="user:ada", **words)
        assert refused.value.field == field
    assert world.frozen(crew.team) == before
    assert Run.objects.get(pk=held.id).stop_asked_at is None


def test_a_stopped_agents_task_goes_back_to_the_queue_and_to_somebody_else(crew):
    held = crew.claim()
    actions.stop_agent(held.agent_id, actor="user:ada")
    end_as_asked(held)
    task = crew.task()
    assert (task.held, task.failed, task.attempts) == (False, False, 0)
    run = Run.objects.get(status="pending")
    assert (run.agent_id != held.agent_id, run.attempt) == (True, 2)
    with pytest.raises(Conflict, match="stopped already"):
        actions.stop_agent(held.agent_id, actor="user:ada")


def test_a_stopped_team_stops_every_run_and_goes_on_when_resumed():
    crew = world.make(titles=("A", "B", "C"), agents=3)
    running, parked = crew.claim(0, 0), crew.claim(1, 1)
    decisions.open_for_run(parked.id, parked.fence, world.ask())
    runs.park(parked.id, parked.fence, reason=runs.Reason.PARKED, interrupted=False)
    assert actions.stop_team(crew.team.pk, actor="user:ada") == 2
    assert Run.objects.get(pk=parked.id).status == "killed"
    end_as_asked(running)
    assert not Run.objects.filter(status__in=runs.OPEN).exists()
    assert set(Task.objects.values_list("status", "held")) == {("pending", False)}
    actions.resume_team(crew.team.pk, actor="user:ada")
    assert Run.objects.filter(status="pending").count() == 2


def test_pressing_stop_twice_asks_again(crew, hints):
    held = crew.claim()
    actions.stop_run(held.id, actor="user:ada")
    first = Run.objects.get().stop_asked_at
    actions.stop_run(held.id, actor="user:bob")
    assert (Run.objects.get().stop_asked_at, Run.objects.get().stop_asked_by) == (first, "bob")
    assert world.kinds(crew.team).count("run.stopping") == 2


def test_a_cancelled_task_stops_its_run_and_stays_cancelled(crew):
    held = crew.claim()
    decisions.open_for_run(held.id, held.fence, world.ask())
    actions.cancel(crew.tasks[0].pk, why="Not needed.", actor="user:ada")
    runs.report(held.id, held.fence, {"status": "completed", "evidence": {"1": "x"}})
    end_as_asked(held)
    assert crew.task().status == "cancelled"
    assert Decision.objects.get().status == "withdrawn"
    assert Run.objects.count() == 1


def test_what_is_completed_by_hand_stays_so_whatever_its_run_says_later(crew):
    held = crew.claim()
    actions.complete_by_hand(crew.tasks[0].pk, note="Mine.", actor="user:ada")
    end_as_asked(held)
    assert (crew.task().status, crew.task().output) == ("completed", "Mine.")
    assert Team.objects.get().ended_at is not None


@pytest.mark.django_db(transaction=True)
def test_the_leads_actions_and_the_agents_records_at_the_same_moment_do_not_deadlock():
    crew = world.make(agents=8, titles=[f"T{n}" for n in range(8)], limits={"parallel": 8})
    lives = [crew.claim(n, n) for n in range(8)]
    asked = [decisions.open_for_run(h.id, h.fence, world.ask()) for h in lives]

    def work(number):
        held = lives[number % 8]
        try:
            return MOVES[number // 8](crew, held, asked[number % 8])
        except DomainError as refused:
            return refused.code

    results = world.at_once(24, work)
    assert not [r for r in results if isinstance(r, Exception)], results


def _record(crew, held, decision):
    for after in range(5):
        draft = world.say(usage=world.usage(f"{held.id}-{after}"), cost=world.cost("p", after))
        steps.record(held.id, held.fence, after=after, drafts=[draft])
        line = {"type": "user", "uuid": f"{held.id}-{after}", "message": {"content": "[crewdesk:answered toolu_1]"}}
        transcripts.append({"project_key": "p", "session_id": held.id}, [line], run_id=held.id, fence=held.fence)
        messages.take_due(held.agent_id, run_id=held.id, fence=held.fence)
    deliveries.deliver(decision.pk, held.fence)


MOVES = (
    _record,
    lambda crew, held, decision: world.answer(decision, "allow").status,
    lambda crew, held, decision: [
        messages.send(held.team_id, sender_agent_id=None, to="builder-1", body="x", actor="user:ada").pk,
        actions.stop_agent(held.agent_id, actor="user:ada"),
        actions.cancel(held.task_id, actor="user:ada"),
    ],
)


def plan(**changes):
    given = {
        "team": "Atlas",
        "agents": [{"name": "b1", "role": "builder"}, {"name": "b2", "role": "builder", "plan_mode": True}],
        "tasks": [
            {"key": "b", "title": "B", "criteria": ["ok"], "depends_on": ["a"], "assignee": "b2", "budget": {"usd": 1.5}},
            {"key": "a", "title": "A", "criteria": ["ok", "also"], "role": "builder"},
        ],
        "context": {"api.url": "http://x"},
        **changes,
    }
    return Plan.model_validate(given)


@pytest.fixture
def source(tmp_path, settings):
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "README").write_text("hello")
    settings.HOME = tmp_path / "home"  # a run that another test left may still be at its folders in the home of all
    return Source("text", tmp_path)


def start(source, key="", **changes):
    return actions.start_team(plan(**changes), source=source, user_id=None, rehearsal=True, actor="user:ada", idempotency_key=key)


def test_a_team_is_made_with_everything_in_its_plan_and_begins(source):
    team = start(source, workspace={"path": "repo"})
    assert (team.slug, team.rehearsal, team.workspace_mode) == ("atlas", True, "copy")
    assert list(Agent.objects.values_list("name", "plan_mode")) == [("b1", False), ("b2", True)]
    assert list(Task.objects.values_list("number", "title", "criteria")) == [(1, "A", ["ok", "also"]), (2, "B", ["ok"])]
    assert list(Dependency.objects.values_list("task__title", "needs__title")) == [("B", "A")]
    assert Task.objects.get(title="B").budget_usd == Decimal("1.5")
    assert [e.name for e in shared.of_team(team.pk)] == ["api.url"]
    assert Run.objects.get().task.title == "A"
    assert (settings.HOME / "workspaces" / "atlas" / "work" / "README").read_text() == "hello"
    assert world.kinds(team)[0] == "team.started"


@pytest.mark.django_db(transaction=True)
def test_whoever_hears_of_a_new_team_finds_its_first_tasks_given_out(source, monkeypatch):
    seen = []
    monkeypatch.setattr(wake, "browsers", lambda team_id, seq, keys: seen.append(Run.objects.filter(team_id=team_id).count()))
    start(source)
    assert set(seen) == {1}, "from the first hint on"


def test_two_teams_of_one_name_get_their_own_folders(source):
    first, second = start(source), start(source)
    assert (first.slug, second.slug) == ("atlas", "atlas-2")
    assert first.workspace != second.workspace


def test_a_folder_left_over_from_a_deleted_team_is_not_taken_for_ones_own(source):
    team = start(source)
    Team.objects.all().delete()
    assert start(source).workspace != team.workspace


def test_a_team_that_is_sent_twice_starts_once_and_leaves_one_folder(source):
    first, again = (start(source, key="k") for _ in range(2))
    assert first.pk == again.pk
    assert workspaces.taken() == {"atlas"}


@pytest.mark.django_db(transaction=True)
def test_a_team_that_is_sent_twice_at_once_starts_once_and_leaves_one_folder(source):
    found = world.at_once(2, lambda _: start(source, key="k"))
    started = [one for one in found if isinstance(one, Team)]
    assert {one.pk for one in started} == set(Team.objects.values_list("pk", flat=True)), found
    assert len(started) >= 1
    assert all(isinstance(one, (Team, Conflict)) for one in found)
    assert workspaces.taken() == {started[0].slug}, "whichever of the two names won"


def test_a_folder_goes_only_where_the_database_says_that_no_team_has_come_of_it(source, monkeypatch):
    """A commit whose answer was lost may be done."""
    team = start(source)
    workspaces.claim("other")
    with monkeypatch.context() as away:
        away.setattr(Team.objects, "filter", lambda **_: (_ for _ in ()).throw(OperationalError("away")))
        teams.drop_folder_of_none("other")
    assert workspaces.taken() == {team.slug, "other"}
    for slug in (team.slug, "other"):
        teams.drop_folder_of_none(slug)
    assert workspaces.taken() == {team.slug}


def test_what_cannot_be_started_leaves_nothing_behind(source):
    for workspace in ({"path": "missing"}, {"path": "repo", "mode": "git"}):
        with pytest.raises(Invalid) as refused:
            start(source, workspace=workspace)
        assert refused.value.field == "workspace.path"
    with pytest.raises(TooLarge) as refused:
        start(source, context={"big": "x" * (10 * 2**20)})
    assert refused.value.field == "value"
    assert not Team.objects.exists()
    assert workspaces.taken() == set()


@pytest.mark.django_db(transaction=True)
def test_two_teams_of_one_name_started_at_once_never_share_or_remove_a_folder(source):
    results = world.at_once(4, lambda _: start(source, workspace={"path": "repo"}))
    made = [r for r in results if isinstance(r, Team)]
    assert made, results
    assert all(isinstance(r, Team | Conflict) for r in results), results
    assert workspaces.taken() == {t.slug for t in made}
    assert all((settings.HOME / "workspaces" / t.slug / "work" / "README").is_file() for t in made)
