"""Keys found a moment ago, so that not every request asks the store."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from typing import Final

from starlette.concurrency import run_in_threadpool

from tamis.service.store import Key

LONGEST_SECRET: Final = 200

_SECONDS: Final = 2.0  # a key revoked by another process is refused after at most that
_REMEMBERED: Final = 10_000


class KeyRing:
    """Keys by the hash of their secret, each for two seconds. Used by the event loop's thread only.

    Only keys that were found are remembered: what is made a moment from now is found at once.
    """

    def __init__(self, find: Callable[[str], Key | None], clock: Callable[[], float] = time.monotonic) -> None:
        self._find = find
        self._clock = clock
        self._known: dict[bytes, tuple[float, Key]] = {}

    async def find(self, secret: str) -> Key | None:
        """The key of a secret; None if it is unknown, malformed or revoked."""
        if len(secret) > LONGEST_SECRET or not secret.isascii():
            return None
        digest = hashlib.sha256(secret.encode()).digest()
        known = self._known.get(digest)
        if known is not None and known[0] > self._clock():
            return known[1]
        key = await run_in_threadpool(self._find, secret)
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        if key is not None:
            self._known[digest] = (self._clock() + _SECONDS, key)
        else:
            self._known.pop(digest, None)
        return key

    def forget(self) -> None:
        """Has every key looked up anew: one was revoked."""
        self._known = {}
