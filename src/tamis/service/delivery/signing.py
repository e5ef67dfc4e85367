"""Signatures by which a receiver knows that a webhook is from here (Standard Webhooks, symmetric, version 1)."""

from __future__ import annotations

import base64
import binascii
import hmac
from typing import Final

from tamis.errors import TamisError

PREFIX: Final = "whsec_"
_SHORTEST, _LONGEST = 24, 64


class SecretError(TamisError):
    """A text that is no webhook secret."""


def secret_bytes(secret: str) -> bytes:
    """What a secret stands for; `SecretError` unless it is 24 to 64 bytes in base64 after `whsec_`."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True) if secret.startswith(PREFIX) else b""
    except (binascii.Error, ValueError):
        key = b""
    if not _SHORTEST <= len(key) <= _LONGEST:
        raise SecretError(f"a webhook's secret is {PREFIX} and {_SHORTEST} to {_LONGEST} random bytes in base64")
    return key


def signed_headers(secret: str | None, id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The three headers of Standard Webhooks for one attempt; without a secret, the two that need none."""
    headers = {"webhook-id": id, "webhook-timestamp": str(timestamp)}
    if secret is None:
        return headers
    signed = hmac.digest(secret_bytes(secret), b"%b.%d.%b" % (id.encode(), timestamp, body), "sha256")
    return {**headers, "webhook-signature": f"v1,{base64.b64encode(signed).decode()}"}
