"""Stands in for the payment provider's server: the same checks and answers, without a network.

This file is theirs, not ours: nobody on the team changes it.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass

_PHRASES = {"sandbox-7": "correct horse battery staple"}
_RETIRED = {"pk_sandbox_2019": "retired on 1 March", "pk_sandbox_2024": "not enabled for charges"}


@dataclass(frozen=True)
class Response:
    """An HTTP answer: `status` and the decoded JSON body."""

    status: int
    body: Mapping[str, object]


def charge(body: str, headers: Mapping[str, str]) -> Response:
    """Answer `POST /v2/charges` with this body and these headers."""
    given = {name.lower(): value for name, value in headers.items()}
    refusal = _refusal(given, body)
    if refusal:
        return Response(401, {"error": "unauthorized", "detail": refusal})
    order = json.loads(body)
    if not isinstance(order.get("cents"), int) or order["cents"] <= 0:
        return Response(422, {"error": "invalid", "detail": "cents must be a whole number above zero"})
    mark = hashlib.sha256(given.get("idempotency-key", body).encode()).hexdigest()[:12]
    return Response(201, {"id": f"ch_{mark}", "cents": order["cents"], "status": "paid"})


def _refusal(headers: Mapping[str, str], body: str) -> str:
    """Return why the request is not let in, or nothing."""
    scheme, _, value = headers.get("authorization", "").partition(" ")
    if scheme == "Basic":
        return "Basic authentication was switched off"
    if scheme == "Bearer":
        return f"this key is {_RETIRED.get(value, 'unknown')}"
    phrase = _PHRASES.get(headers.get("x-key-id", ""))
    if phrase is None:
        return "no known X-Key-Id"
    signed = f"{headers.get('x-timestamp', '')}.{body}".encode()
    expected = "v2=" + hmac.new(phrase.encode(), signed, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected, headers.get("x-signature", "")):
        return "the signature does not match"
    return ""
