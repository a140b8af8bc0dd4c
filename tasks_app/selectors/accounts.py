"""The accounts of people: who may sign in, what they may see, and who may see a team."""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User

from tasks_app.models import TeamAccess
from tasks_app.selectors.access import LEAD


@dataclass(frozen=True)
class LetIn:
    """That a person was let into a team. `level` is `lead` or `viewer`."""

    team: str  # its address
    level: str


@dataclass(frozen=True)
class Account:
    """Somebody's account. An administrator leads every team, whatever `teams` says."""

    pk: int
    name: str
    admin: bool
    active: bool
    password: bool  # False: only a sign-in link lets them in
    last_sign_in: dt.datetime | None
    teams: tuple[LetIn, ...]


@dataclass(frozen=True)
class Person:
    """Somebody who may see a team; `leads` it or only sees it."""

    name: str
    leads: bool
    admin: bool


def everybody() -> list[Account]:
    """Return every account by name, also those that are disabled; two queries."""
    return _accounts(get_user_model().objects.order_by("username"))


def named(name: str) -> Account | None:
    """Return the account of exactly that name, else the only one that differs from it in case alone; None where there is none."""
    found = everybody()
    alike = [account for account in found if account.name.casefold() == name.casefold()]
    exact = [account for account in alike if account.name == name]
    return exact[0] if exact else alike[0] if len(alike) == 1 else None


def names() -> list[str]:
    """Return the name of every account, also of those that are disabled, in order; one query."""
    return list(get_user_model().objects.order_by("username").values_list("username", flat=True))


def people_of(team_id: int) -> list[Person]:
    """Return who may sign in and see the team, by name; two queries."""
    admins = get_user_model().objects.filter(is_active=True, is_superuser=True).values_list("username", flat=True)
    let_in = TeamAccess.objects.filter(team_id=team_id, user__is_active=True, user__is_superuser=False)
    levels = let_in.values_list("user__username", "level")
    people = [Person(name, leads=True, admin=True) for name in admins]
    people += [Person(name, leads=level == LEAD, admin=False) for name, level in levels]
    return sorted(people, key=lambda person: person.name)


def _accounts(users: Iterable[User]) -> list[Account]:
    teams: dict[int, list[LetIn]] = {}
    for user_id, slug, level in TeamAccess.objects.order_by("team__slug").values_list("user_id", "team__slug", "level"):
        teams.setdefault(user_id, []).append(LetIn(slug, level))
    return [
        Account(
            pk=user.pk,
            name=user.username,
            admin=user.is_superuser,
            active=user.is_active,
            password=user.has_usable_password(),
            last_sign_in=user.last_login,
            teams=tuple(teams.get(user.pk, ())),
        )
        for user in users
    ]
