"""Sends one JSON document to an address outside, carefully: what a web hook must never reach, or wait for, it does not."""

import asyncio
import socket
from collections.abc import Mapping
from typing import Any

import httpx

from tasks_app.domain.addresses import fault, is_loopback, is_public

CONNECT_S, TOTAL_S = 3.0, 10.0
AGENT = "Crewdesk"


class Undelivered(Exception):
    """The document did not arrive, as far as one can tell; the text says why, without address or secret."""


async def post(url: str, document: Mapping[str, Any], *, loopback: bool = False) -> None:
    """POST the document as JSON and return when the other side took it (a status of 2xx). Raises `Undelivered`.

    The host is resolved and every address checked before one of them is connected to, so a name cannot lead inside, nor change
    in between. No redirects, no proxies; the body of the answer is not read. `loopback` lets http to this machine pass.
    """
    try:
        async with asyncio.timeout(TOTAL_S):
            status = await _send(_parse(url, loopback=loopback), document)
    except TimeoutError:
        raise Undelivered(f"no answer within {TOTAL_S:g} s") from None
    except httpx.HTTPError as error:
        raise Undelivered(f"the connection failed ({type(error).__name__})") from None
    if 300 <= status < 400:
        raise Undelivered(f"it redirects ({status}), and redirects are not followed")
    if not 200 <= status < 300:
        raise Undelivered(f"it answered {status}")


async def look_up(url: str, *, loopback: bool = False) -> str:
    """Return the host of an address that could be posted to, sending nothing. Raises `Undelivered`."""
    parsed = _parse(url, loopback=loopback)
    try:
        async with asyncio.timeout(TOTAL_S):
            await _checked_address(parsed)
    except TimeoutError:
        raise Undelivered(f"{parsed.host} is not found within {TOTAL_S:g} s") from None
    return parsed.host


def _parse(url: str, *, loopback: bool) -> httpx.URL:
    if wrong := fault(url, loopback=loopback):
        raise Undelivered(f"the address {wrong}")
    try:
        return httpx.URL(url)
    except httpx.InvalidURL:
        raise Undelivered("the address cannot be read") from None


async def _send(url: httpx.URL, document: Mapping[str, Any]) -> int:
    pinned = url.copy_with(host=await _checked_address(url))
    headers = {"Host": url.netloc.decode("ascii"), "User-Agent": AGENT}
    # the certificate must be that of the name, not of the number that is connected to
    named = {"sni_hostname": url.raw_host.decode("ascii")}
    timeout = httpx.Timeout(TOTAL_S, connect=CONNECT_S)
    async with (
        httpx.AsyncClient(trust_env=False, follow_redirects=False, timeout=timeout) as client,
        client.stream("POST", pinned, json=dict(document), headers=headers, extensions=named) as answer,
    ):
        return answer.status_code


async def _checked_address(url: httpx.URL) -> str:
    """Return an address of the host. One that is not public among them is reason enough to send nothing."""
    host = url.raw_host.decode("ascii")
    if is_loopback(host):  # as `fault` let pass
        return host
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, url.port or 443, type=socket.SOCK_STREAM)
    except OSError:
        raise Undelivered(f"{host} cannot be found") from None
    addresses = [str(entry[4][0]) for entry in found]
    inside = next((address for address in addresses if not is_public(address)), None)
    if inside is not None or not addresses:
        raise Undelivered(f"{host} leads to {inside or 'no address'}, which is not a public address")
    return addresses[0]
