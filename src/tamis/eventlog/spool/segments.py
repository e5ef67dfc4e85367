"""Segments of a spool: the files of its folder, named by their first event, and the frames in them.

    00000000000000000000.spool    a header, then frames; only the newest grows
    00000000000000000000.index    places of some of its frames (see side_files.py); may be missing or wrong
    00000000000000000000.keys     its idempotency keys, once it is full (see side_files.py); may be missing
    durable                       end of the readable events (see side_files.py)
    lock                          held by the process that writes

A segment's events end where the next one's begin. Bytes after that were never acknowledged and are nobody's.
"""

from __future__ import annotations

import os
import struct
from bisect import bisect_right
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final
from zlib import crc32

import pyarrow as pa

from tamis.durable import flush, replace_durably
from tamis.errors import PipelineError

SEGMENT: Final = ".spool"
INDEX: Final = ".index"
KEYS: Final = ".keys"

_MAGIC: Final = b"TAMISPL1"
# magic, spool, first event, created (µs since 1970), checksum
_HEADER: Final = struct.Struct("<8s16sQqI")
SEGMENT_HEADER: Final = _HEADER.size


class SpoolError(PipelineError):
    """Spool that cannot be used as asked: written by another process, or not the one of a checkpoint."""


class SpoolDamaged(SpoolError):  # noqa: N818 - reads as what happened
    """Damage: a file of the spool does not hold what was once made durable in it. `position` is the place in bytes."""

    def __init__(self, file: str, position: int, reason: str) -> None:
        super().__init__(file, position, reason)
        self.file = file
        self.position = position
        self.reason = reason

    def __str__(self) -> str:
        return f"the spool is damaged: {self.file}, byte {self.position}: {self.reason}; restore the file from a copy"


@dataclass(frozen=True, slots=True)
class SegmentHeader:
    """Header of a segment. `spool`: random bytes, equal in all segments of a folder. `created`: time, in µs."""

    spool: bytes
    first: int
    created: int

    def to_bytes(self) -> bytes:
        """Header as it is on disk."""
        raw = _HEADER.pack(_MAGIC, self.spool, self.first, self.created, 0)[:-4]
        return raw + crc32(raw).to_bytes(4, "little")


def segment_path(folder: Path, first: int) -> Path:
    """Path of the segment whose first event has this number."""
    return folder / f"{first:020d}{SEGMENT}"


def segments(folder: Path) -> list[int]:
    """First events of all segments, ascending."""
    try:
        names = [path.name for path in folder.iterdir()]
    except FileNotFoundError:
        return []
    return sorted(int(name.removesuffix(SEGMENT)) for name in names if name.endswith(SEGMENT))


def segment_of(firsts: list[int], offset: int) -> int:
    """Index of the segment that has the event, or would have it; -1 if it is older than all."""
    return bisect_right(firsts, offset) - 1


def read_segment_header(path: Path) -> SegmentHeader:
    """Reads the header of a segment."""
    with path.open("rb") as file:
        return parse_segment_header(path, file.read(SEGMENT_HEADER))


def parse_segment_header(path: Path, raw: bytes) -> SegmentHeader:
    """Parses a header; it was durable before the file had its name, so anything else is damage."""
    if len(raw) < SEGMENT_HEADER:
        raise SpoolDamaged(path.name, 0, "the segment's header is cut off")
    magic, spool, first, created, checksum = _HEADER.unpack(raw)
    if magic != _MAGIC or crc32(raw[:-4]) != checksum:
        raise SpoolDamaged(path.name, 0, "the segment's header does not fit its checksum")
    if path != segment_path(path.parent, first):
        raise SpoolDamaged(path.name, 0, f"this segment begins with event {first}, not with what its name says")
    return SegmentHeader(spool, first, created)


