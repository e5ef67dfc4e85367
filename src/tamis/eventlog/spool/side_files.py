"""Side files of a spool's segments: the durable mark, positions of frames, and the idempotency keys of full segments.

The mark tells readers in other processes how far they may read. The other two are hints, written without fsync: they
are checked, and where one is wrong or missing, the segment is scanned instead.
"""

from __future__ import annotations

import os
import struct
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from zlib import crc32

from tamis.eventlog.base.event_log import ENTRY, Keyed
from tamis.eventlog.spool.segments import INDEX, KEYS, SEGMENT_HEADER, SpoolDamaged

MARK: Final = "durable"
STRIDE: Final = 1 << 16  # bytes of a segment for which one place is noted

_MARK_MAGIC: Final = b"TAMISDM1"
# magic, spool, segment, position, end, checksum
_MARK_FORM: Final = struct.Struct("<8s16sQQQI")
_TRIES: Final = 100

_POSITION: Final = struct.Struct("<QQ")

_KEYS_MAGIC: Final = b"TAMISKY1"
_KEYS_PREFIX: Final = len(_KEYS_MAGIC) + 4


@dataclass(frozen=True, slots=True)
class Mark:
    """Durable mark: the events before `end` are on disk; the last of them ends at byte `position` of the segment
    `segment`.

    Written after the fsync and not fsynced itself: after a power cut it may lag behind, never run ahead.
    """

    spool: bytes
    segment: int
    position: int
    end: int

    def to_bytes(self) -> bytes:
        """Mark as it is on disk."""
        raw = _MARK_FORM.pack(_MARK_MAGIC, self.spool, self.segment, self.position, self.end, 0)[:-4]
        return raw + crc32(raw).to_bytes(4, "little")


def parse_mark(raw: bytes) -> Mark | None:
    """Parses a mark; None if the bytes are not one."""
    if len(raw) != _MARK_FORM.size or crc32(raw[:-4]) != int.from_bytes(raw[-4:], "little"):
        return None
    magic, spool, segment, position, end, _ = _MARK_FORM.unpack(raw)
    return Mark(spool, segment, position, end) if magic == _MARK_MAGIC else None


def read_mark(folder: Path) -> Mark | None:
    """Reads the mark; None where nothing has ever been written."""
    # A read may fall into the middle of a write, which takes less than a microsecond: the next one will not.
    for _ in range(_TRIES):
        try:
            raw = (folder / MARK).read_bytes()
        except FileNotFoundError:
            return None
        found = parse_mark(raw)
        if found is not None:
            return found
    raise SpoolDamaged(MARK, 0, "the mark does not fit its checksum; opening the spool for writing makes a new one")


class MarkFile:
    """File of the mark, open for writing: always overwritten in place, so that it needs no room on a full disk."""

    def __init__(self, folder: Path) -> None:
        self._file = os.open(folder / MARK, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def write(self, mark: Mark) -> None:
        """Publishes a mark: readers may read up to here."""
        os.pwrite(self._file, mark.to_bytes(), 0)

    def close(self) -> None:
        """Closes the file."""
        os.close(self._file)


class PositionsFile:
    """Position index of the newest segment; begun anew when the spool is opened."""

    def __init__(self, segment: Path) -> None:
        self._file = os.open(segment.with_suffix(INDEX), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        self._next = SEGMENT_HEADER + STRIDE

    def add(self, first: int, position: int) -> None:
        """Notes a frame, if the last noted one is far enough away. Frames come in order."""
        if position >= self._next:
            self._next = position + STRIDE
            # A hint that cannot be written is only one that is missing.
            with suppress(OSError):
                os.write(self._file, _POSITION.pack(first, position))

    def close(self) -> None:
        """Closes the file."""
        os.close(self._file)


def position_before(segment: Path, offset: int) -> tuple[int, int] | None:
    """Frame at or shortly before the event: its first event, and its place by the index."""
    try:
        raw = segment.with_suffix(INDEX).read_bytes()
    except FileNotFoundError:
        return None
    entries = list(_POSITION.iter_unpack(raw[: len(raw) - len(raw) % _POSITION.size]))
    place = bisect_right(entries, offset, key=lambda entry: entry[0]) - 1
    return entries[place] if place >= 0 else None


def save_keys(segment: Path, keys: list[Keyed]) -> None:
    """Writes the keys of a full segment, so that nobody need scan it again."""
    raw = b"".join(map(Keyed.to_bytes, keys))
    segment.with_suffix(KEYS).write_bytes(_KEYS_MAGIC + crc32(raw).to_bytes(4, "little") + raw)


def load_keys(segment: Path) -> Iterator[Keyed] | None:
    """Keys that save_keys wrote; None if the file is missing, or incomplete because it was never fsynced."""
    try:
        raw = segment.with_suffix(KEYS).read_bytes()
    except FileNotFoundError:
        return None
    magic, checksum, entries = raw[: len(_KEYS_MAGIC)], raw[len(_KEYS_MAGIC) : _KEYS_PREFIX], raw[_KEYS_PREFIX:]
    if magic != _KEYS_MAGIC or crc32(entries) != int.from_bytes(checksum, "little") or len(entries) % ENTRY.size:
        return None
    return (Keyed(*fields) for fields in ENTRY.iter_unpack(entries))
