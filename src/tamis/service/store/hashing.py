"""Random secrets and ids: generation of keys, tickets and ids, a ticket's subscription id, and hashes of secrets,
compared in constant time.

A plain SHA-256 is enough: secrets have 256 random bits, so there is nothing to guess that salt or slowness would
protect.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets

_RANDOM_BYTES = 32
_NOBODYS = hashlib.sha256(os.urandom(_RANDOM_BYTES)).digest()


def random_text(size: int = _RANDOM_BYTES) -> str:
    """URL-safe random characters, six bits each: 43 for 32 bytes, 22 for 16."""
    return secrets.token_urlsafe(size)


def random_texts(prefix: str, size: int, count: int) -> list[str]:
    """Many random texts, from one call to the system."""
    pool = os.urandom(size * count)
    encode = base64.urlsafe_b64encode
    return [prefix + encode(pool[k : k + size]).rstrip(b"=").decode() for k in range(0, len(pool), size)]


def id_for(ticket: str) -> str:
    """Id of a subscription whose ticket the subscriber brought: the id reveals nothing of the ticket."""
    named = hashlib.sha256(b"id\0" + ticket.encode()).digest()
    return "sub_" + base64.urlsafe_b64encode(named[:16]).rstrip(b"=").decode()


def digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def fits(secret: str, kept: bytes | None) -> bool:
    """True if the secret has the stored digest. Without a stored digest it takes as long, and returns False."""
    same = hmac.compare_digest(digest(secret), _NOBODYS if kept is None else kept)
    return same and kept is not None
