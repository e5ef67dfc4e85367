"""Segments: the events of one or more batches in order, with their pairs in both orders; built, encoded with checksums,
written and read.

A segment is never changed once made.

    magic | sections | a CRC-32 for each page of these | about, places of the sections, CRC-32 of this | magic

`positions` are the events' own numbers, ascending; an event's rank is its place among them. `by_event` has the keys
rank * width + subscription, `by_number` the keys subscription * events + rank. `times` are microseconds since 1970.
Pages are verified when they are first read: a large segment is opened without being read through.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.arrays import Bools, Int64s, UInt64s
from tamis.errors import TamisError
from tamis.matchlog.packing import transpose
from tamis.matchlog.runs import Check, Run
from tamis.matchlog.texts import Texts, grouped

SUFFIX: Final = ".matches"
_MAGIC: Final = b"TAMISML1"
_PAGE: Final = 1 << 16
_SECTIONS: Final = (
    *((f"{run}.{part}", kind) for run in ("positions", "by_event", "by_number") for part, kind in (
        ("firsts", "<i8"), ("meta", "<i8"), ("words", "<u8"))),
    ("times", "<i8"), ("texts.events", "<i8"), ("texts.starts", "<i8"), ("texts.blob", "|u1"),
)  # fmt: skip
_ABOUT: Final = struct.Struct("<QQqqqqQ")  # events, pairs, first, last, oldest, newest, width
_PLACES: Final = struct.Struct(f"<{2 * (len(_SECTIONS) + 1)}Q")  # of the sections, and of the pages' checksums
_CHECK: Final = struct.Struct("<I")
_FOOTER: Final = _ABOUT.size + _PLACES.size + _CHECK.size + len(_MAGIC)
_DENSE: Final = 4  # numbers there may be for each pair, up to which counting sorts beat others
_EXACT: Final = 6  # bits of the width that count: neighbours mostly have the same, and are merged without unpacking


class DamagedSegment(TamisError):  # noqa: N818 - reads as what it is
    """A segment that is not as it was written: restore it from a backup."""


@dataclass(frozen=True, slots=True)
class Content:
    """All that a segment has."""

    positions: Run
    by_event: Run
    by_number: Run
    times: Int64s
    texts: Texts
    width: int
    events: int
    pairs: int
    first: int
    last: int


def built(
    positions: Int64s, offsets: Int64s, numbers: Int64s, times: Int64s, ids: pa.StringArray, bodies: pa.StringArray
) -> Content:
    """What a batch matched: `offsets` say where the subscriptions of each event end in `numbers`, in any order."""
    events = len(positions)
    most = int(numbers.max()) if len(numbers) else 0
    coarse = max(0, most.bit_length() - _EXACT)
    width = (most >> coarse) + 1 << coarse
    by_event, by_number = np.empty(len(numbers), np.int64), np.empty(len(numbers), np.int64)
    if most < _DENSE * len(numbers):
        transpose(offsets, numbers, width, np.zeros(most + 2, np.int64), by_event, by_number)
    else:
        ranks = np.repeat(np.arange(events), np.diff(offsets))
        by_event = np.sort(ranks * width + numbers)
        by_number = np.sort(numbers * events + ranks)
    runs = Run.of(positions), Run.of(by_event), Run.of(by_number)
    texts = grouped(ids, bodies)
    return Content(*runs, times, texts, width, events, len(numbers), int(positions[0]), int(positions[-1]))


def without(segment: Segment, ranks: Int64s, numbers: Int64s) -> Content | None:
    """A segment without some of its pairs; None if none are left."""
    width = segment.width
    keys = segment.run("by_event").keys()
    keys = keys[~np.isin(keys, ranks * width + numbers)]
    if not len(keys):
        return None
    its, numbers = np.divmod(keys, width)
    kept, starts = np.unique(its, return_index=True)
    told = list(segment.told(kept))
    return built(
        segment.positions[kept],
        np.append(starts, len(keys)).astype(np.int64),
        numbers,
        segment.times[kept],
        pa.array([id for id, _, _ in told], pa.string()),
        pa.array([body for _, _, body in told], pa.string()),
    )


def encoded(content: Content) -> list[memoryview]:
    """The bytes of a segment, in pieces to be written one after the other."""
    arrays: list[npt.NDArray[Any]] = []
    for run in (content.positions, content.by_event, content.by_number):
        arrays += [run.firsts, run.meta, run.words]
    arrays += [content.times, content.texts.events, content.texts.starts, content.texts.blob]
    pieces, places, at = [memoryview(_MAGIC)], list[int](), len(_MAGIC)
    for array, (_, kind) in zip(arrays, _SECTIONS, strict=True):
        view = memoryview(np.ascontiguousarray(array, kind).data).cast("B") if array.size else memoryview(b"")
        pieces += [view, memoryview(bytes(-len(view) % 8))]
        places += [at, len(view)]
        at += len(view) + -len(view) % 8
    checks = _checks(pieces)
    oldest, newest = (int(content.times.min()), int(content.times.max())) if content.events else (0, 0)
    about = _ABOUT.pack(content.events, content.pairs, content.first, content.last, oldest, newest, content.width)
    footer = about + _PLACES.pack(*places, at, len(checks))
    check = _CHECK.pack(zlib.crc32(footer, zlib.crc32(checks)))
    return [*pieces, memoryview(checks), memoryview(footer + check + _MAGIC)]


def _checks(pieces: Sequence[memoryview]) -> bytes:
    """CRC-32 of each page of the pieces put together."""
    found, check, room = [], 0, _PAGE
    for piece in pieces:
        at = 0
        while at < len(piece):
            some = min(room, len(piece) - at)
            check = zlib.crc32(piece[at : at + some], check)
            at, room = at + some, room - some
            if not room:
                found.append(check)
                check, room = 0, _PAGE
    if room < _PAGE:
        found.append(check)
    return np.array(found, "<u4").tobytes()


def write(path: Path, pieces: Sequence[memoryview]) -> None:
    """Writes and flushes a file that is not there yet; its name is flushed with the folder, by whoever names it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        for piece in pieces:
            done = 0
            while done < len(piece):
                done += os.write(descriptor, piece[done:])
        os.fsync(descriptor)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


