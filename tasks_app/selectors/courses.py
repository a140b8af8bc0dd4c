"""How far teams have come, as a forecast of their spending needs it."""

from collections.abc import Collection, Mapping
from typing import Any

from django.db.models import Count, Q, Sum

from tasks_app.domain.estimate import STARTING, Course, size_of
from tasks_app.domain.statuses import UNFINISHED, TaskStatus
from tasks_app.models import Task
from tasks_app.selectors.look import once

BY_AGENTS = Q(used_tokens__gt=0)


@once
def of_teams(team_ids: Collection[int]) -> Mapping[int, Course]:
    """Return the course of each team that has tasks; one query. Tasks weigh by their size, as in the starting table."""
    rows = (
        Task.objects.filter(team_id__in=team_ids)
        .order_by()
        .values("team_id", "status", "expected_max")
        .annotate(n=Count("pk"), n_agents=Count("pk", filter=BY_AGENTS), usd=Sum("used_usd"), tokens=Sum("used_tokens"))
    )
    found: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["team_id"], []).append(dict(row))
    return {team_id: _course(mine) for team_id, mine in found.items()}


def _course(rows: list[dict[str, Any]]) -> Course:
    done = [row for row in rows if row["status"] == TaskStatus.COMPLETED]
    cancelled = [row for row in rows if row["status"] == TaskStatus.CANCELLED]
    return Course(
        done=tuple(_weight(row) for row in done for _ in range(row["n_agents"])),
        open=tuple(_weight(row) for row in rows if row["status"] in UNFINISHED for _ in range(row["n"])),
        done_usd=float(sum(row["usd"] for row in done)),
        done_tokens=sum(row["tokens"] for row in done),
        cancelled_usd=float(sum(row["usd"] for row in cancelled)),
        cancelled_tokens=sum(row["tokens"] for row in cancelled),
    )


def _weight(row: dict[str, Any]) -> float:
    return STARTING[size_of(row["expected_max"])].typical
