"""The embedded server: adopted, shared, restarted from damage, and ended by the last one that uses it."""

import contextlib
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tasks_app.domain.errors import Unavailable
from tasks_app.management import embedded, processes
from tasks_app.management.embedded import EmbeddedServer, answers, ask
from tasks_app.management.sockets import socket_path
from tests.management.desks import wait_for


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    home = tmp_path / "h"
    home.mkdir()
    yield home
    with contextlib.suppress(OSError, AttributeError):
        processes.find((home / "run" / "valkey.pid").read_text()).kill()  # type: ignore[union-attr]
    if (apart := socket_path(home).parent) != home / "run":
        shutil.rmtree(apart, ignore_errors=True)


def server(home: Path) -> EmbeddedServer:
    return EmbeddedServer(home, socket_path(home))


def pid_of(home: Path) -> int:
    text = ask(socket_path(home), b"INFO server\r\n").decode()
    return int(text.partition("process_id:")[2].split()[0])


def test_it_listens_only_on_a_private_socket_and_is_gone_when_its_only_user_leaves(home: Path) -> None:
    mine = server(home)
    assert mine.ensure() is True
    pid = pid_of(home)
    assert (home / "run").stat().st_mode & 0o777 == 0o700
    assert socket_path(home).stat().st_mode & 0o077 == 0
    assert psutil.Process(pid).net_connections("inet") == []
    mine.leave()
    assert not psutil.pid_exists(pid)
    assert not socket_path(home).exists()


def test_where_the_home_s_path_is_too_long_its_socket_in_tmp_is_gone_with_it(tmp_path: Path) -> None:
    """As with the temporary folders of a Mac, /var/folders/…/T."""
    home = tmp_path / ("x" * 90)
    home.mkdir()
    mine = server(home)
    assert mine.ensure() is True
    assert mine.socket.parent.parent == Path("/tmp")
    assert mine.socket.parent.stat().st_mode & 0o777 == 0o700
    mine.leave()
    assert not mine.socket.parent.exists()
    assert mine.ensure() is True, "whoever comes next makes it again"
    mine.leave()


def test_a_second_user_adopts_the_live_server_and_the_last_one_ends_it(home: Path) -> None:
    first, second = server(home), server(home)
    assert (first.ensure(), second.ensure()) == (True, False)
    pid = pid_of(home)
    first.leave()
    assert answers(second.socket)
    assert pid_of(home) == pid
    second.leave()
    assert not answers(second.socket)


def test_a_server_that_ended_in_order_is_started_again_with_what_it_had(home: Path) -> None:
    mine = server(home)
    mine.ensure()
    ask(mine.socket, b"SET kept yes\r\n")
    os.kill(pid_of(home), signal.SIGTERM)
    wait_for(lambda: not mine.running() or not mine.alive(), seconds=5)
    assert mine.ensure() is True
    assert b"yes" in ask(mine.socket, b"GET kept\r\n")
    mine.leave()


def test_a_full_disk_stops_no_hint(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that may not grow are what a full disk looks like to a program; a snapshot that failed must refuse no write."""
    program = home / "full-disk.sh"
    program.write_text(f"#!/bin/sh\ntrap '' XFSZ\nulimit -f 8\nexec {embedded.find_binary()} \"$@\"\n")
    program.chmod(0o700)
    monkeypatch.setattr(embedded, "find_binary", lambda: program)
    mine = server(home)
    mine.ensure()
    told = [ask(mine.socket, b"SET hint:%d %s\r\n" % (n, os.urandom(2000).hex().encode())) for n in range(20)]
    ask(mine.socket, b"BGSAVE\r\n")
    wait_for(lambda: b"rdb_last_bgsave_status:err" in ask(mine.socket, b"INFO persistence\r\n"), seconds=5)
    told.append(ask(mine.socket, b"RPUSH queue nudge\r\n"))
    assert set(told) == {b"+OK\r\n", b":1\r\n"}
    ask(mine.socket, b"SHUTDOWN NOSAVE\r\n")  # a shutdown that saves is refused on a full disk, and `leave` would wait for it
    mine.leave()


def test_a_server_that_lives_but_does_not_answer_is_replaced(home: Path) -> None:
    mine = server(home)
    mine.ensure()
    silent = pid_of(home)
    os.kill(silent, signal.SIGSTOP)
    assert not answers(mine.socket, timeout_s=0.2)
    assert mine.ensure() is True
    assert pid_of(home) != silent
    mine.leave()


def test_a_damaged_file_is_set_aside_because_it_holds_nothing_that_counts(home: Path) -> None:
    mine = server(home)
    mine.ensure()
    ask(mine.socket, b"SET kept yes\r\n")
    mine.leave()
    (home / "valkey" / "dump.rdb").write_text("this is not a snapshot\n")
    again = server(home)
    assert again.ensure() is True
    assert len(list(home.glob("valkey.damaged-*"))) == 1
    again.leave()


def test_without_any_server_program_the_message_says_how_to_get_one(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "find_binary", lambda: None)
    with pytest.raises(Unavailable, match="REDIS_URL") as caught:
        server(home).ensure()
    assert "apt-get install" in caught.value.message


def test_a_program_that_does_not_start_is_told_with_the_end_of_its_log(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    false = home / "false.sh"
    false.write_text("#!/bin/sh\necho out of memory\nexit 1\n")
    false.chmod(0o700)
    monkeypatch.setattr(embedded, "find_binary", lambda: false)
    with pytest.raises(Unavailable, match="out of memory"):
        server(home).ensure()
