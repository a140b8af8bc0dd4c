"""One-time sign-in links: signed and bound to the last sign-in of the user, so that using one makes all of them void."""

from datetime import datetime

from django.contrib.auth import get_user_model
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import User
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.http import base36_to_int, int_to_base36

from tasks_app.domain.errors import Conflict
from tasks_app.management.words import COMMAND
from tasks_app.selectors.accounts import Account

LINK_S = 15 * 60
"""How long a link is good for, in seconds."""
FIRST_USERNAME = "lead"


class _LinkTokens(PasswordResetTokenGenerator):
    """Django's password-reset tokens with a purpose and a life time of their own."""

    key_salt = "tasks_app.management.sign_in"

    def _make_hash_value(self, user: AbstractBaseUser, timestamp: int) -> str:
        return f"{user.pk}/{user.password}/{user.last_login and user.last_login.isoformat()}/{user.is_active}/{timestamp}"

    def check_token(self, user: User | None, token: str | None) -> bool:
        return super().check_token(user, token) and self.age_s(str(token)) <= LINK_S

    def age_s(self, token: str) -> int:
        """Return the age of a token that has passed the check of its signature."""
        return self._num_seconds(self._now()) - base36_to_int(token.partition("-")[0])


_tokens = _LinkTokens()


def ensure_lead() -> User:
    """Return the first active superuser, made as `lead` without a usable password where there is none."""
    found = _first()
    if found is not None:
        return found
    users = get_user_model().objects
    name = next(name for name in _names() if not users.filter(username=name).exists())
    try:
        with transaction.atomic():
            return users.create_superuser(username=name, email="", password=None)
    except IntegrityError:
        made = _first()  # by another command, in the same moment
        if made is None:
            raise
        return made


def _first() -> User | None:
    return get_user_model().objects.filter(is_superuser=True, is_active=True).order_by("pk").first()


def user_of(account: Account) -> User:
    """Return the user whom a link is for. Raises `Conflict` for an account that is disabled: the link would be void."""
    user = get_user_model().objects.filter(pk=account.pk, is_active=True).first()
    if user is None:
        raise Conflict(f"{account.name} is disabled: {COMMAND} account enable {account.name}", field="name")
    return user


def make_link_token(user: User) -> str:
    """Return a token for the address `first-sign-in`: good once, for 15 minutes, until the user signs in by any way."""
    return f"{int_to_base36(user.pk)}-{_tokens.make_token(user)}"


def peek(token: str) -> User | None:
    """Return whom the token would sign in, without using it up; None when it is wrong, used or too old."""
    head, _, rest = token.partition("-")
    try:
        pk = base36_to_int(head)
    except ValueError:
        return None
    user = get_user_model().objects.filter(pk=pk, is_active=True).first() if pk < 2**63 else None
    return user if user is not None and _tokens.check_token(user, rest) else None


def check(token: str) -> User | None:
    """Use the token up and return the user to sign in; None when it is wrong, used or too old. Of two at once one wins."""
    user = peek(token)
    if user is None:
        return None
    now: datetime = timezone.now()
    won = get_user_model().objects.filter(pk=user.pk, last_login=user.last_login).update(last_login=now)
    if not won:
        return None
    user.last_login = now
    return user


def _names() -> list[str]:
    return [FIRST_USERNAME, *(f"{FIRST_USERNAME}-{number}" for number in range(2, 1000))]
