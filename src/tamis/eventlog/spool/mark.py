"""The durable mark: how far the spool may be read. Readers in other processes go by it alone."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from zlib import crc32

from tamis.eventlog.base.errors import SpoolDamaged

MARK: Final = "durable"

_MAGIC: Final = b"TAMISDM1"
# magic, spool, segment, position, end, checksum
_FORM: Final = struct.Struct("<8s16sQQQI")
_TRIES: Final = 100


@dataclass(frozen=True, slots=True)
class Mark:
    """The events before `end` are on disk; the last of them ends at byte `position` of the segment `segment`.

    Written after the fsync and not fsynced itself: after a power cut it may lag behind, never run ahead.
    """

    spool: bytes
    segment: int
    position: int
    end: int

    def to_bytes(self) -> bytes:
        """The mark as it is on disk."""
        raw = _FORM.pack(_MAGIC, self.spool, self.segment, self.position, self.end, 0)[:-4]
        return raw + crc32(raw).to_bytes(4, "little")


def parse_mark(raw: bytes) -> Mark | None:
    """The mark in these bytes, if they are one."""
    if len(raw) != _FORM.size or crc32(raw[:-4]) != int.from_bytes(raw[-4:], "little"):
        return None
    magic, spool, segment, position, end, _ = _FORM.unpack(raw)
    return Mark(spool, segment, position, end) if magic == _MAGIC else None


def read_mark(folder: Path) -> Mark | None:
    """The mark, or None where nothing has ever been written."""
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
    """The mark's file, open for writing: always overwritten in place, so that it needs no room on a full disk."""

    def __init__(self, folder: Path) -> None:
        self._file = os.open(folder / MARK, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def write(self, mark: Mark) -> None:
        """Shows readers everything up to here."""
        os.pwrite(self._file, mark.to_bytes(), 0)

    def close(self) -> None:
        """Lets go of the file."""
        os.close(self._file)
