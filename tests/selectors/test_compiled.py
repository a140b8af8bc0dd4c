"""Statements that are composed once: the same answers as the query set's own, for every key."""

import pytest

from tasks_app.models import Task
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
    with pytest.raises(ValueError, match="does not ask for the key"):
        Compiled(lambda _: Task.objects.values_list("pk")).rows(1)
