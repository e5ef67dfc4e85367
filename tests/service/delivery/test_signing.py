"""Signatures are those of Standard Webhooks, held to its specification and its own example."""

from __future__ import annotations

import base64
import hashlib
import secrets

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.service.delivery.webhooks import SecretError, signed_headers


def new_secret() -> str:
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


def hmac_sha256(key: bytes, message: bytes) -> bytes:
    """RFC 2104, written out."""
    key = hashlib.sha256(key).digest() if len(key) > 64 else key
    key = key.ljust(64, b"\0")
    inner = hashlib.sha256(bytes(one ^ 0x36 for one in key) + message).digest()
    return hashlib.sha256(bytes(one ^ 0x5C for one in key) + inner).digest()


def verifies(secret: str, headers: dict[str, str], body: bytes) -> bool:
    """As a receiver does it, from the specification."""
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac_sha256(base64.b64decode(secret.removeprefix("whsec_")), signed)).decode()
    return f"v1,{expected}" in headers["webhook-signature"].split(" ")


def test_the_specifications_own_example() -> None:
    headers = signed_headers(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'
    )
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@given(st.text(max_size=30), st.integers(0, 2**40), st.binary(max_size=200))
def test_an_independent_receiver_agrees(id: str, timestamp: int, body: bytes) -> None:
    secret = new_secret()
    headers = signed_headers(secret, id, timestamp, body)
    assert verifies(secret, headers, body)
    assert not verifies(secret, headers, body + b"x")
    assert not verifies(new_secret(), headers, body)


@pytest.mark.parametrize(
    "secret",
    ["", "whsec_", "whsec_short", "whsec_" + "A" * 200, "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_€" + "A" * 40],
)
def test_what_is_no_secret_is_refused(secret: str) -> None:
    with pytest.raises(SecretError):
        signed_headers(secret, "a", 1, b"")


def test_without_a_secret_there_is_no_signature() -> None:
    assert signed_headers(None, "a", 1, b"") == {"webhook-id": "a", "webhook-timestamp": "1"}
