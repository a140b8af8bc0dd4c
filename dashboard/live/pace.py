"""How often and how much: the numbers of the live socket in one place, so that tests can run it faster."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Pace:
    """Seconds, frames and bytes, with the defaults of a running server."""

    frame_s: float = 0.25  # at most 4 frames a second and page
    fast_frame_s: float = 0.1  # at most 10 for blocks whose panel is `fast`
    share: float = 0.5  # of a core: frames that cost more come less often, for many pages or large ones
    longest_s: float = 0.8  # but not less often than this
    gather_s: float = 0.005  # a burst is gathered for so long before its first frame
    look_s: float = 2.0  # the slow timer that finds what lost wake-ups hid
    sweep_s: float = 20.0  # everything shown is compared: what depends on the clock changes without an event
    sweep_batch: int = 8  # views compared with one frame
    recheck_s: float = 30.0  # sessions and access
    heartbeat_s: float = 10.0
    behind_s: float = 60.0  # a client that gives no credit for so long is closed
    linger_s: float = 5.0  # the hub stays subscribed after its last page has closed
    retry_s: float = 1.0  # after the database has failed
    unacked_frames: int = 256
    unacked_bytes: int = 512 * 1024
    unacked_s: float = 1.5  # a page acknowledges within a second, and when it has shown what it got
    max_rows: int = 2000  # a client that missed more fetches the page again
    max_keys: int = 5000  # more stale keys than this: everything is stale
    recheck_batch: int = 200  # sessions looked up at once
    client_frames: int = 200  # frames a client may send in `client_window_s`
    client_window_s: float = 10.0
