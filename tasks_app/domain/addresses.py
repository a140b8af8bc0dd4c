"""Addresses outside: which one a web hook may have, and which machines may never be reached through one."""

import ipaddress
from urllib.parse import SplitResult, urlsplit

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
MOST = 2000
"""Characters of an address; real ones have a tenth of it."""


def fault(url: str, *, loopback: bool = False) -> str:
    """Return what is wrong with the address of a web hook, in words, or nothing. The address itself is never in the text.

    It must be https and name a public machine as far as the text tells; `loopback` also lets http to this machine pass.
    """
    parts = _split(url)
    host = (parts.hostname or "") if parts else ""
    if parts is None or not host or len(url) > MOST or not url.isascii() or any(char.isspace() for char in url):
        return "is not an address such as https://hooks.example.org/path"
    if loopback and parts.scheme == "http" and is_loopback(host):
        return ""
    if parts.scheme != "https":
        return "does not start with https://: what is sent would travel in the clear"
    return PRIVATE if _is_private(host) else ""


PRIVATE = "names a machine of a private network or this machine itself"


def _is_private(host: str) -> bool:
    """As far as the text tells."""
    return host == "localhost" or host.endswith(".localhost") or (_parsed(host) is not None and not is_public(host))


def link_fault(url: str) -> str:
    """Return what is wrong with an address that people may be led to, in words, or nothing: http or https, a public machine."""
    parts = _split(url)
    host = (parts.hostname or "") if parts else ""
    odd = len(url) > MOST or not url.isascii() or not url.isprintable() or any(char.isspace() for char in url)
    if parts is None or parts.scheme not in ("http", "https") or not host or odd or parts.username is not None:
        return "is not an address such as https://example.org/path"
    return PRIVATE if _is_private(host) else ""


def below(url: str, start: str) -> bool:
    """Whether `url` has the scheme and machine of `start`, and a path that is that of `start` or goes on from it."""
    mine, wanted = _split(url), _split(start)
    if mine is None or wanted is None or link_fault(url):
        return False
    same = (mine.scheme, mine.hostname, mine.port) == (wanted.scheme, wanted.hostname, wanted.port)
    path, base = mine.path or "/", wanted.path or "/"
    deeper = path.startswith(base) and (base.endswith("/") or path[len(base) : len(base) + 1] in ("", "/"))
    return same and deeper and ".." not in path.split("/")


def is_public(text: str) -> bool:
    """Whether it is an IP address of the public internet: not private, loopback, link-local (cloud metadata) or reserved.

    An IPv6 address that wraps an IPv4 address (mapped, 6to4) is what the wrapped one is.
    """
    address = _parsed(text)
    if isinstance(address, ipaddress.IPv6Address):
        wrapped = address.ipv4_mapped or address.sixtofour
        if wrapped is not None:
            address = wrapped
        elif address.is_site_local:
            return False
    if address is None or not address.is_global:
        return False
    return not (address.is_private or address.is_multicast or address.is_reserved or address.is_unspecified)


def is_loopback(host: str) -> bool:
    """Whether the host is this machine, written as an IP address."""
    address = _parsed(host)
    return address is not None and address.is_loopback


def _parsed(text: str) -> Address | None:
    try:
        return ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises for nonsense
    except ValueError:
        return None
    return parts
