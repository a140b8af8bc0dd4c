"""The factories of people, teams, agents and tasks; use them through `tests.factories`."""

import datetime as dt
from functools import cache
from typing import Any

import factory
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import make_password
from django.utils import timezone

from tasks_app import models
from tasks_app.domain.statuses import AgentStatus, TaskStatus

PASSWORD = "correct horse battery"


def ago(**span: float) -> dt.datetime:
    """Return the moment `span` (as for timedelta) before now."""
    return timezone.now() - dt.timedelta(**span)


@cache
def hashed_password() -> str:
    """Return the hash of `PASSWORD`; made once, for it is slow on purpose."""
    return make_password(PASSWORD)


class UserFactory(factory.django.DjangoModelFactory):
    """A person with the password `PASSWORD`."""

    class Meta:
        model = get_user_model()
        skip_postgeneration_save = True

    class Params:
        admin = factory.Trait(is_superuser=True, is_staff=True)

    username = factory.Sequence(lambda n: f"lead{n}")
    password = factory.LazyFunction(hashed_password)


class TeamFactory(factory.django.DjangoModelFactory):
    """An active team; `lead=` or `viewer=` gives a person access to it."""

    class Meta:
        model = models.Team
        skip_postgeneration_save = True

    class Params:
        rehearsed = factory.Trait(rehearsal=True)

    name = factory.Sequence(lambda n: f"Team {n}")
    slug = factory.Sequence(lambda n: f"team-{n}")
    goal = "Ship the billing feature."
    workspace = "/tmp/workspace"
    workspace_mode = "copy"
    created_at = factory.LazyFunction(timezone.now)

    @factory.post_generation
    def lead(self, create: bool, user: Any, **_: Any) -> None:
        """Let `user` act on the team."""
        if create and user:
            models.TeamAccess.objects.create(team=self, user=user, level="lead")

    @factory.post_generation
    def viewer(self, create: bool, user: Any, **_: Any) -> None:
        """Let `user` see the team."""
        if create and user:
            models.TeamAccess.objects.create(team=self, user=user, level="viewer")


class TeamAccessFactory(factory.django.DjangoModelFactory):
    """Access of one person to one team."""

    class Meta:
        model = models.TeamAccess

    team = factory.SubFactory(TeamFactory)
    user = factory.SubFactory(UserFactory)
    level = "lead"


class AgentFactory(factory.django.DjangoModelFactory):
    """An active agent that has not worked yet."""

    class Meta:
        model = models.Agent

    class Params:
        stopped = factory.Trait(status=AgentStatus.STOPPED.value)
        used = factory.Trait(
            used_usd="4.62",
            used_tokens=588_000,
            cached_tokens=512_000,
            cost_known=True,
            context_tokens=162_000,
            context_window=200_000,
            last_event_at=factory.LazyFunction(timezone.now),
        )

    team = factory.SubFactory(TeamFactory)
    name = factory.Sequence(lambda n: f"builder-{n}")
    role = "builder"
    position = factory.Sequence(lambda n: n)


class TaskFactory(factory.django.DjangoModelFactory):
    """A pending task; `needs=[tasks]` makes it depend on them."""

    class Meta:
        model = models.Task
        skip_postgeneration_save = True

    class Params:
        done = factory.Trait(
            status=TaskStatus.COMPLETED.value,
            attempts=1,
            completed_by="agent:builder-1",
            started_at=factory.LazyFunction(lambda: ago(minutes=20)),
            completed_at=factory.LazyFunction(lambda: ago(minutes=8)),
        )
        cancelled = factory.Trait(status=TaskStatus.CANCELLED.value)
        in_progress = factory.Trait(
            status=TaskStatus.IN_PROGRESS.value, attempts=1, started_at=factory.LazyFunction(lambda: ago(minutes=12, seconds=30))
        )
        gave_up = factory.Trait(failed=True, attempts=3)

    team = factory.SubFactory(TeamFactory)
    number = factory.Sequence(lambda n: n + 1)
    title = factory.Sequence(lambda n: f"Task number {n}")
    criteria = factory.LazyFunction(lambda: ["The tests pass."])
    role = "builder"
    created_at = factory.LazyFunction(timezone.now)
    created_by = "system"

    @factory.post_generation
    def needs(self, create: bool, tasks: Any, **_: Any) -> None:
        """Depend on `tasks`."""
        for needed in tasks or () if create else ():
            models.Dependency.objects.create(task=self, needs=needed)


class DependencyFactory(factory.django.DjangoModelFactory):
    """`task` needs `needs`."""

    class Meta:
        model = models.Dependency

    task = factory.SubFactory(TaskFactory)
    needs = factory.SubFactory(TaskFactory, team=factory.SelfAttribute("..task.team"))
