"""The clockwork of durable runs, in seconds: how long a run is held, and how soon one that nobody holds goes on."""

LEASE_S = 15.0
HEARTBEAT_S = 5.0
FENCE_OFF_S = LEASE_S * 2 / 3
"""A worker whose last good heartbeat is older than this kills its own runs: nobody else may have them yet."""
GRACE_S = 120.0
"""How long a run waits attached for an answer before it is parked."""
LOOK_S = 5.0
"""The slow timer behind every wake-up: a lost hint costs at most this much."""
RENUDGE_S = 3.0
"""A due run that nobody has claimed is nudged again after this long."""
NEVER = 4e9
"""`due_at` of a run that waits for an answer (Unix seconds, year 2096)."""
CRASHES = 6
"""So many takeovers without one new step of the agent in between fail the attempt as `crashed`. Not fewer: a machine that kills
three workers and processes in a row within seconds (a deploy gone wrong, a full memory) is no fault of the agent's, and a task
that does kill its worker is found out within half a minute."""
DEATHS = 6
"""So many lives of one attempt that ended by a fault (the process died, what came of it could not be stored) fail it, whatever
was done before."""
