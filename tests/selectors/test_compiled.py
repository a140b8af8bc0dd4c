"""Statements that are composed once: the same answers as the query set's own, for every key."""

from decimal import Decimal

import pytest
from django.db.models import Count

from tasks_app.models import Agent, Task
from tasks_app.selectors.compiled import Compiled
from tests import factories

pytestmark = pytest.mark.django_db


def test_it_answers_as_the_query_set_does_for_each_key_and_composes_once():
    made = []

    def titles(team_id):
        made.append(team_id)
        return Task.objects.filter(team_id=team_id).order_by("number").values_list("title", "number")

    compiled = Compiled(titles)
    tasks = [factories.TaskFactory(title=title) for title in ("One", "Two")]
    for task in tasks:
        assert compiled.rows(task.team_id) == [(task.title, task.number)]
    assert compiled.rows(0) == []
    assert len(made) == 1


def test_one_that_does_not_ask_for_its_key_is_a_mistake():
    with pytest.raises(ValueError, match="does not ask for 1 of its keys"):
        Compiled(lambda _: Task.objects.values_list("pk")).rows(1)
    with pytest.raises(ValueError, match="does not ask for 2 of its keys"):
        Compiled(lambda team, names: Task.objects.filter(team_id=team)).found(Task, 1, ["One", "Two"])


def test_lists_of_numbers_and_of_words_are_keys_too_and_each_power_of_two_is_composed_once():
    made = []

    def those(team_id, numbers, titles):
        made.append((len(numbers), len(titles)))
        found = Task.objects.filter(team_id=team_id).exclude(number__in=numbers).filter(title__in=titles)
        return found.order_by("-number").defer("description")

    compiled = Compiled(those)
    team = factories.TeamFactory()
    one, two, three = (factories.TaskFactory(team=team, title=title, criteria=["It works"]) for title in ("One", "Two", "%s"))
    assert compiled.found(Task, team.pk, [], ["One", "Two"]) == [two, one]
    assert compiled.found(Task, team.pk, [], ["%s", "Two"]) == [three, two]
    assert compiled.found(Task, team.pk, [three.number], ["%s", "Two"]) == [two]
    assert compiled.found(Task, team.pk, [two.number], ["%s", "Two"]) == [three]
    assert made == [(0, 2), (1, 2)]
    assert compiled.found(Task, team.pk, [], ["Two", "%s", "One"]) == [three, two, one]
    assert compiled.found(Task, team.pk, [], ["Two", "%s", "no", "nor this"]) == [three, two]
    assert made == [(0, 2), (1, 2), (0, 4)]
    [found] = compiled.found(Task, team.pk, [], ["%s"])
    assert (found.criteria, found.failed, found.created_at) == (["It works"], False, three.created_at)
    assert found.get_deferred_fields() == {"description"}


def test_more_shapes_than_are_kept_are_composed_again(monkeypatch):
    monkeypatch.setattr("tasks_app.selectors.compiled.MOST", 2)
    task = factories.TaskFactory()
    compiled = Compiled(lambda numbers: Task.objects.filter(number__in=numbers).values_list("pk"))
    for _ in range(2):
        for length in (1, 2, 4, 8):
            assert compiled.rows([task.number, *range(1_000, 1_000 + length - 1)]) == [(task.pk,)]
            assert len(compiled._made) <= 2


def test_values_are_what_the_query_set_gives_moments_truths_decimals_and_nothing_where_nothing_can_match():
    team = factories.TeamFactory()
    for on in (True, False):
        factories.AgentFactory(team=team, used_usd=Decimal("1.25"), plan_mode=on)
    columns = ("pk", "team__created_at", "plan_mode", "used_usd", "team__limits", "now_text")

    def of(team_ids):
        return (
            Agent.objects.filter(team_id__in=team_ids).annotate(many=Count("runs")).order_by("pk").values_list(*columns, "many")
        )

    compiled = Compiled(of)
    for _ in range(2):
        found = compiled.values(frozenset({team.pk}))
        assert found == list(of([team.pk]))
        assert [row[2] for row in found] == [True, False]
        assert found[0][1] == team.created_at
    assert compiled.values([]) == compiled.rows([]) == compiled.found(Agent, []) == []


def test_values_of_a_union_are_converted_too():
    task = factories.TaskFactory(priority=0)

    def either(pk):
        mine = Task.objects.filter(pk=pk).order_by().values_list("pk", "created_at", "failed")
        return mine.union(Task.objects.filter(priority=pk).order_by().values_list("pk", "created_at", "failed"), all=True)

    assert Compiled(either).values(task.pk) == [(task.pk, task.created_at, False)]
