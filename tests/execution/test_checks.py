"""A command that proves a criterion: how it ends, what is kept of it, and that nothing of it is left."""

import asyncio
import os
import time
from contextlib import suppress

import psutil
import pytest

from tasks_app.execution import checks, environment


def run(tmp_path, command, *, limit_s=10.0, stop_after=None):
    async def scenario():
        stop = asyncio.Event()
        if stop_after is not None:
            asyncio.get_running_loop().call_later(stop_after, stop.set)
        env = environment.for_check(home=tmp_path / "home", run_id="r1", fence=1)
        return await checks.run(command, cwd=tmp_path, home=tmp_path / "home", env=env, limit_s=limit_s, stop=stop)

    return asyncio.run(scenario())


def gone(pid):
    """Whether it is, as soon as the kernel has come to it: a signal is not yet an end."""
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        for _ in range(200):
            if process.status() == psutil.STATUS_ZOMBIE:
                return True
            time.sleep(0.01)
        return False
    return True


def test_a_command_runs_in_the_workspace_and_its_exit_code_and_last_lines_are_kept(tmp_path):
    (tmp_path / "here.txt").write_text("x")
    ran = run(tmp_path, "ls here.txt; echo no >&2; exit 3")
    assert (ran.exit_code, ran.tail, ran.why) == (3, "here.txt\nno", "")
    assert run(tmp_path, "true").exit_code == 0
    assert run(tmp_path, "/no/such/program").exit_code == 127
    assert run(tmp_path, "kill -9 $$").exit_code == -9


def test_the_environment_has_no_key_and_a_home_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
    monkeypatch.setenv("CLAUDE_CODE_OAUTH_TOKEN", "tok")
    monkeypatch.setenv("DATABASE_URL", "postgres://u:p@h/d")
    monkeypatch.setenv("SECRET_KEY", "s")
    names = {line.partition("=")[0] for line in run(tmp_path, "env").tail.splitlines()}
    allowed = {
        "HOME",
        "TMPDIR",
        "TERM",
        "CI",
        "CREWDESK_RUN",
        "PYTHONDONTWRITEBYTECODE",
        "PWD",
        "OLDPWD",
        "SHLVL",
        "_",
        *environment.PLAIN,
    }
    assert names <= allowed
    assert run(tmp_path, "echo $HOME $CREWDESK_RUN").tail == f"{tmp_path}/home r1:1"


def test_output_is_capped_cleaned_and_masked(tmp_path):
    ran = run(
        tmp_path,
        "yes padding | head -n 200000; printf '\\033[31mkey sk-ant-api03-%s\\033[0m\\n\\377' $(printf 'a%.0s' $(seq 95))",
    )
    assert len(ran.tail) <= checks.TAIL_CHARS
    assert len(ran.tail.splitlines()) == checks.TAIL_LINES
    assert "sk-ant-api03-***" in ran.tail
    assert "aaaaaaaa" not in ran.tail
    assert "\x1b" not in ran.tail


def test_a_command_that_takes_too_long_is_killed_with_all_it_started(tmp_path):
    began = time.monotonic()
    ran = run(tmp_path, "sleep 60 & echo $!; trap '' TERM; sleep 60", limit_s=0.5)
    assert time.monotonic() - began < 8
    assert (ran.exit_code, ran.why) == (None, "it took longer than 0.5 s and was ended")
    assert gone(int(ran.tail))


def test_what_a_command_leaves_behind_ends_with_it_and_its_open_pipe_holds_nobody_up(tmp_path):
    began = time.monotonic()
    ran = run(tmp_path, "sleep 60 & echo $!; exit 0")
    assert ran.exit_code == 0
    assert gone(int(ran.tail))
    assert time.monotonic() - began < 8


def test_a_run_that_is_being_ended_does_not_wait_for_its_check(tmp_path):
    ran = run(tmp_path, "sleep 60", stop_after=0.2)
    assert (ran.exit_code, ran.why) == (None, "the attempt is being ended")
    assert run(tmp_path, "sleep 60", stop_after=0).why == "the attempt is being ended"


def test_a_folder_that_is_gone_is_said_in_words(tmp_path):
    async def scenario():
        env = {"PATH": os.defpath}
        return await checks.run("true", cwd=tmp_path / "no", home=tmp_path, env=env, limit_s=1, stop=asyncio.Event())

    assert "could not be started" in asyncio.run(scenario()).why


@pytest.mark.parametrize("printed", [b"", b"\n\n", b"\0"])
def test_nothing_printed_is_an_empty_text(printed):
    assert checks.tail(printed) == ""
