"""Recovery of the newest segment after a crash, when a writer opens it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tamis.eventlog.base.event_log import Keyed
from tamis.eventlog.spool.frames import (
    HEADER_SIZE,
    MAGIC,
    NO_KEY,
    FrameError,
    FrameHeader,
    check_payload,
    parse_header,
)
from tamis.eventlog.spool.segments import SEGMENT_HEADER, SegmentHeader, SpoolDamaged, read_segment_header
from tamis.eventlog.spool.side_files import Mark


@dataclass(frozen=True, slots=True)
class Recovered:
    """The good part of a segment: its frames with their places, where it ends, and whether bytes lie behind that."""

    frames: list[tuple[int, FrameHeader]]
    position: int
    end: int
    torn: bool


def recover(segment: Path, start: SegmentHeader, mark: Mark | None) -> Recovered:
    """Every frame of the newest segment, as far as it goes.

    Up to the mark all must be there: anything else is damage. Behind it a crash may have left a frame that was being
    written; whole frames are kept, although nobody was told of them, and the first that is not whole ends the segment.
    """
    raw = memoryview(segment.read_bytes())
    durable = mark.position if mark is not None and mark.segment == start.first else SEGMENT_HEADER
    if len(raw) < durable:
        raise SpoolDamaged(segment.name, len(raw), f"the file ends here, but {durable} bytes of it were durable")
    frames: list[tuple[int, FrameHeader]] = []
    position, end = SEGMENT_HEADER, start.first
    while position < len(raw):
        try:
            header = parse_header(raw[position:], start.spool)
            if header.first != end:
                raise FrameError(f"event {header.first} lies where event {end} should")
            # What was acknowledged is checked when it is read; here only the chain of headers is needed.
            if position >= durable:
                check_payload(header, raw[position + HEADER_SIZE :][: header.length])
        except FrameError as error:
            if position < durable or _written_later(raw, position, start.spool):
                raise SpoolDamaged(segment.name, position, f"event {end}: {error}") from error
            return Recovered(frames, position, end, torn=True)
        frames.append((position, header))
        position, end = position + header.size, header.end
    if position > len(raw):
        raise SpoolDamaged(segment.name, len(raw), f"event {end - 1}: the frame's events are cut off")
    return Recovered(frames, position, end, torn=False)


def walk(segment: Path, end: int) -> Iterator[FrameHeader]:
    """The headers of a full segment, whose events end before `end`."""
    start = read_segment_header(segment)
    with segment.open("rb") as file:
        position, first = SEGMENT_HEADER, start.first
        while first < end:
            file.seek(position)
            try:
                header = parse_header(file.read(HEADER_SIZE), start.spool)
            except FrameError as error:
                raise SpoolDamaged(segment.name, position, f"event {first}: {error}") from error
            yield header
            position, first = position + header.size, header.end


def keyed(headers: Iterable[FrameHeader]) -> Iterator[Keyed]:
    """Frames that were appended under a key."""
    return (
        Keyed(header.key, header.content, header.first, header.count, header.received)
        for header in headers
        if header.key != NO_KEY
    )


def _written_later(raw: memoryview, position: int, spool: bytes) -> bool:
    """True if a frame lies behind that was written when what lies here was durable already.

    The frames of one write may reach the disk in any order, so a whole one behind a torn one is no sign of damage;
    one of a later write is, for it was only begun after an fsync.
    """
    data = bytes(raw[position:])
    place = data.find(MAGIC, 1)
    while place >= 0:
        try:
            if parse_header(data[place : place + HEADER_SIZE], spool).group > position:
                return True
        except FrameError:
            pass
        place = data.find(MAGIC, place + 1)
    return False
