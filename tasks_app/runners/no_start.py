"""Why an agent could not begin: its files cannot be made, for the disk is full, say. That is no fault of the attempt's."""

import errno
from typing import Final

from tasks_app.domain.statuses import Reason
from tasks_app.runners.port import Outcome, OutcomeKind

FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


def outcome(error: OSError) -> Outcome:
    """Return what came of a life that could not begin: another one may, here after a pause or on another machine."""
    why = "There is no space left on the disk" if error.errno in FULL else error.strerror or str(error) or type(error).__name__
    detail = f"The files of the agent could not be made: {why}."
    return Outcome(OutcomeKind.FAILED, Reason.START_FAILED, detail, raw=str(error), broken=True)