class SegmentFile:
    """Segment open for writing. The writer decides which bytes are valid."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CLOEXEC)

    def write(self, data: bytes, position: int) -> None:
        """Writes all of it, at this place, or raises OSError."""
        left = memoryview(data)
        while left:
            written = os.pwrite(self._file, left, position)
            left, position = left[written:], position + written

    def sync(self) -> None:
        """Returns when everything written is on the disk."""
        os.fdatasync(self._file)

    def truncate(self, size: int) -> None:
        """Cuts the file off at this place."""
        os.ftruncate(self._file, size)

    def close(self) -> None:
        """Closes the file."""
        os.close(self._file)


def create_segment(folder: Path, header: SegmentHeader) -> Path:
    """Creates a segment without frames, durable with its name. Replaces one of that name, which can only be empty."""
    path = segment_path(folder, header.first)
    replace_durably(path, header.to_bytes())
    return path


def remove_segment(folder: Path, first: int) -> None:
    """Removes a segment and its side files. The segment goes first: the rest is worthless without it."""
    path = segment_path(folder, first)
    path.unlink(missing_ok=True)
    path.with_suffix(INDEX).unlink(missing_ok=True)
    path.with_suffix(KEYS).unlink(missing_ok=True)


def sweep(folder: str | Path, before: datetime, processed: int) -> int:
    """Removes segments of which every event was received before a moment and has a number below `processed`.

    Never the newest segment. Returns the number of removed events. The segments' idempotency keys are removed too: a
    running writer still remembers them, the next one does not.
    """
    folder = Path(folder)
    firsts = segments(folder)
    limit = int(before.timestamp() * 1e6)
    kept = 0
    for following in firsts[1:]:
        # A segment begins after the last event of the one before it was received.
        created = read_segment_header(segment_path(folder, following)).created
        if following > processed or created >= limit:
            break
        remove_segment(folder, firsts[kept])
        kept += 1
    if kept:
        flush(folder)
    return firsts[kept] - firsts[0] if firsts else 0


# Frames: one append, or several small ones together, on disk.
#
# A header of fixed size, then the payload: an Arrow IPC stream of one batch with the columns `id` and `body`. Header
# and payload have a checksum each, so that a walk along the headers need not read the payloads.

PAYLOAD: Final = pa.schema([pa.field("id", pa.string(), False), pa.field("body", pa.string(), False)])
MAGIC: Final = b"TmF1"
NO_KEY: Final = bytes(16)
# Size limit of a frame: lengths are 32 bits, and Arrow's strings 31; far below both, a frame still fits into memory.
MOST_BYTES: Final = 1 << 28

# magic, checksum of what follows it, length, checksum of the payload, first, count, received, group, key, content
_FRAME: Final = struct.Struct("<4sIIIQIqQ16s16s")
HEADER_SIZE: Final = _FRAME.size
_CHECKED_FROM: Final = 8


class FrameError(Exception):
    """Bytes that are no whole frame. Their place tells if that is a torn tail or damage."""


@dataclass(frozen=True, slots=True)
class FrameHeader:
    """Header of a frame: events `first` to `first + count - 1`, received at `received` (µs since 1970), in `length`
    bytes after it.

    `group` is the place in the segment where the write began that this frame was part of: everything before it was
    durable when this frame was written. `key` and `content` are hashes (idempotency key, bodies), or NO_KEY.
    """

    first: int
    count: int
    received: int
    group: int
    key: bytes
    content: bytes
    length: int
    checksum: int

    @property
    def end(self) -> int:
        """Number of the event after the last."""
        return self.first + self.count

    @property
    def size(self) -> int:
        """Bytes of header and payload."""
        return HEADER_SIZE + self.length

    def to_bytes(self, spool: bytes) -> bytes:
        """Header as it is on disk, in this spool: no publisher knows its id, so no event can pose as a frame."""
        fields = (self.first, self.count, self.received, self.group, self.key, self.content)
        checked = _FRAME.pack(MAGIC, 0, self.length, self.checksum, *fields)[_CHECKED_FROM:]
        return MAGIC + crc32(checked, crc32(spool)).to_bytes(4, "little") + checked


def parse_header(raw: bytes | memoryview, spool: bytes) -> FrameHeader:
    """Parses the header at the start of these bytes; FrameError if there is none, whole and undamaged."""
    if len(raw) < HEADER_SIZE:
        raise FrameError("the frame's header is cut off")
    magic, checksum, length, payload, first, count, received, group, key, content = _FRAME.unpack_from(raw)
    if magic != MAGIC:
        raise FrameError("no frame begins here")
    if crc32(raw[_CHECKED_FROM:HEADER_SIZE], crc32(spool)) != checksum:
        raise FrameError("the frame's header does not fit its checksum")
    return FrameHeader(first, count, received, group, key, content, length, payload)


def check_payload(header: FrameHeader, payload: bytes | memoryview) -> None:
    """Raises FrameError if these are not the bytes of the header's checksum."""
    if len(payload) < header.length:
        raise FrameError("the frame's events are cut off")
    if crc32(payload) != header.checksum:
        raise FrameError("the frame's events do not fit their checksum")


def to_payload(ids: pa.Array, bodies: pa.Array) -> pa.Buffer:
    """Events as the payload of a frame."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, PAYLOAD) as stream:
        stream.write_batch(pa.RecordBatch.from_arrays([ids, bodies], schema=PAYLOAD))
    return sink.getvalue()


def from_payload(payload: bytes) -> pa.RecordBatch:
    """Events of a payload, over its memory."""
    with pa.ipc.open_stream(payload) as stream:
        return stream.read_next_batch()
