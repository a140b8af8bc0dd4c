"""The patience of the runner, in one place; tests shorten it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """How long each thing may take, in seconds."""

    start_s: float = 60.0  # until the process answers `initialize`
    stored_s: float = 5.0  # until a call is recorded, or in the transcript's store; then it is made all the same
    settle_s: float = 1.0  # until a refused call has ended its turn by itself
    interrupt_s: float = 2.0  # until an interrupted turn has ended
    close_s: float = 2.0  # until the process has left after its input was closed; then TERM
    term_s: float = 1.5  # until TERM has worked; then KILL
    gone_s: float = 20.0  # until what was killed is seen gone
    background_s: float = 600.0  # how long background commands may outlive the last turn
    owed_s: float = 2.0  # until background work that has ended wakes the agent
