"""Segments of the match log, as files of its folder or bytes in rows: made, named in the store, opened, merged and
swept.

A file is written, flushed and its folder flushed before the transaction that names it, so no row ever names what is not
whole. Files that no row names are what a crash left, or what a merge or the retention has done with: they are removed
at the start. Segments below 64 KiB are kept in their rows, for a transaction is flushed in any case; without a folder
all are, so that several services need no disk in common.
"""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, TypeVar

import numpy as np
from sqlalchemy import Connection, delete, select

from tamis.durable import flush
from tamis.errors import TamisError
from tamis.matchlog import DamagedSegment, Segment, merged
from tamis.matchlog.segment import SUFFIX, Content, encoded, write
from tamis.service.store import subscription as counters
from tamis.service.store.database import Database, StoreError, insert_rows
from tamis.service.store.tables import SEGMENTS, microseconds

T = TypeVar("T")

_TRIES: Final = 20
_ROW: Final = 64 << 10  # bytes up to which a segment is kept in its row
_FAN: Final = 16  # neighbours of a level that become one of the next
_MOST_PAIRS: Final = 1 << 30
_LONGEST: Final = 86_400_000_000  # microseconds between the events of a merged segment: retention drops whole ones
_KEPT: Final = 256 << 20  # bytes of rows that are kept in memory
_COLUMNS: Final = ("name", "first", "last", "level", "pairs", "events", "bytes", "oldest", "newest", "data")


class SegmentGone(TamisError):  # noqa: N818 - reads as what happened
    """A segment that was merged or dropped since this transaction began: another one sees what there is instead."""


@dataclass(frozen=True, slots=True)
class Named:
    """A segment by its name: `level` is how often its pairs were merged; `oldest` and `newest` are microseconds."""

    name: str
    first: int
    last: int
    level: int
    pairs: int
    events: int
    bytes: int
    oldest: int
    newest: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """A segment that is whole and waits to be named; `data` if it is to be kept in its row."""

    named: Named
    data: bytes | None


