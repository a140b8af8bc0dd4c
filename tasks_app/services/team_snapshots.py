"""Which values of a team's rows name a snapshot of its files: they go to git later, so a file may hold nothing else there."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from tasks_app.domain.commit_ids import is_commit_id
from tasks_app.domain.events import EventKind
from tasks_app.domain.statuses import StepKind
from tasks_app.services import snapshots

Row = Mapping[str, Any]
Found = Iterator[tuple[str, object]]
WRONG: Final = "It is not the id of a commit: 40 or 64 of 0-9 and a-f."
REWINDS: Final = (EventKind.FILES_REWOUND.value, EventKind.FILES_REWIND_UNDONE.value)


def misnamed(table: str, row: Row) -> str:
    """Return the place of a value that should name a snapshot and cannot, `data.files` for instance; "" where there is none."""
    places = FIND.get(table, _nothing)(row)
    return next((place for place, value in places if value not in (None, "") and not is_commit_id(value)), "")


def _nothing(row: Row) -> Found:
    return iter(())


def _team(row: Row) -> Found:
    yield "workspace_due", row["workspace_due"]


def _run(row: Row) -> Found:
    yield "workspace_commit", row["workspace_commit"]
    yield from _in("dossier", row["dossier"], snapshots.END)


def _step(row: Row) -> Found:
    if row["kind"] == StepKind.PROMPT.value:
        yield from _in("data", row["data"], "files")


def _event(row: Row) -> Found:
    if row["kind"] in REWINDS:
        yield from _in("data", row["data"], "before", "to")


def _checkpoint(row: Row) -> Found:
    yield from _in("data", row["data"], "workspace")
    runs = row["data"].get("runs") if isinstance(row["data"], Mapping) else None
    for number, run in enumerate(runs if isinstance(runs, list) else [] if runs is None else [runs]):
        yield from _in(f"data.runs[{number}]", run, "workspace_commit")


def _in(place: str, value: Any, *names: str) -> Found:
    """These values of an object; of what is none, the whole, which is no id either."""
    if isinstance(value, Mapping):
        yield from ((f"{place}.{name}", value.get(name)) for name in names)
    else:
        yield place, [value]


FIND: Final[Mapping[str, Callable[[Row], Found]]] = {
    "team": _team,
    "runs": _run,
    "steps": _step,
    "events": _event,
    "checkpoints": _checkpoint,
}
