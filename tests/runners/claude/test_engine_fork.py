"""What forking a session does, and what file checkpointing cannot do for us, measured on the real Claude Code process."""

import uuid
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, InMemorySessionStore, project_key_for_directory

from tasks_app.domain.statuses import Reason, StepKind
from tasks_app.runners.fake_port import yes
from tasks_app.runners.port import OutcomeKind
from tests.runners.claude.conftest import Stage, bash

pytestmark = pytest.mark.engine
TURNS = (
    {"say": "one", "call": [bash("echo 1 >> log.txt")]},
    {"say": "two", "call": [bash("echo 2 >> log.txt")]},
    {"say": "three"},
)


async def rows(stage: Stage, session: str) -> list[dict[str, Any]]:
    """The transcript of a session."""
    found = await stage.port.session_store.load(
        {"project_key": project_key_for_directory(str(stage.workspace)), "session_id": session}
    )
    return list(found or [])


def texts(stored: list[dict[str, Any]]) -> str:
    return repr([row.get("message") for row in stored if row["type"] in ("user", "assistant")])


async def first_run(stage: Stage) -> str:
    """Play the whole script once; returns the session."""
    stage.script(*TURNS)
    outcome = await stage.run(yes, allow=("Bash",))
    assert outcome.result == "three"
    return stage.port.sessions[-1]


async def fork(stage: Stage, session: str, at: str, **changes: Any) -> Any:
    new = str(uuid.uuid4())
    more = {"session_id": None, "fork_of": session, "fork_at": at, "new_session_id": new, "allow": ("Bash",)} | changes
    return await stage.run(yes, prompt="Go on from here.", **more), new


async def test_every_step_that_one_can_fork_from_carries_the_name_of_its_row_in_the_transcript(stage: Stage) -> None:
    session = await first_run(stage)
    stored = {row["uuid"]: row["type"] for row in await rows(stage, session) if row.get("uuid")}
    assert [stored[step.data["uuid"]] for step in stage.port.of(StepKind.PROMPT)] == ["user"]
    assert [stored[step.data["uuid"]] for step in stage.port.of(StepKind.SAID)] == ["assistant"] * 3


async def test_a_fork_begins_with_the_conversation_up_to_the_message_under_the_id_that_we_chose(stage: Stage) -> None:
    session = await first_run(stage)
    before = await rows(stage, session)
    second = next(step for step in stage.port.of(StepKind.SAID) if step.text == "two")
    outcome, new = await fork(stage, session, second.data["uuid"])
    assert (outcome.kind, outcome.session_id) == (OutcomeKind.ENDED, new)
    assert await rows(stage, session) == before, "the old session is as it was"
    stored = await rows(stage, new)
    ids = [row["uuid"] for row in stored if row.get("uuid")]
    old = [row["uuid"] for row in before if row.get("uuid")]
    upto = old.index(second.data["uuid"]) + 1
    assert ids[:upto] == old[:upto], "the store receives the whole beginning, its rows under their own names"
    assert not set(ids[upto:]) & set(old)
    assert {row["sessionId"] for row in stored if row.get("sessionId")} == {new}
    assert "Go on from here." in texts(stored[upto:])
    assert (stage.workspace / "log.txt").read_text() == "1\n2\n2\n", "the call after the message is made again"


async def test_a_fork_goes_on_like_any_session_in_a_later_life(stage: Stage) -> None:
    session = await first_run(stage)
    first = stage.port.of(StepKind.SAID)[0]
    outcome, new = await fork(stage, session, first.data["uuid"])
    outcome = await stage.run(yes, prompt="And on.", session_id=new)
    assert (outcome.kind, outcome.session_id) == (OutcomeKind.ENDED, new)
    told = texts(await rows(stage, new))
    assert told.index("one") < told.index("Go on from here.") < told.index("And on.")


async def test_one_can_fork_from_a_prompt_as_well(stage: Stage) -> None:
    session = await first_run(stage)
    outcome, new = await fork(stage, session, stage.port.of(StepKind.PROMPT)[0].data["uuid"])
    told = texts(await rows(stage, new))
    assert outcome.result == "three"
    assert told.index("Do the task.") < told.index("Go on from here.") < told.index("one")


async def test_a_message_that_the_session_does_not_hold_is_refused_in_words(stage: Stage) -> None:
    session = await first_run(stage)
    unknown = str(uuid.uuid4())
    outcome, new = await fork(stage, session, unknown)
    assert (outcome.kind, outcome.reason) == (OutcomeKind.FAILED, Reason.START_FAILED)
    assert f"No message found with message.uuid of: {unknown}" in outcome.detail + outcome.raw
    assert await rows(stage, new) == []


async def test_a_session_that_is_gone_is_never_replaced_by_a_new_one(stage: Stage) -> None:
    stage.script(*TURNS)
    outcome, _ = await fork(stage, str(uuid.uuid4()), str(uuid.uuid4()))
    assert (outcome.kind, outcome.reason) == (OutcomeKind.FAILED, Reason.START_FAILED)
    assert "is not kept any more" in outcome.detail
    assert stage.port.steps == []


async def test_the_sdk_keeps_no_files_where_the_transcript_is_in_a_store(stage: Stage) -> None:
    """So files are put back from our own snapshots: its copies are of one machine, and of Write and Edit only."""
    options = ClaudeAgentOptions(cwd=stage.workspace, session_store=InMemorySessionStore(), enable_file_checkpointing=True)
    with pytest.raises(ValueError, match="session_store cannot be combined with enable_file_checkpointing"):
        await ClaudeSDKClient(options).connect()