class Segments:
    """The match log of a store. Any thread may call; only whoever matches may write and merge."""

    def __init__(self, database: Database, folder: Path | None) -> None:
        self._database = database
        self.folder = folder
        self._lock = threading.Lock()
        self._names: tuple[int, int, tuple[Named, ...]] = (-1, 0, ())
        self._open: OrderedDict[str, Segment] = OrderedDict()
        self._in_memory: dict[str, int] = {}

    # Reading.

    def read(self, work: Callable[[Connection], T]) -> T:
        """What `work` reads in one transaction, begun again if a segment was merged or dropped meanwhile."""
        for left in reversed(range(_TRIES)):
            try:
                with self._database.read() as connection:
                    return work(connection)
            except SegmentGone as error:
                if not left:
                    raise StoreError(str(error)) from error
            except DamagedSegment as error:
                raise StoreError(str(error)) from error
        raise AssertionError

    def names(self, connection: Connection) -> tuple[int, tuple[Named, ...]]:
        """The first position that is kept, and all segments in the order of their events, as the transaction sees them.

        A segment goes when all of it is old: until then what is old in it is below that position.
        """
        revision = counters.value(connection, "segments")
        known, floor, names = self._names
        if known != revision:
            floor = counters.value(connection, "floor")
            names = _named(connection)
            self._names = revision, floor, names
            self._forget({one.name for one in names})
        return floor, names

    def opened(self, connection: Connection, named: Named) -> Segment:
        """A segment to read from; `SegmentGone` if it has been merged or dropped meanwhile."""
        with self._lock:
            known = self._open.get(named.name)
            if known is not None:
                self._open.move_to_end(named.name)
                return known
        made, size = self._opened(connection, named)
        with self._lock:
            self._open[named.name] = made
            self._in_memory[named.name] = size
            while sum(self._in_memory.values()) > _KEPT and len(self._open) > 1:
                name, _ = self._open.popitem(last=False)
                self._in_memory.pop(name, None)
        return made

    def _opened(self, connection: Connection, named: Named) -> tuple[Segment, int]:
        held = connection.execute(select(SEGMENTS.c.data).where(SEGMENTS.c.name == named.name)).one_or_none()
        if held is None:
            raise SegmentGone(f"segments of {self._database.name} are merged faster than they can be read")
        try:
            if held.data is not None:
                made = Segment(memoryview(held.data), f"segment {named.name} of the store")
                made.verify()
                return made, len(held.data)
            return Segment.open(self._path(named.name)), 0
        except FileNotFoundError:
            raise SegmentGone(
                f"{self._path(named.name)} is missing, which the store names: restore the state folder as a whole"
            ) from None
        except OSError as error:
            raise StoreError(f"{self._path(named.name)} cannot be read: {error.strerror}") from error

    def _forget(self, named: set[str]) -> None:
        with self._lock:
            for name in [name for name in self._open if name not in named]:
                del self._open[name]
                self._in_memory.pop(name, None)

    # Writing.

    def prepare(self, content: Content, level: int = 0) -> Prepared:
        """Makes a segment whole, and durable if it is a file; it is there once it is named."""
        pieces = encoded(content)
        size = sum(map(len, pieces))
        times = content.times
        about = (
            content.first,
            content.last,
            level,
            content.pairs,
            content.events,
            size,
            int(times.min()),
            int(times.max()),
        )
        name = f"{content.first:016x}-{uuid.uuid4().hex[:12]}"
        if self.folder is None or size <= _ROW:
            return Prepared(Named(name, *about), b"".join(pieces))
        try:
            self.made_folder()
            write(self._path(name), pieces)
            flush(self.folder)
        except OSError as error:
            raise StoreError(f"{self.folder}: a segment of matches cannot be written: {error.strerror}") from error
        return Prepared(Named(name, *about), None)

    def made_folder(self) -> Path:
        """The folder, made if it is not there: for its user alone."""
        if self.folder is None:
            raise StoreError("this store keeps its segments in rows")
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self.folder

    def adopt(self, name: str | None, data: bytes | None) -> tuple[Prepared, Segment]:
        """A segment that somebody else has made: a file of the folder, flushed but for its name, or bytes."""
        try:
            made = Segment.open(self._path(name)) if name is not None else Segment(memoryview(data or b""))
        except OSError as error:
            raise StoreError(f"{self.folder}: a segment of matches cannot be read: {error.strerror}") from error
        size = made.size
        if name is None and data is not None and size > _ROW and self.folder is not None:
            name = f"{made.first:016x}-{uuid.uuid4().hex[:12]}"
            try:
                write(self.made_folder() / f"{name}{SUFFIX}", [memoryview(data)])
            except OSError as error:
                raise StoreError(f"{self.folder}: a segment of matches cannot be written: {error.strerror}") from error
            data = None
        if data is None and self.folder is not None:
            flush(self.folder)
        name = name or f"{made.first:016x}-{uuid.uuid4().hex[:12]}"
        about = (made.first, made.last, 0, made.pairs, made.events, size, made.oldest, made.newest)
        return Prepared(Named(name, *about), data), made

    def name(self, connection: Connection, *prepared: Prepared) -> None:
        """Has segments be there from the end of this transaction on."""
        if prepared:
            named = ((*(getattr(one.named, column) for column in _COLUMNS[:-1]), one.data) for one in prepared)
            insert_rows(connection, SEGMENTS, _COLUMNS, named)
            counters.advance(connection, "segments", 1)

    def discard(self, *prepared: Prepared) -> None:
        """Removes what was prepared and will not be named."""
        self._unlink([one.named for one in prepared if one.data is None])

    def merge(self) -> bool:
        """Merges some neighbours, of the lowest level that has enough; False if there are none to merge."""

        def neighbours(connection: Connection) -> list[tuple[Named, Segment]]:
            return [(one, self.opened(connection, one)) for one in _neighbours(self.names(connection)[1])]

        found = self.read(neighbours)
        if not found:
            return False
        some, parts = [one for one, _ in found], [part for _, part in found]
        try:
            whole = self.prepare(merged(parts), some[0].level + 1)
        except DamagedSegment as error:
            raise StoreError(str(error)) from error
        its = SEGMENTS.c.name.in_([one.name for one in some])
        with self._database.write() as connection:
            # The retention may have dropped some meanwhile: then the whole is not to bring them back.
            as_before = len(connection.execute(select(SEGMENTS.c.name).where(its)).all()) == len(some)
            if as_before:
                connection.execute(delete(SEGMENTS).where(its))
                self.name(connection, whole)
        self._unlink(some if as_before else [whole.named])
        return as_before

    def sweep(self, before: datetime) -> int:
        """Drops what is about events received before a moment, up to the first that is to stay.

        Returns how many pairs went. What is old in a segment that has newer events too is not shown any more.
        """

        def swept(connection: Connection) -> tuple[int, int, int]:
            floor, names = self.names(connection)
            upto, pairs = floor, 0
            for one in names:
                if one.oldest >= microseconds(before):
                    break
                segment = self.opened(connection, one)
                low = int(np.searchsorted(segment.positions, floor))
                staying = np.flatnonzero(segment.times[low:] >= microseconds(before))
                end = low + int(staying[0]) if len(staying) else segment.events
                pairs += segment.count(low, end)
                upto = one.last + 1 if end == segment.events else int(segment.positions[end])
                if len(staying):
                    break
            return floor, upto, pairs

        floor, upto, pairs = self.read(swept)
        if upto == floor:
            return 0
        with self._database.write() as connection:
            counters.put(connection, "floor", max(upto, counters.locked(connection, "floor")))
            gone = [one for one in _named(connection) if one.last < upto]
            if gone:
                connection.execute(delete(SEGMENTS).where(SEGMENTS.c.name.in_([one.name for one in gone])))
            counters.advance(connection, "segments", 1)
        self._unlink(gone)
        return pairs

    def tidy(self) -> int:
        """Removes files that no row names; only while nobody else writes. Returns how many."""
        if self.folder is None or not self.folder.exists():
            return 0
        there = {path.name for path in self.folder.glob(f"*{SUFFIX}")}
        with self._database.read() as connection:
            named = {f"{one.name}{SUFFIX}" for one in self.names(connection)[1]}
        for name in there - named:
            (self.folder / name).unlink(missing_ok=True)
        return len(there - named)

    def _path(self, name: str) -> Path:
        if self.folder is None:
            raise StoreError(f"segment {name} is in a folder that this service was not told: set matches_folder")
        return self.folder / f"{name}{SUFFIX}"

    def _unlink(self, gone: Sequence[Named]) -> None:
        # Whoever has one mapped reads on; what cannot be removed now is removed at the next start.
        for one in gone:
            if self.folder is not None:
                self._path(one.name).unlink(missing_ok=True)


def _named(connection: Connection) -> tuple[Named, ...]:
    columns = [SEGMENTS.c[column] for column in _COLUMNS if column != "data"]
    return tuple(Named(*row) for row in connection.execute(select(*columns).order_by(SEGMENTS.c.first)))


def _neighbours(names: Sequence[Named]) -> list[Named]:
    """Segments to merge: the oldest neighbours of the lowest level that has enough, unless they come to too much."""
    for level in sorted({one.level for one in names}):
        for start in range(len(names) - _FAN + 1):
            some = names[start : start + _FAN]
            alike = all(one.level == level for one in some)
            few = sum(one.pairs for one in some) <= _MOST_PAIRS
            if alike and few and some[-1].newest - some[0].oldest <= _LONGEST:
                return list(some)
    return []
