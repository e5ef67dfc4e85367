"""The frame: what one append, or several small ones together, look like on disk.

A header of fixed size, then the payload: an Arrow IPC stream of one batch with the columns `id` and `body`. Header and
payload have a checksum each, so that a walk along the headers need not read the payloads.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final
from zlib import crc32

import pyarrow as pa

PAYLOAD: Final = pa.schema([pa.field("id", pa.string(), False), pa.field("body", pa.string(), False)])
MAGIC: Final = b"TmF1"
NO_KEY: Final = bytes(16)
# Lengths are 32 bits, and Arrow's strings 31: far below both, a frame still fits into anyone's memory.
MOST_BYTES: Final = 1 << 28

# magic, checksum of what follows it, length, checksum of the payload, first, count, received, group, key, content
_FRAME: Final = struct.Struct("<4sIIIQIqQ16s16s")
HEADER_SIZE: Final = _FRAME.size
_CHECKED_FROM: Final = 8


class FrameError(Exception):
    """These bytes are no whole frame. Whether that is a torn tail or damage depends on where they lie."""


@dataclass(frozen=True, slots=True)
class FrameHeader:
    """The events `first` to `first + count - 1`, received at `received` (µs since 1970), in `length` bytes after it.

    `group` is the place in the segment where the write began that this frame was part of: all before it was durable
    when this frame was written. `key` and `content` are hashes (idempotency key, bodies), or NO_KEY.
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
        """The number of the event after the last."""
        return self.first + self.count

    @property
    def size(self) -> int:
        """Bytes of header and payload."""
        return HEADER_SIZE + self.length

    def to_bytes(self, spool: bytes) -> bytes:
        """The header as it is on disk, in this spool: no publisher knows its id, so no event can pose as a frame."""
        fields = (self.first, self.count, self.received, self.group, self.key, self.content)
        checked = _FRAME.pack(MAGIC, 0, self.length, self.checksum, *fields)[_CHECKED_FROM:]
        return MAGIC + crc32(checked, crc32(spool)).to_bytes(4, "little") + checked


def parse_header(raw: bytes | memoryview, spool: bytes) -> FrameHeader:
    """The header in these bytes, which may go on after it; FrameError if there is none, whole and unharmed."""
    if len(raw) < HEADER_SIZE:
        raise FrameError("the frame's header is cut off")
    magic, checksum, length, payload, first, count, received, group, key, content = _FRAME.unpack_from(raw)
    if magic != MAGIC:
        raise FrameError("no frame begins here")
    if crc32(raw[_CHECKED_FROM:HEADER_SIZE], crc32(spool)) != checksum:
        raise FrameError("the frame's header does not fit its checksum")
    return FrameHeader(first, count, received, group, key, content, length, payload)


def check_payload(header: FrameHeader, payload: bytes | memoryview) -> None:
    """Complains with FrameError if these are not the bytes that the header was made for."""
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
    """The events of a payload, over its memory."""
    with pa.ipc.open_stream(payload) as stream:
        return stream.read_next_batch()
