"""N26 with the real thing: PostgreSQL and Valkey are stopped while a permission is asked for; prints what came of it as JSON.

`python -m tests.cases.away SECONDS CLUSTER VALKEY` with their folders, DATABASE_URL, REDIS_URL and an empty CREWDESK_HOME.
"""

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import django

django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402

from bench.cluster import Cluster  # noqa: E402
from tasks_app.execution import db  # noqa: E402
from tasks_app.models import Decision  # noqa: E402
from tasks_app.runners.claude.desk import Desk  # noqa: E402
from tests.execution.lives import eventually, on_port  # noqa: E402
from tests.services import world  # noqa: E402
from tests.services_fixtures import Valkey  # noqa: E402

SECONDS, CLUSTER, VALKEY = float(sys.argv[1]), Cluster(Path(sys.argv[2])), Valkey(Path(sys.argv[3]))
MOMENT_S, ENOUGH_S = 1.0, 90.0


@contextlib.asynccontextmanager
async def away() -> AsyncIterator[None]:
    """Neither is there while the block lasts."""
    await asyncio.to_thread(CLUSTER.stop)
    VALKEY.kill()
    try:
        yield
    finally:
        await asyncio.to_thread(CLUSTER.go_on)
        await asyncio.to_thread(VALKEY.start)


async def asked(desk: Desk, name: str) -> tuple[asyncio.Task[Any], Decision]:
    """Ask for a permission and see it stored."""
    asking = asyncio.create_task(desk.ask(world.ask(tool_use_id=name, input={"command": f"make {name}"})))
    return asking, await eventually(Decision.objects.filter(tool_use_id=name).first, patience_s=ENOUGH_S)


async def answered(desk: Desk, name: str, choice: str) -> Any:
    """Ask, and have it answered by a person."""
    asking, decision = await asked(desk, name)
    await db.call(world.answer, decision, choice, note="No.")
    return await asyncio.wait_for(asking, ENOUGH_S)


async def story(port: Any) -> dict[str, Any]:
    """In flight while both are away for a moment; away for as long as the case says, also for what is to be asked then; back."""
    desk = Desk(port, wake=lambda: None)
    asking, decision = await asked(desk, "in-flight")
    async with away():
        await asyncio.sleep(MOMENT_S)
        ran_meanwhile = asking.done()
    await db.call(world.answer, decision, "allow")
    said = {"ran meanwhile": ran_meanwhile, "in flight": (await asyncio.wait_for(asking, ENOUGH_S)).choice}
    asking, _ = await asked(desk, "too-long")
    async with away():
        gone = time.monotonic()
        refused = asyncio.create_task(desk.ask(world.ask(tool_use_id="never")))
        said["too long"] = (await asyncio.wait_for(asking, ENOUGH_S)).message
        said["not to be asked"] = (await asyncio.wait_for(refused, ENOUGH_S)).message
        said["waited"] = time.monotonic() - gone
        await asyncio.sleep(max(0.0, SECONDS - said["waited"]))
        said["away"] = time.monotonic() - gone
    denied = await answered(desk, "denied", "deny")
    allowed = await answered(desk, "back", "allow")
    return said | {"denied": [denied.choice, denied.note], "back": allowed.choice}


def main() -> dict[str, Any]:
    VALKEY.start()
    call_command("migrate", verbosity=0, interactive=False)
    held, begun = world.make().claim(), time.monotonic()
    with patch("tests.execution.lives.PORT_S", 300.0):
        said = on_port(held, story)
    connection.close()  # its own did not outlive the story
    kept = dict(Decision.objects.values_list("tool_use_id", "status"))
    return said | {"kept": kept, "seconds": round(time.monotonic() - begun, 1)}


if __name__ == "__main__":
    try:
        print(json.dumps(main()))
    finally:
        VALKEY.kill()
