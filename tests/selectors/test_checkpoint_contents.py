"""What a stored checkpoint holds is read once, whatever asks for it; what there is no room for is read again."""

import pytest

from tasks_app.domain.checkpoint import Content
from tasks_app.models import Checkpoint
from tasks_app.selectors import checkpoints as reading
from tasks_app.selectors.checkpoint_contents import Contents
from tasks_app.services import checkpoints
from tests import factories as make

pytestmark = pytest.mark.django_db


@pytest.fixture
def team():
    return make.TeamFactory()


def saved(team, count):
    return [checkpoints.save(team.pk, name=f"point {number}", by="user:ada").pk for number in range(count)]


def test_each_is_read_once_all_of_them_in_one_query(team, django_assert_num_queries):
    contents, ids, mark = Contents(), saved(team, 3), reading.mark(team)
    with django_assert_num_queries(1):
        found = contents.of(ids, team=mark)
    assert [found[pk].last_seq for pk in ids] == [0, 1, 2]
    with django_assert_num_queries(0):
        assert contents.of(ids, team=mark) == found
    assert contents.of(["knosuchid", ids[0]], team=mark) == {ids[0]: found[ids[0]]}


def test_one_that_cannot_be_restored_says_why(team):
    ids = saved(team, 2)
    Checkpoint.objects.filter(pk=ids[0]).update(data={"schema": 9})
    found = Contents().of(ids, team=reading.mark(team))
    assert isinstance(found[ids[1]], Content)
    assert "saved by a newer version" in found[ids[0]]
    assert "Nothing was changed" not in found[ids[0]]


def test_those_used_last_are_kept_as_far_as_there_is_room(team, django_assert_num_queries):
    ids, mark = saved(team, 3), reading.mark(team)
    size = len(str(Checkpoint.objects.get(pk=ids[0]).data))
    contents = Contents(room=size * 5 // 2)
    contents.of(ids[:2], team=mark)
    contents.of(ids[:1], team=mark)
    contents.of(ids[2:], team=mark)
    with django_assert_num_queries(0):
        contents.of([ids[0], ids[2]], team=mark)
    with django_assert_num_queries(1):
        contents.of(ids[1:2], team=mark)
    with django_assert_num_queries(1):
        assert Contents(room=1).of(ids, team=mark).keys() == set(ids)


def test_each_agent_stands_at_the_end_of_its_session_in_two_queries_for_all(team, django_assert_num_queries):
    for number in range(1, 4):
        for line in range(number):
            make.TranscriptEntryFactory(session_id=f"s{number}", uuid=f"{number}-{line}")
    make.TranscriptEntryFactory(session_id="s1", subpath="agent-a", uuid="of a sub-agent")
    with django_assert_num_queries(2):
        found = reading.positions(["s1", "", "s3", "gone"])
    assert {name: (place.lines, place.last) for name, place in found.items()} == {"s1": (1, "1-0"), "s3": (3, "3-2")}
