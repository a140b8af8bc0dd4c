"""The factories make rows that the schema takes."""

import pytest

from tasks_app.domain.statuses import DecisionKind
from tests import factories as make
from tests.payloads import PAYLOADS

pytestmark = pytest.mark.django_db

ALL = [
    value
    for value in vars(make).values()
    if isinstance(value, type) and issubclass(value, make.factory.django.DjangoModelFactory)
]


@pytest.mark.parametrize("factory", ALL, ids=lambda factory: factory.__name__)
def test_each_factory_makes_two_rows(factory):
    factory()
    factory()
    assert factory._meta.model.objects.count() >= 2


@pytest.mark.parametrize("kind", DecisionKind)
def test_a_decision_of_each_kind_has_a_payload_and_a_title(kind):
    decision = make.DecisionFactory(kind=kind.value)
    assert decision.payload == PAYLOADS[kind]
    assert decision.title


def test_events_number_themselves_without_a_gap():
    team = make.TeamFactory()
    assert [make.EventFactory(team=team).seq for _ in range(3)] == [1, 2, 3]
    team.refresh_from_db()
    assert team.last_seq == 3