class Segment:
    """A segment to read from: a file that is mapped into memory, or bytes. Safe from any thread."""

    def __init__(self, content: memoryview, name: str = "a segment") -> None:
        self._content, self._name = content, name
        self.size = len(content)
        length = len(content)
        if length < _FOOTER or bytes(content[length - len(_MAGIC) :]) != _MAGIC:
            raise DamagedSegment(f"{name} is no segment of matches, or cut short: restore it from a backup")
        footer = bytes(content[length - _FOOTER : length - _CHECK.size - len(_MAGIC)])
        places = _PLACES.unpack_from(footer, _ABOUT.size)
        self._places = dict(
            zip((section for section, _ in _SECTIONS), zip(places[::2], places[1::2], strict=True), strict=False)
        )
        checks = bytes(content[places[-2] : places[-2] + places[-1]])
        (check,) = _CHECK.unpack_from(content, length - _CHECK.size - len(_MAGIC))
        if zlib.crc32(footer, zlib.crc32(checks)) != check:
            raise DamagedSegment(f"{name} is damaged at its end: restore it from a backup")
        self.events, self.pairs, self.first, self.last, self.oldest, self.newest, self.width = _ABOUT.unpack_from(
            footer
        )
        self._sound: Bools = np.zeros(len(checks) // 4, np.bool_)
        self._checks = np.frombuffer(checks, "<u4")
        self._end = places[-2]
        self._runs: dict[str, Run] = {}
        self._positions: Int64s | None = None

    @classmethod
    def open(cls, path: Path) -> Segment:
        """A segment in a file. The mapping stays good when the file is removed."""
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        return cls(memoryview(mapped), str(path))

    def verify(self) -> None:
        """Verifies every page that has not been read yet."""
        self._verify(0, self._end)

    # What is asked of it.

    @property
    def positions(self) -> Int64s:
        """Positions of all events."""
        if self._positions is None:
            self._positions = self.run("positions").keys()
        return self._positions

    @property
    def event_bytes(self) -> int:
        """Bytes of what a segment has of its events: positions, times, ids and bodies."""
        return sum(size for name, (_, size) in self._places.items() if name.startswith(("positions", "times", "texts")))

    @property
    def times(self) -> Int64s:
        return self._array("times")

    @property
    def texts(self) -> Texts:
        """Ids and bodies."""
        blob = self._array("texts.blob", whole=False)
        return Texts(self._array("texts.events"), self._array("texts.starts"), blob, self._check("texts.blob"))

    def ranks(self, after: int, upto: int) -> tuple[int, int]:
        """Ranks of events after a position and up to another: the first, and one more than the last."""
        low, high = np.searchsorted(self.positions, [after, upto], "right")
        return int(low), int(high)

    def first_of(self, number: int, ranks: tuple[int, int], most: int) -> Int64s:
        """Ranks within a range of the first `most` events that a subscription matched."""
        start = number * self.events
        return self.run("by_number").first_between(start + ranks[0], start + ranks[1], most) - start

    def last_of(self, number: int, ranks: tuple[int, int], most: int) -> Int64s:
        """Ranks within a range of the last `most` events that a subscription matched, ascending."""
        start = number * self.events
        return self.run("by_number").last_between(start + ranks[0], start + ranks[1], most) - start

    def count_of(self, number: int, ranks: tuple[int, int]) -> int:
        """Number of events within a range of ranks that a subscription matched."""
        start = number * self.events
        return self.run("by_number").count(start + ranks[0], start + ranks[1])

    def all_of(self, number: int) -> Int64s:
        """Ranks of all events that a subscription matched."""
        start = number * self.events
        return self.run("by_number").between(start, start + self.events) - start

    def count(self, low: int, high: int) -> int:
        """Number of pairs of the events from one rank to before another."""
        return self.run("by_event").count(low * self.width, high * self.width)

    def pairs_of(
        self, numbers: Int64s, bitmap: UInt64s, ranks: tuple[int, int], most: int
    ) -> tuple[Int64s, Int64s, int]:
        """Ranks and subscriptions of pairs within a range of ranks, of ascending numbers and their bitmap.

        In order of the events, about `most` of them with all of the last event; and up to before which rank it looked.
        Few numbers are looked up, and for many all pairs are gone through: a look-up takes as long as some hundred.
        """
        low, high = ranks
        if len(numbers) * _LOOK_UP < self.pairs * (high - low) // max(self.events, 1):
            keys = self.run("by_number").in_lists(numbers, self.events, low, high)
            found, its = keys % self.events, keys // self.events
            order = np.argsort(found, kind="stable")
            found, its = found[order], its[order]
            if len(found) > most:
                high = int(found[most - 1]) + 1
                end = int(np.searchsorted(found, high))
                found, its = found[:end], its[:end]
            return found, its, high
        width, run = self.width, self.run("by_event")
        keys, reached = run.wanted(low * width, high * width, width, bitmap, most)
        if reached < high * width:
            # The last event looked at may have more pairs: it comes next, unless it is all there is.
            high = reached // width
            whole = int(np.searchsorted(keys, high * width))
            if whole or not len(keys):
                keys = keys[:whole]
            else:
                keys, _ = run.wanted(high * width, (high + 1) * width, width, bitmap, self.pairs)
                high += 1
        return *np.divmod(keys, width), high

    def pairs_between(self, ranks: tuple[int, int], most: int) -> tuple[Int64s, Int64s]:
        """Ranks and subscriptions of all pairs within a range of ranks, about the first `most`, of whole events."""
        width, run = self.width, self.run("by_event")
        keys = run.first_between(ranks[0] * width, ranks[1] * width, most + 1)
        if len(keys) > most:
            last = int(keys[-1]) // width
            whole = int(np.searchsorted(keys, last * width))
            keys = keys[:whole] if whole else run.between(last * width, (last + 1) * width)
        return np.divmod(keys, width)

    def told(self, ranks: Int64s) -> Iterator[tuple[str, int, str]]:
        """Id, time in microseconds and body of events by ascending ranks."""
        return (
            (id, time, body) for (id, body), time in zip(self.texts.of(ranks), self.times[ranks].tolist(), strict=True)
        )

    # Sections.

    def run(self, name: str) -> Run:
        """One of the runs."""
        known = self._runs.get(name)
        if known is None:
            firsts, meta, words = self._array(f"{name}.firsts"), self._array(f"{name}.meta"), f"{name}.words"
            known = Run(firsts, meta, self._array(words, whole=False), self._check(words))
            self._runs[name] = known
        return known

    def _array(self, name: str, *, whole: bool = True) -> Any:
        """A section as an array; its pages are verified, unless whoever reads it has them verified piece by piece."""
        at, length = self._places[name]
        if whole:
            self._verify(at, at + length)
        return np.frombuffer(self._content, _KINDS[name], length // np.dtype(_KINDS[name]).itemsize, at)

    def _check(self, name: str) -> Check:
        at, size = self._places[name][0], np.dtype(_KINDS[name]).itemsize
        return lambda low, high: self._verify(at + low * size, at + high * size)

    def _verify(self, start: int, end: int) -> None:
        for page in range(start // _PAGE, -(-end // _PAGE)):
            if not self._sound[page]:
                whole = self._content[page * _PAGE : min((page + 1) * _PAGE, self._end)]
                if zlib.crc32(whole) != self._checks[page]:
                    raise DamagedSegment(f"{self._name} is damaged at byte {page * _PAGE:,}: restore it from a backup")
                self._sound[page] = True


_KINDS: Final = dict(_SECTIONS)
_LOOK_UP: Final = 100  # pairs that are gone through in the time that one look-up takes
