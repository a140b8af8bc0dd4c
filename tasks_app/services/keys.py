"""The keys of live blocks that a change makes stale; the words are shared with `dashboard/panels`."""

TEAMS = "teams"


def team(pk: int) -> str:
    """Header, counters, status and budget of a team."""
    return f"team:{pk}"


def tasks(team_pk: int) -> str:
    """The set or order of a team's tasks."""
    return f"tasks:{team_pk}"


def task(pk: int) -> str:
    """One task."""
    return f"task:{pk}"


def agents(team_pk: int) -> str:
    """The set of a team's agents."""
    return f"agents:{team_pk}"


def agent(pk: int) -> str:
    """One agent's card."""
    return f"agent:{pk}"


def doing(agent_pk: int) -> str:
    """What an agent does right now, in one line: most steps change nothing else that a card says."""
    return f"doing:{agent_pk}"


def steps(team_pk: int) -> str:
    """Every step of a team."""
    return f"steps:{team_pk}"


def run(pk: str) -> str:
    """Steps and status of a run."""
    return f"run:{pk}"


def inbox(team_pk: int) -> str:
    """Open and answered decisions of a team."""
    return f"inbox:{team_pk}"


def decision(pk: str) -> str:
    """One decision."""
    return f"decision:{pk}"


def decides(team_pk: int) -> str:
    """Who decides what in a team, and what its lead agent did."""
    return f"decides:{team_pk}"


def messages(team_pk: int) -> str:
    """A team's messages."""
    return f"messages:{team_pk}"


def context(team_pk: int) -> str:
    """What a team shares, and who has read it."""
    return f"context:{team_pk}"


def checkpoints(team_pk: int) -> str:
    """A team's checkpoints."""
    return f"checkpoints:{team_pk}"
