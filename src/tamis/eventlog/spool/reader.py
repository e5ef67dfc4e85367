"""Reader of a spool: any range of events, from any process, while it is being written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import pyarrow as pa

from tamis.eventlog.base.event_log import RECORDS
from tamis.eventlog.spool.segments import (
    HEADER_SIZE,
    SEGMENT_HEADER,
    FrameError,
    FrameHeader,
    SegmentHeader,
    SpoolDamaged,
    SpoolError,
    check_payload,
    from_payload,
    parse_header,
    parse_segment_header,
    segment_of,
    segment_path,
    segments,
)
from tamis.eventlog.spool.side_files import Mark, position_before, read_mark

BATCH_ROWS: Final = 20_000

_BUFFER: Final = 1 << 18

# First event, time of receipt, and the events.
_Piece = tuple[int, int, pa.RecordBatch]


class SpoolReader:
    """Reads the durable events of a spool. Holds only the path, so that it can be sent to workers, and never writes.

    Only acknowledged events are found: it reads up to the durable mark, checks every checksum, and reports a gap or a
    frame that does not fit as damage.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def mark(self) -> Mark | None:
        """End of the spool now; None if nobody has opened it for writing yet."""
        return read_mark(self.folder)

    def bounds(self) -> tuple[int, int]:
        """Number of the oldest event that is kept, and of the next one to come."""
        mark = self.mark()
        firsts = segments(self.folder)
        return (firsts[0], mark.end) if mark is not None and firsts else (0, 0)

    def size(self) -> tuple[int, int]:
        """Number of events, and bytes of the files that hold them."""
        first, end = self.bounds()
        paths = (segment_path(self.folder, segment) for segment in segments(self.folder))
        return end - first, sum(path.stat().st_size for path in paths if path.exists())

    def recent(self, count: int) -> pa.Table:
        """Newest events, newest last."""
        first, end = self.bounds()
        return pa.Table.from_batches(self.read(max(first, end - count), end), RECORDS)

    def read(self, start: int, end: int, rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """Reads the events from `start` to before `end`, in batches of up to `rows`, with the columns of RECORDS.

        SpoolError if some are no longer kept, SpoolDamaged if one is not as it was written.
        """
        pieces: list[_Piece] = []
        gathered = 0
        for header, events in self._frames(start, end):
            skipped = max(start - header.first, 0)
            left = min(end, header.end) - header.first - skipped
            while left:
                taken = min(left, rows - gathered)
                pieces.append((header.first + skipped, header.received, events.slice(skipped, taken)))
                skipped, left, gathered = skipped + taken, left - taken, gathered + taken
                if gathered == rows:
                    yield _records(pieces)
                    pieces, gathered = [], 0
        if pieces:
            yield _records(pieces)

    def _frames(self, start: int, end: int) -> Iterator[tuple[FrameHeader, pa.RecordBatch]]:
        """Frames with an event of the range."""
        firsts = segments(self.folder)
        for place in range(max(segment_of(firsts, start), 0), len(firsts)):
            stop = min(end, firsts[place + 1]) if place + 1 < len(firsts) else end
            if start >= stop:
                return
            if start < firsts[place]:
                break
            yield from _segment_frames(segment_path(self.folder, firsts[place]), start, stop)
            start = stop
        if start < end:
            kept = f"the oldest kept is {firsts[0]}" if firsts else "none is kept"
            raise SpoolError(f"event {start} is not in the spool {self.folder}: {kept}")


def _segment_frames(path: Path, start: int, stop: int) -> Iterator[tuple[FrameHeader, pa.RecordBatch]]:
    """Frames of a segment with the events from `start` to before `stop`, all of which it must have."""
    try:
        file = path.open("rb", buffering=_BUFFER)
    except FileNotFoundError:
        raise SpoolError(f"event {start} is no longer in the spool: {path.name} was swept away") from None
    with file:
        segment = parse_segment_header(path, file.read(SEGMENT_HEADER))
        position, offset = _beginning(path, file, segment, start)
        while offset < stop:
            try:
                header = _header_at(file, position, segment, offset)
                wanted = header.end > start
                if wanted:
                    payload = file.read(header.length)
                    check_payload(header, payload)
            except FrameError as error:
                raise SpoolDamaged(path.name, position, f"event {offset}: {error}") from error
            if wanted:
                yield header, from_payload(payload)
            position, offset = position + header.size, header.end


def _beginning(path: Path, file: BinaryIO, segment: SegmentHeader, start: int) -> tuple[int, int]:
    """Place to begin the search for an event: a frame, and its first event."""
    hint = position_before(path, start)
    if hint is not None:
        offset, position = hint
        try:
            _header_at(file, position, segment, offset)
        except FrameError:
            # Not a frame's fault: the index was left behind by a crash. The walk from the front tells.
            return SEGMENT_HEADER, segment.first
        return position, offset
    return SEGMENT_HEADER, segment.first


def _header_at(file: BinaryIO, position: int, segment: SegmentHeader, offset: int) -> FrameHeader:
    """Header at this place, which must be of the frame that begins with this event."""
    file.seek(position)
    header = parse_header(file.read(HEADER_SIZE), segment.spool)
    if header.first != offset:
        raise FrameError(f"event {header.first} lies where event {offset} should")
    return header


def _records(pieces: list[_Piece]) -> pa.RecordBatch:
    counts = [events.num_rows for _, _, events in pieces]
    offsets = np.concatenate([np.arange(first, first + events.num_rows) for first, _, events in pieces])
    times = np.repeat(np.array([received for _, received, _ in pieces], np.int64), counts)
    columns = [
        pa.array(offsets, pa.int64()),
        pa.array(np.zeros(len(offsets), np.int32)),
        pa.concat_arrays([events.column(0) for _, _, events in pieces]),
        pa.array(times, pa.int64()).cast(RECORDS.field("time").type),
        pa.concat_arrays([events.column(1) for _, _, events in pieces]),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=RECORDS)
