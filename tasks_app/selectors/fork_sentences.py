"""Each event about forks and rewound files as a sentence."""

from collections.abc import Mapping

from tasks_app.domain.events import EventKind
from tasks_app.selectors.journal import Entry
from tasks_app.selectors.telling import Said, Say, count, say, told

FILES: Mapping[str, str] = {"then": ", on the files of that time", "now": ", on the files as they are"}


def _forked(entry: Entry) -> Said:
    return told(
        "{who} let {to} go on with {task} in a fork of attempt {number}, from step {step}{files}",
        entry.data.get("guidance"),
        to=entry.data.get("to") or "an agent",
        number=entry.data.get("attempt", ""),
        step=entry.data.get("step", ""),
        files=FILES.get(str(entry.data.get("files")), ""),
    )


def _rewound(entry: Entry) -> Said:
    return say(
        "{who} put {files} back to how they were at step {step} of attempt {number}{on}",
        files=count(entry.data.get("count", 0), "file"),
        step=entry.data.get("step", ""),
        number=entry.data.get("attempt", ""),
    )


def _undone(entry: Entry) -> Said:
    return say("{who} undid the last rewind of files: {files} changed", files=count(entry.data.get("count", 0), "file"))


SENTENCES: Mapping[str, Say] = {
    EventKind.TASK_FORKED: _forked,
    EventKind.FILES_REWOUND: _rewound,
    EventKind.FILES_REWIND_UNDONE: _undone,
}
