"""What the process of `bench.emitter` does: its runs say marked steps at a steady rate, through their ports."""

import asyncio
import json
import sys
import time

from bench import crew, marks
from bench.crew import Crew
from tasks_app.domain.leases import HEARTBEAT_S
from tasks_app.domain.statuses import StepKind
from tasks_app.execution import db
from tasks_app.execution.port import RunPort
from tasks_app.execution.recorder import Recorder
from tasks_app.models import Agent
from tasks_app.runners.port import StepDraft
from tasks_app.services import workers
from tasks_app.services.runs import Held
from tasks_app.tools.base import Caller


async def serve(team: Crew, names: dict[int, str], period_s: float) -> None:
    """Answer the lines of standard input until it ends."""
    recorder = Recorder()
    ports = [_port(each, names[each.agent_id], recorder) for each in team.held]
    numbers = dict.fromkeys((names[each.agent_id] for each in team.held), 0)
    beating = asyncio.create_task(_beat(team))
    while line := await asyncio.to_thread(sys.stdin.readline):
        until = time.monotonic() + float(line)
        await asyncio.gather(*(_say(port, numbers, period_s, until, place) for place, port in enumerate(ports)))
        await asyncio.gather(*(port.flush() for port in ports))
        _print({"last": numbers})
    beating.cancel()
    await asyncio.gather(*(port.close() for port in ports))


async def _beat(team: Crew) -> None:
    """Keep the leases, as the worker does: an agent that is lost shows no step."""
    held = {each.id: each.fence for each in team.held}
    while True:
        await db.call(workers.heartbeat, crew.name(), held=held)
        await asyncio.sleep(HEARTBEAT_S)


def _port(held: Held, name: str, recorder: Recorder) -> RunPort:
    caller = Caller(held.id, held.fence, held.team_id, held.agent_id, name, held.task_id, 1)
    return RunPort(held, caller, last_seq=0, grace_s=1, recorder=recorder)


async def _say(port: RunPort, numbers: dict[str, int], period_s: float, until: float, place: int) -> None:
    name = port.caller.agent
    due = time.monotonic() + period_s * (place % 50) / 50  # agents do not speak in chorus
    while due < until:
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        numbers[name] += 1
        await port.emit([StepDraft(StepKind.SAID, marks.text(numbers[name], name, time.time()))])
        due += period_s


def _print(value: object) -> None:
    print(json.dumps(value), flush=True)


def run(agents: int, rate: float) -> None:
    """Make the team and serve."""
    team = crew.held(agents, title="Live")
    names = dict(Agent.objects.filter(team=team.team).values_list("pk", "name"))
    _print({"team": team.team.slug})
    asyncio.run(serve(team, names, agents / rate))
