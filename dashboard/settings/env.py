"""Typed readers of the environment: each returns a value of its type or stops the start with a sentence."""

import ipaddress
import os
import re
import secrets
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from django.core.exceptions import ImproperlyConfigured
from platformdirs import user_data_path

TRUE = frozenset({"1", "true", "yes", "on"})
FALSE = frozenset({"0", "false", "no", "off"})
HOST = re.compile(r"\.?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?")


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


def whole(name: str, default: int, *, low: int, high: int) -> int:
    """Return a whole number within [low, high]; raises ImproperlyConfigured for nonsense and for fractions."""
    parsed = number(name, default, low=low, high=high)
    if parsed != int(parsed):
        raise ImproperlyConfigured(f"{name}={text(name)} is not a whole number.")
    return int(parsed)


def choice(name: str, default: str, choices: Sequence[str]) -> str:
    """Return one of the choices, which are in capitals, however it is written; raises ImproperlyConfigured for any other word."""
    value = text(name, default)
    if value.upper() not in choices:
        raise ImproperlyConfigured(f"{name}={value!r} is none of {', '.join(choices)}.")
    return value.upper()


def hosts(name: str, default: str) -> list[str]:
    """Return host names as a browser asks for them: no scheme, port or path, IPv6 in brackets; `.example.org` is all below it."""
    found = words(name, default)
    wrong = [word for word in found if word != "*" and not _is_ipv6(word[1:-1], word[0] + word[-1]) and not _is_host(word)]
    if wrong or not found:
        said = f"{wrong[0]!r} is no host name" if wrong else "it names no host"
        raise ImproperlyConfigured(f"{name}: {said}. Write names alone, without scheme, port or path: desk.example.org,[::1].")
    return found


def proxies(name: str) -> list[str]:
    """Return addresses, networks or host names; raises ImproperlyConfigured for what is none of them."""
    found = words(name)
    for word in found:
        if not _is_network(word) and (word.startswith(".") or not _is_host(word)):
            said = f"{name}: {word!r} is neither an address nor a network nor a host name."
            raise ImproperlyConfigured(f"{said} Write, for example, 10.0.0.2, 10.0.0.0/8 or proxy.")
    return found


def _is_host(word: str) -> bool:
    """A last part in digits alone is that of an address, which must then be one."""
    return bool(HOST.fullmatch(word)) and (not word.rstrip(".").rpartition(".")[2].isdigit() or _is_network(word))


def _is_ipv6(word: str, brackets: str) -> bool:
    return brackets == "[]" and ":" in word and _is_network(word) and "/" not in word


def _is_network(word: str) -> bool:
    try:
        ipaddress.ip_network(word, strict=False)
    except ValueError:
        return False
    return True


def words(name: str, default: str = "") -> list[str]:
    """Return a comma-separated list."""
    return [word.strip() for word in text(name, default).split(",") if word.strip()]


def unreadable(name: str, form: str) -> ImproperlyConfigured:
    """Return what to raise for an address that makes no sense: it is not repeated, nor any part, for it holds a password."""
    return ImproperlyConfigured(
        f"{name} cannot be read. It has the form {form}; special characters of a password are written as %XX, a slash as %2F."
    )


def is_redis(address: str) -> bool:
    """Whether it is an address of a Redis server, its database a number."""
    if not address.startswith(("redis://", "rediss://", "unix://")) or not has_parts(address):
        return False
    parts = urlsplit(address)
    numbers = parse_qs(parts.query, keep_blank_values=True).get("db", [])
    numbers += [parts.path.strip("/")] if parts.scheme != "unix" and parts.path.strip("/") else []
    return all(one.isascii() and one.isdigit() for one in numbers)


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
    return made(folder, "CREWDESK_HOME", mode=0o700)


def made(folder: Path, name: str, *, mode: int = 0o777) -> Path:
    """Return the folder that a variable names, which is made where it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=mode)
    except OSError as error:
        raise ImproperlyConfigured(f"The folder {folder} of {name} cannot be made: {error.strerror}.") from None
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
