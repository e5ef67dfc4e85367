"""Where in a segment to begin reading: the places of some of its frames, one for every 64 KiB or so.

The file is a hint. It is written beside the segment without fsync, and what it says is checked against the frame that
lies there; where it is wrong or missing, a reader walks from the segment's beginning.
"""

from __future__ import annotations

import os
import struct
from bisect import bisect_right
from contextlib import suppress
from pathlib import Path
from typing import Final

from tamis.eventlog.spool.segments import INDEX, SEGMENT_HEADER

STRIDE: Final = 1 << 16

_ENTRY: Final = struct.Struct("<QQ")


class PositionsFile:
    """The index of the segment that grows; begun anew when the spool is opened."""

    def __init__(self, segment: Path) -> None:
        self._file = os.open(segment.with_suffix(INDEX), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        self._next = SEGMENT_HEADER + STRIDE

    def add(self, first: int, position: int) -> None:
        """Takes note of a frame, if the last one noted is far enough away. Frames come in order."""
        if position >= self._next:
            self._next = position + STRIDE
            # A hint that cannot be written is only one that is missing.
            with suppress(OSError):
                os.write(self._file, _ENTRY.pack(first, position))

    def close(self) -> None:
        """Lets go of the file."""
        os.close(self._file)


def position_before(segment: Path, offset: int) -> tuple[int, int] | None:
    """A frame at or before the event, close to it: its first event, and where the index says that it lies."""
    try:
        raw = segment.with_suffix(INDEX).read_bytes()
    except FileNotFoundError:
        return None
    entries = list(_ENTRY.iter_unpack(raw[: len(raw) - len(raw) % _ENTRY.size]))
    place = bisect_right(entries, offset, key=lambda entry: entry[0]) - 1
    return entries[place] if place >= 0 else None
