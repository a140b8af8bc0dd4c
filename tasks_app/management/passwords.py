"""How the terminal comes by a new password: asked for twice, or one line of standard input; never an argument."""

import getpass
import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from tasks_app.domain.errors import Invalid
from tasks_app.services import accounts

MOST_BYTES = 4 * accounts.MAX_PASSWORD + 2
"""Of the longest password and its line end."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the two ways that ask nobody."""
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--password-stdin", action="store_true", help="read the password from standard input, one line")
    way.add_argument("--no-password", action="store_true", help="none: only a link of sign_in_link lets them in")


def read(given: Mapping[str, Any], *, name: str) -> str | None:
    """Return the password for the account of that name, None for none. Raises `Invalid`."""
    if given["no_password"]:
        return None
    return accounts.check_password(_from_stdin(), name=name) if given["password_stdin"] else _asked(name)


def _from_stdin() -> str:
    data = sys.stdin.buffer.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise Invalid(accounts.TOO_LONG, field="password-stdin")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise Invalid("The password on standard input is not text in UTF-8.", field="password-stdin") from None
    return text.removesuffix("\n").removesuffix("\r")


def _asked(name: str) -> str:
    if not sys.stdin.isatty():
        raise Invalid(
            "There is no terminal to ask for the password: give --password-stdin or --no-password.", field="password-stdin"
        )
    try:
        first = accounts.check_password(getpass.getpass(f"Password of {name}: "), name=name)
        again = getpass.getpass("Once more: ")
    except EOFError:
        raise Invalid("No password was given.", field="password") from None
    if first != again:
        raise Invalid("These are two different passwords. Nothing was changed.", field="password")
    return first
