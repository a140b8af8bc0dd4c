"""Which workers are remembered, and for how long."""

import os

import psutil
import pytest

from tasks_app.models import Worker
from tasks_app.services import workers
from tasks_app.services.clock import now_s
from tests.services import world

pytestmark = pytest.mark.django_db


def test_workers_whose_process_is_gone_are_forgotten_and_one_that_leaves_too():
    Worker.objects.create(name="h:1:1", host="h", pid=2**22 + 1, started_at=world.now(), seen_at=0, slots=1)
    assert not psutil.pid_exists(2**22 + 1)
    workers.register("me", host="h", slots=8, has_key=False)
    assert list(Worker.objects.values_list("name", flat=True)) == ["me"]
    workers.leave("me")
    assert not Worker.objects.exists()


def test_workers_of_other_hosts_are_forgotten_after_a_day_and_of_this_one_those_whose_pid_is_somebody_elses():
    own = workers.name_of_this_process("h")
    mine = {"host": "h", "pid": os.getpid(), "started_at": world.now(), "slots": 1}
    for name, silent_s, where in (
        ("there:1:1", workers.FORGOTTEN_S + 60, {"host": "there"}),
        ("there:2:2", workers.FORGOTTEN_S - 60, {"host": "there"}),
        (f"h:{os.getpid()}:1", workers.FORGOTTEN_S + 60, {}),
        (own, workers.FORGOTTEN_S + 60, {}),  # its machine was asleep
    ):
        Worker.objects.create(name=name, seen_at=now_s() - silent_s, **{**mine, **where})
    workers.register("me", host="h", slots=8, has_key=False)
    assert set(Worker.objects.values_list("name", flat=True)) == {"me", "there:2:2", own}
