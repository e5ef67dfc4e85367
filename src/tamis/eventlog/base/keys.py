"""Idempotency keys of the last day: which events were appended under them."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final
from zlib import crc32

from tamis.eventlog.spool.segments import KEYS

KEPT_FOR: Final = timedelta(hours=24)
MOST_KEYS: Final = 1_000_000

_MAGIC: Final = b"TAMISKY1"
# key, content, first, count, received
_ENTRY: Final = struct.Struct("<16s16sQIq")
_PREFIX: Final = len(_MAGIC) + 4


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
        return _ENTRY.pack(self.key, self.content, self.first, self.count, self.received)

    @classmethod
    def from_bytes(cls, raw: bytes) -> Keyed:
        """What to_bytes packed."""
        return cls(*_ENTRY.unpack(raw))


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


def save_keys(segment: Path, keys: list[Keyed]) -> None:
    """Writes down the keys of a full segment, so that nobody need walk through it again."""
    raw = b"".join(map(Keyed.to_bytes, keys))
    segment.with_suffix(KEYS).write_bytes(_MAGIC + crc32(raw).to_bytes(4, "little") + raw)


def load_keys(segment: Path) -> Iterator[Keyed] | None:
    """What save_keys wrote; None if it is missing, or not all there because it was never fsynced."""
    try:
        raw = segment.with_suffix(KEYS).read_bytes()
    except FileNotFoundError:
        return None
    magic, checksum, entries = raw[: len(_MAGIC)], raw[len(_MAGIC) : _PREFIX], raw[_PREFIX:]
    if magic != _MAGIC or crc32(entries) != int.from_bytes(checksum, "little") or len(entries) % _ENTRY.size:
        return None
    return (Keyed(*fields) for fields in _ENTRY.iter_unpack(entries))
