"""The dependencies of a team as pairs, for who draws or walks the whole graph."""

from tasks_app.models import Dependency


def of_team(team_id: int) -> list[tuple[int, int]]:
    """Return (needed task, waiting task) by their ids, oldest first; one query."""
    return list(Dependency.objects.filter(task__team_id=team_id).order_by("id").values_list("needs_id", "task_id"))
