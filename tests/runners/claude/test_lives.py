"""Processes of one life: numbered over every `run` of it, and told again what a dead one never stored."""

from dataclasses import replace
from itertools import islice

from tasks_app.runners.claude import session
from tasks_app.runners.claude.session import ClaudeRunner
from tasks_app.runners.fake_port import MemoryStore
from tests.runners.claude.conftest import Stage


def test_no_number_comes_twice_in_a_life_so_that_each_process_has_a_cost_of_its_own(stage: Stage) -> None:
    runner, spec = ClaudeRunner(), stage.spec()
    assert list(islice(runner._numbers(spec), 2)) == [1, 2]
    assert next(runner._numbers(spec)) == 3, "asked to report: the same life, another process"
    assert next(runner._numbers(replace(spec, fence=spec.fence + 1))) == 1


async def test_a_prompt_is_found_in_the_transcript_by_its_own_words(tmp_path) -> None:
    store, workspace = MemoryStore(), str(tmp_path)
    key = {"project_key": session.project_key_for_directory(workspace), "session_id": "s"}
    await store.append(key, [{"type": "user", "message": {"content": "[crewdesk:task T-1 attempt 1]\n\nOld."}}])
    prompt = "[crewdesk:task T-2 attempt 1]\n\nNew."
    assert not await session._holds(store, workspace, "s", prompt)
    await store.append(key, [{"type": "user", "message": {"content": [{"type": "text", "text": prompt}]}}])
    assert await session._holds(store, workspace, "s", prompt)
    assert not await session._holds(store, workspace, "another", prompt)
