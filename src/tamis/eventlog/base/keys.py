"""Idempotency keys of the last day: which events were appended under them. A log keeps hashes, never a key itself."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from datetime import timedelta
from hashlib import blake2b
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

KEPT_FOR: Final = timedelta(hours=24)
MOST_KEYS: Final = 1_000_000

# key, content, first, count, received
ENTRY: Final = struct.Struct("<16s16sQIq")


@dataclass(frozen=True, slots=True)
class Keyed:
    """One append under a key: hashes of key and bodies, the events it became, and when (µs since 1970)."""

    key: bytes
    content: bytes
    first: int
    count: int
    received: int

    def to_bytes(self) -> bytes:
        """All of it, packed."""
        return ENTRY.pack(self.key, self.content, self.first, self.count, self.received)

    @classmethod
    def from_bytes(cls, raw: bytes) -> Keyed:
        """What to_bytes packed."""
        return cls(*ENTRY.unpack(raw))


class RememberedKeys:
    """The newest appends under keys, in the order in which they came. Not for several threads.

    Older than a day, or more than a million: the oldest are forgotten. Entries are packed, for there may be many.
    """

    def __init__(self, kept_for: timedelta = KEPT_FOR, most: int = MOST_KEYS) -> None:
        self.kept = int(kept_for.total_seconds() * 1e6)
        self._most = most
        self._entries: dict[bytes, bytes] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, key: bytes, now: int) -> Keyed | None:
        """The append under this key, if it is not too long ago."""
        raw = self._entries.get(key)
        if raw is None:
            return None
        found = Keyed.from_bytes(raw)
        return found if found.received >= now - self.kept else None

    def add(self, keyed: Keyed) -> None:
        """Remembers an append, and forgets those that are too old by now."""
        self._entries.pop(keyed.key, None)
        self._entries[keyed.key] = keyed.to_bytes()
        while len(self._entries) > self._most or self._oldest() < keyed.received - self.kept:
            del self._entries[next(iter(self._entries))]

    def _oldest(self) -> int:
        return Keyed.from_bytes(next(iter(self._entries.values()))).received


def key_hash(key: str) -> bytes:
    """An idempotency key as frames hold it: never the key itself."""
    return blake2b(key.encode(), digest_size=16, person=b"tamis key").digest()


def content_hash(bodies: pa.Array) -> bytes:
    """A hash of bodies in their order, however Arrow lays them out."""
    digest = blake2b(digest_size=16, person=b"tamis content")
    digest.update(pc.binary_length(bodies).to_numpy(zero_copy_only=False).astype("<i8").tobytes())
    _, offsets, data = bodies.buffers()
    if data is not None and len(bodies):
        edges = np.frombuffer(offsets, np.int32, count=len(bodies) + 1, offset=4 * bodies.offset)
        digest.update(memoryview(data)[edges[0] : edges[-1]])
    return digest.digest()
