"""A team: its goal, workspace, limits, budget and rules, and the counter behind its event log."""

from django.conf import settings
from django.db import models

from tasks_app.domain.statuses import TeamStatus

LARGE = ("plan", "rehearsal_script")
"""Columns of a team that hardly anybody who reads one wants; a plan of 500 tasks has 75 kB. To `defer` on every hot path."""
LARGE_OF_TEAM = tuple(f"team__{name}" for name in LARGE)


class Team(models.Model):
    """Agents, tasks, budget and rules that share one workspace."""

    slug = models.SlugField(max_length=60, unique=True)
    name = models.CharField(max_length=120)
    goal = models.TextField(blank=True)
    status = models.CharField(max_length=10, default=TeamStatus.ACTIVE.value)
    plan = models.TextField(blank=True)  # the plan file as it was given
    source_path = models.TextField(blank=True)  # where the plan lay, for relative paths
    workspace = models.TextField()  # absolute path of the folder the agents work in
    workspace_mode = models.CharField(max_length=10)  # copy | in_place | git
    rehearsal = models.BooleanField(default=False)
    rehearsal_script = models.TextField(blank=True)  # the script itself: a run must not depend on a file that moves
    limits = models.JSONField(default=dict)  # domain.plan.Limits as a dict
    messaging = models.JSONField(default=dict)  # domain.messaging.Settings as a dict; what is missing has its default
    decides = models.JSONField(default=dict)  # domain.deciders.Settings as `stored`; what is missing has its default
    permissions = models.JSONField(default=dict)  # {"allow": [...], "deny": [...], "ask": [...]}
    budget_usd = models.DecimalField(max_digits=12, decimal_places=4, null=True)  # None: the safe default of domain.budget
    budget_tokens = models.BigIntegerField(null=True)
    used_usd = models.DecimalField(max_digits=14, decimal_places=6, default=0)
    used_tokens = models.BigIntegerField(default=0)
    cost_known = models.BooleanField(default=False)  # False: cost was never reported, shown as such
    cost_partial = models.BooleanField(default=False)  # as of its runs: it has cost at least `used_usd`
    last_seq = models.BigIntegerField(default=0)  # the event counter, row-locked
    last_task_number = models.IntegerField(default=0)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    workspace_due = models.CharField(max_length=64, blank=True)  # snapshot that the files must be put back to before work goes on
    archived_at = models.DateTimeField(null=True)  # put aside by the lead: out of the lists until it is restored

    def __str__(self) -> str:
        return self.name


class TeamAccess(models.Model):
    """Who may see a team (`viewer`) and act on it (`lead`). A superuser is lead of every team."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="access")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="team_access")
    level = models.CharField(max_length=10, default="lead")  # lead | viewer

    class Meta:
        constraints = (models.UniqueConstraint(fields=["team", "user"], name="one_access_per_user_and_team"),)


class ServerDay(models.Model):
    """What all real teams together used on one day (UTC), for the server's own budget; rehearsals cost nothing."""

    day = models.DateField(primary_key=True)
    used_usd = models.DecimalField(max_digits=14, decimal_places=6, default=0)
    raised_usd = models.DecimalField(max_digits=14, decimal_places=6, default=0)  # beyond CREWDESK_DAY_USD, by the lead
