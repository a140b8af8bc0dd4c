"""What deleting a team would remove, in numbers."""

from dataclasses import dataclass
from pathlib import Path

from tasks_app.models import ContextEntry, Decision, Event, Message, Run, Step, Task, Team


@dataclass(frozen=True)
class Removal:
    """How many rows of each kind go, and which folder stays."""

    tasks: int
    attempts: int
    steps: int
    requests: int
    messages: int
    entries: int
    events: int
    workspace: str
    in_place: bool  # the workspace is a folder of somebody's own: it stays


def of_team(team_id: int) -> Removal:
    """Return what belongs to a team; eight queries."""
    team = Team.objects.only("workspace", "slug").get(pk=team_id)
    return Removal(
        tasks=Task.objects.filter(team_id=team_id).count(),
        attempts=Run.objects.filter(team_id=team_id).count(),
        steps=Step.objects.filter(run__team_id=team_id).count(),
        requests=Decision.objects.filter(team_id=team_id).count(),
        messages=Message.objects.filter(team_id=team_id).count(),
        entries=ContextEntry.objects.filter(team_id=team_id).count(),
        events=Event.objects.filter(team_id=team_id).count(),
        workspace=team.workspace,
        in_place=Path(team.workspace).parts[-3:-1] != ("workspaces", team.slug),
    )
