"""The watchdog's side of the pipe."""

import io
import os

from tasks_app.management import processes, watchdog


def test_when_up_dies_without_a_word_the_last_full_list_counts() -> None:
    assert watchdog.watch(io.BytesIO(b"10 11\n10 11 12\n")) == [10, 11, 12]


def test_half_a_line_does_not_count() -> None:
    assert watchdog.watch(io.BytesIO(b"10 11\n10 1")) == [10, 11]


def test_after_done_nothing_is_ended() -> None:
    assert watchdog.watch(io.BytesIO(b"10 11\ndone\n")) == []


def test_a_mark_names_one_process_and_no_other_of_the_same_pid() -> None:
    mark = processes.mark(os.getpid())
    found = processes.find(mark)
    assert found is not None
    assert found.pid == os.getpid()
    pid, started = mark.split()
    assert processes.find(f"{pid} {int(started) - 60}") is None
    assert processes.find(f"{2**22 + 1} {started}") is None  # no kernel gives so high a pid; the next free one may be a thread
    assert processes.find("nonsense") is None
