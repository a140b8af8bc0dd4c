"""Accounts: making them, their passwords, whether they may sign in, and which teams they are let into.

Pages, the API and sockets ask who somebody is each time: what changes here holds for what is asked next. Open pages get a hint,
and look again by themselves within half a minute where that is lost.
"""

import re
from functools import partial

from django.contrib.auth import SESSION_KEY, get_user_model
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from tasks_app import wake
from tasks_app.domain.errors import Conflict, Invalid, NotFound
from tasks_app.domain.names import MAX_NAME
from tasks_app.domain.statuses import AccessLevel
from tasks_app.domain.text import one_line
from tasks_app.models import Team, TeamAccess
from tasks_app.selectors import accounts
from tasks_app.services import events, keys

MAX_PASSWORD = 1_000
TOO_LONG = f"A password has at most {MAX_PASSWORD:,} characters."
NAME = re.compile(r"[\w.@+][\w.@+-]*")
LEVEL_WORD: dict[str, str] = {AccessLevel.LEAD: "leads", AccessLevel.VIEWER: "views"}
NOT_TYPED = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
"""What nobody can type into the sign-in form."""


def check_name(name: str) -> str:
    """Return the name of an account that is to be made, in its usual form. Raises `Invalid`, or `Conflict` where it is taken.

    It stands behind `user:` in columns of 80 characters, and in addresses of live pages: so its length and letters.
    """
    usual = get_user_model().normalize_username(name)
    if not NAME.fullmatch(usual) or len(usual) > MAX_NAME:
        raise Invalid(
            f"“{one_line(name, MAX_NAME)}” cannot be the name of an account. "
            f"It has 1 to {MAX_NAME} letters, digits and . _ - + @, and begins with no -.",
            field="name",
        )
    taken = next((one for one in accounts.names() if one.casefold() == usual.casefold()), None)
    if taken is not None:
        raise _taken(taken)
    return usual


def check_password(password: str, *, name: str) -> str:
    """Return the password where it may be one. Raises `Invalid` with every reason against it."""
    if NOT_TYPED.search(password):
        raise Invalid("A password is one line of text without control characters.", field="password")
    if len(password) > MAX_PASSWORD:
        raise Invalid(TOO_LONG, field="password")
    try:
        validate_password(password, User(username=name))
    except ValidationError as error:
        raise Invalid(" ".join(error.messages), field="password") from None
    return password


def add(name: str, *, password: str | None, admin: bool = False) -> str:
    """Make an account and return its name; None: without a password, for sign-in links. Raises `Invalid` and `Conflict`."""
    hashed = _hashed(password, name=name)
    try:
        with transaction.atomic():
            usual = check_name(name)
            get_user_model().objects.create(username=usual, password=hashed, is_superuser=admin, is_staff=admin)
    except IntegrityError:  # by another command, in the same moment
        raise _taken(name) from None
    return usual


def set_password(user_id: int, password: str | None) -> None:
    """Set another password, None: none any more. It signs that person out everywhere. Raises `Invalid`."""
    hashed = _hashed(password, name=_user(user_id).username)
    with transaction.atomic():
        get_user_model().objects.filter(pk=user_id).update(password=hashed)
        _look_again()


@transaction.atomic
def let_in(user_id: int, team_id: int, *, level: str) -> str | None:
    """Let somebody into a team, or change the level there; returns the level before.

    Raises `Invalid` for a level that there is not, `Conflict` where it is so already and for an administrator.
    """
    if level not in list(AccessLevel):
        raise Invalid(f"“{one_line(level, 40)}” is no level. lead: may act on the team; viewer: may see it.", field="level")
    user, team = _both(user_id, team_id)
    before = TeamAccess.objects.filter(user=user, team=team).values_list("level", flat=True).first()
    if before == level:
        raise Conflict(f"{user.username} {LEVEL_WORD[level]} {team.name} already.", field="level")
    TeamAccess.objects.update_or_create(user=user, team=team, defaults={"level": level})
    _look_again(team_id)
    return before


@transaction.atomic
def shut_out(user_id: int, team_id: int) -> None:
    """Take somebody's access to a team away. Raises `Conflict` for who has none, and for an administrator."""
    user, team = _both(user_id, team_id)
    if not TeamAccess.objects.filter(user=user, team=team).delete()[0]:
        raise Conflict(f"{user.username} has no access to {team.name}.", field="team")
    _look_again(team_id)


@transaction.atomic
def disable(user_id: int) -> None:
    """Let somebody sign in no more, and sign them out everywhere; what they may see is kept. Raises `Conflict`.

    The last administrator who may sign in stays one: without any, nobody could act on a team whose leads are gone.
    """
    user = _user(user_id)
    admins = get_user_model().objects.select_for_update(no_key=True).filter(is_superuser=True, is_active=True).order_by("pk")
    if [admin.pk for admin in admins] == [user_id]:  # locked: of two at once the second sees what the first did
        raise Conflict(
            f"{user.username} is the last administrator who may sign in. Make or enable another one first.", field="name"
        )
    _activate(user, False)


@transaction.atomic
def enable(user_id: int) -> None:
    """Let somebody sign in again who was disabled; sessions of before stay ended. Raises `Conflict`."""
    _activate(_user(user_id), True)


def _activate(user: User, active: bool) -> None:
    if not get_user_model().objects.filter(pk=user.pk, is_active=not active).update(is_active=active):
        raise Conflict(f"{user.username} is {'enabled' if active else 'disabled'} already.", field="name")
    _end_sessions(user.pk)
    _look_again()


def _end_sessions(user_id: int) -> None:
    """Django only refuses the sessions of somebody inactive: they would be good again."""
    going = [
        session.pk
        for session in Session.objects.filter(expire_date__gt=timezone.now()).iterator()
        if session.get_decoded().get(SESSION_KEY) == str(user_id)
    ]
    for key in going:
        Session.objects.filter(pk=key).delete()


def signed_out() -> None:
    """A session has ended: its pages in other tabs are to close now, and not with the next round of questions."""
    _look_again()


def _look_again(team_id: int = 1) -> None:
    """Have every web process ask again, for each open page, who looks. Any team will do: hints name one."""
    transaction.on_commit(partial(wake.browsers, team_id, 0, [keys.TEAMS]), robust=True)


def _both(user_id: int, team_id: int) -> tuple[User, Team]:
    team, user = events.lock(team_id), _user(user_id)
    if user.is_superuser:
        raise Conflict(f"{user.username} is an administrator, and administrators lead every team.", field="name")
    return user, team


def _user(user_id: int) -> User:
    user = get_user_model().objects.filter(pk=user_id).first()
    if user is None:
        raise NotFound("The account is gone.", field="name")
    return user


def _hashed(password: str | None, *, name: str) -> str:
    """Hashing is slow on purpose: done before a transaction, for on SQLite everybody else who writes waits for that."""
    return make_password(None if password is None else check_password(password, name=name))


def _taken(name: str) -> Conflict:
    return Conflict(f"There is an account “{name}” already. Names that differ in case alone count as one.", field="name")
