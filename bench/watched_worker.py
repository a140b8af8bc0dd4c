"""The Celery app of a worker that notes each model request: `<Unix seconds> <run id>` in CREWDESK_HOME/requests.log."""

import os
import time
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from dashboard.celery import app
from tasks_app.rehearsal.server import RehearsalServer

__all__ = ["app", "requests"]
NAME = "requests.log"
_messages = RehearsalServer._messages


async def _noted(self: RehearsalServer, request: Request) -> Response:
    with (Path(os.environ["CREWDESK_HOME"]) / NAME).open("a") as log:
        log.write(f"{time.time():.6f} {request.path_params['key'].rsplit('-', 1)[0]}\n")  # run-fence: `execution/spec`
    return await _messages(self, request)


def requests(home: Path) -> list[tuple[float, str]]:
    """Return when which run asked the model, oldest first."""
    path = home / NAME
    lines = path.read_text().splitlines() if path.exists() else []
    return [(float(at), run_id) for at, _, run_id in (line.partition(" ") for line in lines)]


RehearsalServer._messages = _noted  # type: ignore[method-assign]
