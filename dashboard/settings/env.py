"""Typed readers of the environment: each returns a value of its type or stops the start with a sentence."""

import os
import secrets
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured
from platformdirs import user_data_path

TRUE = frozenset({"1", "true", "yes", "on"})
FALSE = frozenset({"0", "false", "no", "off"})


def text(name: str, default: str = "") -> str:
    """Return the variable without surrounding white space, or the default where it is unset or empty."""
    return os.environ.get(name, "").strip() or default


def flag(name: str, *, default: bool) -> bool:
    """Return a yes/no variable; raises ImproperlyConfigured for any other word."""
    value = text(name).lower()
    if not value:
        return default
    if value in TRUE:
        return True
    if value in FALSE:
        return False
    raise ImproperlyConfigured(f"{name}={value!r} is neither yes nor no. Use 1 or 0.")


def number(name: str, default: float, *, low: float, high: float) -> float:
    """Return a number within [low, high]; raises ImproperlyConfigured for nonsense."""
    value = text(name)
    if not value:
        return default
    try:
        parsed = float(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name}={value!r} is not a number.") from None
    if not low <= parsed <= high:
        raise ImproperlyConfigured(f"{name}={value} is outside {low:g} to {high:g}.")
    return parsed


def words(name: str, default: str = "") -> list[str]:
    """Return a comma-separated list."""
    return [word.strip() for word in text(name, default).split(",") if word.strip()]


def unreadable(name: str, form: str) -> ImproperlyConfigured:
    """Return what to raise for an address that makes no sense: it is not repeated, nor any part, for it holds a password."""
    return ImproperlyConfigured(
        f"{name} cannot be read. It has the form {form}; special characters of a password are written as %XX, a slash as %2F."
    )


def has_parts(address: str) -> bool:
    """Whether an address can be taken apart: a password with a slash would become its port."""
    try:
        urlsplit(address).port  # noqa: B018 - it is read to be looked at
    except ValueError:
        return False
    return True


def home() -> Path:
    """Return the one folder that holds all state (CREWDESK_HOME), made private (0700) on first use."""
    folder = Path(text("CREWDESK_HOME") or user_data_path("crewdesk")).expanduser().absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise ImproperlyConfigured(f"The folder {folder} of CREWDESK_HOME cannot be made: {error.strerror}.") from None
    return folder


def secret_key(folder: Path) -> str:
    """Return CREWDESK_SECRET_KEY, or the one kept in the home folder (0600), made on first use."""
    given = text("CREWDESK_SECRET_KEY")
    if given:
        if len(given) < 32:
            raise ImproperlyConfigured("CREWDESK_SECRET_KEY is shorter than 32 characters.")
        return given
    path = folder / "secret_key"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _wait_for(path)
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_urlsafe(48))
    return path.read_text()


def _wait_for(path: Path) -> str:
    key = path.read_text().strip()
    if len(key) < 32:
        raise ImproperlyConfigured(f"{path} is damaged. Remove it: a new key is made and everybody signs in again.")
    return key
