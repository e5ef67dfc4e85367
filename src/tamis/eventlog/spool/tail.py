"""Tail of a spool, where it grows: newest segment, durable mark, keys of the last day, and crash recovery."""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final
from zlib import crc32

import pyarrow as pa

from tamis.durable import UNFINISHED, flush
from tamis.eventlog.base.event_log import Keyed, RememberedKeys, microseconds
from tamis.eventlog.spool.segments import (
    HEADER_SIZE,
    MAGIC,
    NO_KEY,
    SEGMENT_HEADER,
    FrameError,
    FrameHeader,
    SegmentFile,
    SegmentHeader,
    SpoolDamaged,
    SpoolError,
    check_payload,
    create_segment,
    parse_header,
    read_segment_header,
    segment_path,
    segments,
    to_payload,
)
from tamis.eventlog.spool.side_files import MARK, Mark, MarkFile, PositionsFile, load_keys, parse_mark, save_keys

# Crash recovery of the newest segment, when a writer opens it.


@dataclass(frozen=True, slots=True)
class Recovered:
    """Valid part of a segment: its frames with their places, its end, and True if bytes lie behind that."""

    frames: list[tuple[int, FrameHeader]]
    position: int
    end: int
    torn: bool


def recover(segment: Path, start: SegmentHeader, mark: Mark | None) -> Recovered:
    """Recovers the newest segment: every whole frame, up to the first that is not.

    Up to the mark all must be there: anything else is damage. Behind it a crash may have left a frame that was being
    written; whole frames are kept, although they were never acknowledged, and the first torn one ends the segment.
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
    """Headers of a full segment, whose events end before `end`."""
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
    """True if a frame lies behind that was written when the bytes here were durable already.

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


LOCK: Final = "lock"

Files = Callable[[Path], SegmentFile]


@dataclass(frozen=True, slots=True)
class Events:
    """Events of one frame: ids and bodies, and the hashes of their idempotency key and content, or NO_KEY."""

    ids: pa.Array
    bodies: pa.Array
    key: bytes
    content: bytes


class Tail:
    """Newest segment, open for writing; for one thread. `end` is the number of the next event.

    `_good` is where the segment's durable frames end: the mark says the same. Bytes behind it are taken back before
    anything else is written; where that is not certain (`_spoilt`), the next append begins a new segment.
    `_keyed` are the appends under keys in this segment, to be written beside it once it is full.
    """

    end: int
    _spool: bytes
    _segment: int
    _good: int
    _spoilt: bool
    _keyed: list[Keyed]
    _file: SegmentFile
    _positions: PositionsFile
    _mark: MarkFile

    def __init__(self, folder: Path, *, segment_bytes: int, files: Files = SegmentFile) -> None:
        self.keys = RememberedKeys()
        self._folder = folder
        self._segment_bytes = segment_bytes
        self._files = files
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(folder / LOCK)
        try:
            self._open()
        except BaseException:
            os.close(self._lock)
            raise

    def append(self, frames: Sequence[Events], now: int) -> None:
        """Appends frames, durable and visible to readers; or raises OSError, with nothing changed."""
        if not frames:
            return
        if self._spoilt or self._good >= self._segment_bytes:
            self._begin_segment(now)
        position, end = self._good, self.end
        placed: list[tuple[int, FrameHeader]] = []
        parts: list[bytes | pa.Buffer] = []
        for events in frames:
            payload = to_payload(events.ids, events.bodies)
            header = FrameHeader(
                end, len(events.ids), now, self._good, events.key, events.content, payload.size, crc32(payload)
            )
            parts += (header.to_bytes(self._spool), payload)
            placed.append((position, header))
            position, end = position + HEADER_SIZE + payload.size, end + len(events.ids)
        try:
            self._file.write(b"".join(parts), self._good)
        except OSError:
            self._take_back()
            raise
        try:
            self._file.sync()
            self._mark.write(Mark(self._spool, self._segment, position, end))
        except OSError:
            self._take_back()
            # A sync that failed may have dropped pages, and would say nothing of them the next time.
            self._spoilt = True
            raise
        self._good, self.end = position, end
        for place, header in placed:
            self._note(place, header)

    def close(self) -> None:
        """Closes the files, the lock last."""
        self._file.close()
        self._positions.close()
        self._mark.close()
        os.close(self._lock)

    def _open(self) -> None:
        for left in self._folder.glob(f"*{UNFINISHED}"):
            left.unlink()
        firsts = segments(self._folder)
        mark = _mark_left(self._folder)
        if not firsts:
            if mark is not None:
                raise SpoolDamaged(segment_path(self._folder, mark.segment).name, 0, "the segment is missing")
            create_segment(self._folder, SegmentHeader(secrets.token_bytes(16), 0, microseconds()))
            flush(self._folder.parent)
            firsts = [0]
        self._segment = firsts[-1]
        path = segment_path(self._folder, self._segment)
        header = read_segment_header(path)
        self._spool = header.spool
        if mark is not None and (mark.spool != header.spool or mark.segment > self._segment):
            raise SpoolDamaged(segment_path(self._folder, mark.segment).name, 0, "the newest segment is missing")
        self._remember_full(firsts)
        found = recover(path, header, mark)
        self._file, self._spoilt = self._files(path), False
        self._positions, self._keyed = PositionsFile(path), []
        if found.torn:
            self._file.truncate(found.position)
        # Frames behind the mark may have been written by a process that was killed before it could sync them.
        self._file.sync()
        self._good, self.end = found.position, found.end
        self._mark = MarkFile(self._folder)
        self._mark.write(Mark(self._spool, self._segment, self._good, self.end))
        for place, frame in found.frames:
            self._note(place, frame)

    def _remember_full(self, firsts: Sequence[int]) -> None:
        """Loads the keys of full segments that ended within the last day."""
        oldest = microseconds() - self.keys.kept
        for first, following in pairwise(firsts):
            if read_segment_header(segment_path(self._folder, following)).created < oldest:
                continue
            path = segment_path(self._folder, first)
            known = load_keys(path)
            for one in known if known is not None else keyed(walk(path, following)):
                self.keys.add(one)

    def _note(self, position: int, header: FrameHeader) -> None:
        """Notes a durable frame: its place, and its key."""
        self._positions.add(header.first, position)
        if header.key != NO_KEY:
            (one,) = keyed([header])
            self._keyed.append(one)
            self.keys.add(one)

    def _begin_segment(self, now: int) -> None:
        path = create_segment(self._folder, SegmentHeader(self._spool, self.end, now))
        file = self._files(path)
        try:
            positions = PositionsFile(path)
        except OSError:
            file.close()
            raise
        if self._segment != self.end:
            # Without this file somebody will walk through the segment instead.
            with suppress(OSError):
                save_keys(segment_path(self._folder, self._segment), self._keyed)
        self._file.close()
        self._positions.close()
        self._file, self._positions, self._keyed = file, positions, []
        self._segment, self._good, self._spoilt = self.end, SEGMENT_HEADER, False

    def _take_back(self) -> None:
        """Rolls a failed write back: its bytes are cut off, so that they are not found again."""
        try:
            self._file.truncate(self._good)
        except OSError:
            self._spoilt = True


def _locked(path: Path) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise SpoolError(
            f"another process writes the spool {path.parent}, and only one can: stop it, or use another folder"
        ) from None
    return descriptor


def _mark_left(folder: Path) -> Mark | None:
    """Mark as the last writer left it; None if it has to be computed anew."""
    try:
        return parse_mark((folder / MARK).read_bytes())
    except FileNotFoundError:
        return None
