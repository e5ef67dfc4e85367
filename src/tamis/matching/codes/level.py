"""Abstract base class of levels (subscriptions compiled together, immutable but for removals; matched, saved and
opened); output buffers of a thread.
"""

from __future__ import annotations

import sys
import threading
from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.arrays import Arrays, Int32s, Int64s
from tamis.errors import EventError
from tamis.matching.base.matcher import Part, Work
from tamis.matching.base.statistics import Statistics
from tamis.matching.codes.columns import Column, Encoded, Encoder, Kind
from tamis.matching.codes.conditions import Conditions
from tamis.matching.codes.dictionary import Dictionary, Numbers, Strings
from tamis.matching.codes.encoding import Conjuncts
from tamis.matching.codes.files import Source, read_arrays, write_arrays
from tamis.matching.codes.names import CompressedTexts, Names
from tamis.matching.patterns import PatternSet
from tamis.schema import Schema

# Output buffers, used again once nobody holds the matches written to them.

SLAB = 1 << 23  # words beyond what one event may need: larger answers come in several parts
KEPT = 4


def _references(slabs: list[npt.NDArray[np.int32]], number: int) -> int:
    return sys.getrefcount(slabs[number])


# Reference count of a slab that only its list refers to: measured, for it differs between interpreters.
_UNUSED = _references([np.empty(0, np.int32)], 0)


class Slabs:
    """Pool of large output buffers of one thread, a few at most.

    An answer is a view of its slab, so a slab that nothing else refers to is free. Memory that was written before is
    written again much faster than memory fresh from the system.
    """

    def __init__(self) -> None:
        self._slabs: list[npt.NDArray[np.int32]] = []

    def take(self, words: int) -> npt.NDArray[np.int32]:
        """A free slab of at least so many words."""
        for number in range(len(self._slabs)):
            if _references(self._slabs, number) == _UNUSED and len(self._slabs[number]) >= words:
                return self._slabs[number]
        fresh = np.empty(words, np.int32)
        self._slabs = [*self._slabs[1 - KEPT :], fresh]
        return fresh


CHUNK, MOST_CODES = 4096, 1 << 24  # events encoded at a time, and codes: they stay in cache
SLACK = 64  # words a kernel may write past an event's matches
DIRECT = 1 << 18  # expected matches from which on they are written where they stay, not copied there
LAST_STAMP = 2**30 - 1


class Scratch(threading.local):
    """Working memory of one thread: what was decided for the current event carries its stamp."""

    def __init__(self, tests: int, several: int) -> None:
        self.memory, self.seen = np.zeros(tests, np.int32), np.zeros(several, np.int32)
        self.stamp = 0
        self.out = np.zeros(0, np.int32)
        self.slabs = Slabs()


class Level(ABC):
    """Compiled subscriptions 0 to n - 1, and everything needed to match events with them.

    Built or mapped once; the only change ever made is that removed subscriptions are struck out, in this process's own
    pages. A subclass is an algorithm: the arrays it makes of the conjunctions (`arrange`), its kernel (`run`), and how
    it strikes out.
    """

    def __init__(
        self, encoder: Encoder, conjuncts: Conjuncts, names: Names, texts: CompressedTexts, scratch: Scratch
    ) -> None:
        self.encoder, self.conjuncts, self.names, self.texts = encoder, conjuncts, names, texts
        self._gone = np.zeros(len(names), np.bool_)
        self.removed = 0
        self._source: Source | None = None
        self._expected = 0.0
        self._memory = scratch

    @classmethod
    @abstractmethod
    def arranged(
        cls, encoder: Encoder, conjuncts: Conjuncts, names: Names, texts: CompressedTexts, arrays: Arrays
    ) -> Self:
        """A level over the arrays that `arrange` made; other arrays may stand beside them."""

    @classmethod
    @abstractmethod
    def arrange(cls, conjuncts: Conjuncts, encoder: Encoder, schema: Schema, statistics: Statistics | None) -> Arrays:
        """Arrays of the algorithm, made of the conjunctions."""

    @abstractmethod
    def own_arrays(self) -> Arrays:
        """Arrays that `arrange` made."""

    @abstractmethod
    def run(
        self, encoded: Encoded, first: int, removed: bool, room: int, out: Int32s, ends: Int64s, work: Int64s
    ) -> int:
        """Matches events from `first` on until the output may not hold another one; returns the first left over.

        `ends[e + 1]`: the end in `out` of event e's matches; `ends[first]` is where to go on. `room` is what one
        event may need. Stamps from the scratch's on are new to its memory. `removed`: something is struck out.
        """

    @abstractmethod
    def strike(self, conjuncts: npt.NDArray[np.bool_] | slice) -> None:
        """Strikes out conjunctions: they match nothing any more. Readers in other threads see it at once or later."""

    @classmethod
    def build(cls, conditions: Conditions, ids: pa.Array, texts: pa.Array, statistics: Statistics | None) -> Self:
        """Compiles the conditions; `ids` and `texts` are by subscription row."""
        encoder, conjuncts, order = conditions.finish(len(ids))
        arrays = cls.arrange(conjuncts, encoder, conditions.schema, statistics)
        rows = pa.array(order)
        return cls.arranged(
            encoder, conjuncts, Names.build(ids.take(rows)), CompressedTexts.build(texts.take(rows)), arrays
        )

    def __len__(self) -> int:
        return len(self.names) - self.removed

    @property
    def bytes_held(self) -> int:
        """Bytes that matching needs: codes, conjunctions and the algorithm's own arrays; neither ids nor texts."""
        parts = [self.conjuncts.arrays(), self.own_arrays()]
        parts += [d.arrays() for d in self.encoder.dictionaries.values()]
        parts += [p.arrays() for p in self.encoder.patterns.values()]
        return sum(array.nbytes for part in parts for array in part.values())

    def find(self, id: str) -> int | None:
        """Number of a subscription that is present; None if it was never there or is removed."""
        number = self.names.find(id)
        return None if number is None or self._gone[number] else number

    def id_of(self, number: int) -> str:
        """The id of a subscription."""
        id: str = self.names.ids[number].as_py()
        return id

    @property
    def present(self) -> Int64s:
        """Numbers of the subscriptions not removed."""
        return np.flatnonzero(~self._gone)

    @property
    def gone(self) -> Int64s:
        return np.flatnonzero(self._gone)

    def remove(self, number: int) -> None:
        """Removes a subscription."""
        owners, simple = self.conjuncts.owners, self.conjuncts.simple
        if number < simple:
            first, last = number, number + 1
        else:
            first, last = (simple + int(np.searchsorted(owners, number, side)) for side in ("left", "right"))
        self.removed += 1
        self._gone[number] = True
        self.strike(slice(first, last))

    def remove_all(self, numbers: Int64s) -> None:
        """Removes many subscriptions at once; none of them is removed yet."""
        if not len(numbers):
            return
        owners = np.concatenate([np.arange(self.conjuncts.simple), self.conjuncts.owners])
        self.removed += len(numbers)
        self._gone[numbers] = True
        self.strike(self._gone[owners])

    def match(self, batch: pa.RecordBatch, work: Work) -> list[Part]:
        """Matches a canonical batch; the result has as many parts as output buffers were needed."""
        room = len(self.conjuncts) + SLACK
        expected = min(int(self._expected * len(batch) * 1.1), SLAB)
        direct = expected > DIRECT
        if not direct and len(self._memory.out) < room + DIRECT:
            self._memory.out = np.empty(room + 2 * DIRECT, np.int32)
        out = self._memory.slabs.take(room + expected) if direct else self._memory.out
        ends, parts, begun = np.zeros(len(batch) + 1, np.int64), [], 0

        def close(stop: int) -> None:
            numbers = out[: ends[stop]] if direct else out[: ends[stop]].copy()
            parts.append(Part(begun, ends[begun : stop + 1].copy(), numbers))

        size = min(CHUNK, max(1, MOST_CODES // (self.encoder.singles + 1)))
        for start in range(0, len(batch), size):
            chunk = batch.slice(start, size)
            try:
                encoded = self.encoder.encode(chunk)
            except EventError as error:
                raise EventError([replace(v, event=start + v.event) for v in error.violations]) from None
            left, count = 0, len(chunk)
            while (left := self._probe(encoded, left, room, out, ends[start : start + count + 1], work)) < count:
                close(start + left)
                begun = start + left
                ends[begun] = 0
                if direct:
                    out = self._memory.slabs.take(room + expected)
        close(len(batch))
        if len(batch):
            self._expected = sum(part.offsets[-1] for part in parts) / len(batch)
        return parts

    def _probe(self, encoded: Encoded, first: int, room: int, out: Int32s, ends: Int64s, work: Work) -> int:
        scratch = self._memory
        while True:
            if scratch.stamp + len(encoded.codes) >= LAST_STAMP:
                scratch.memory[:], scratch.seen[:], scratch.stamp = 0, 0, 0
            removed = self.removed > 0
            stop = self.run(encoded, first, removed, room, out, ends, work.counters)
            scratch.stamp += len(encoded.codes)
            # The first removal may have come meanwhile and left its mark among the matches: once more, closing up.
            if removed or not self.removed:
                return stop

    @property
    def tests(self) -> tuple[Any, ...]:
        """The tests as kernels take them."""
        conjuncts = self.conjuncts
        return (
            conjuncts.test_offsets, conjuncts.tests, conjuncts.test_columns, conjuncts.test_flags, conjuncts.test_lows,
            conjuncts.test_highs, conjuncts.listed, self.encoder.singles,
        )  # fmt: skip

    def save(self, path: Path) -> None:
        """Writes the level to one file; a level that came from a file is linked to it, since it has not changed."""
        if self._source is not None and self._source.link(path):
            return
        arrays: Arrays = {}
        about: dict[str, Any] = {"columns": [list(_plain(c)) for c in self.encoder.columns]}
        about["dictionaries"] = [[name, type(d).__name__] for name, d in self.encoder.dictionaries.items()]
        about["patterns"] = list(self.encoder.patterns)
        for i, dictionary in enumerate(self.encoder.dictionaries.values()):
            arrays |= under(f"dictionary.{i}.", dictionary.arrays())
        for i, patterns in enumerate(self.encoder.patterns.values()):
            arrays |= under(f"patterns.{i}.", patterns.arrays())
        for name, part in (("names.", self.names), ("texts.", self.texts), ("conjuncts.", self.conjuncts)):
            arrays |= under(name, part.arrays())
        write_arrays(path, arrays | self.own_arrays(), about)

    @classmethod
    def open(cls, path: Path, schema: Schema, verify: bool = True) -> Self:
        source = Source.of(path)
        arrays, about = read_arrays(path, verify)
        columns = tuple(Column(Kind(kind), *rest) for kind, *rest in about["columns"])
        dictionaries: dict[str, Dictionary] = {}
        for i, (name, kind) in enumerate(about["dictionaries"]):
            part = part_of(f"dictionary.{i}.", arrays)
            dictionaries[name] = Numbers(part) if kind == "Numbers" else Strings(part)
        patterns = {
            name: PatternSet.from_arrays(part_of(f"patterns.{i}.", arrays)) for i, name in enumerate(about["patterns"])
        }
        level = cls.arranged(
            Encoder(columns, dictionaries, patterns, schema),
            Conjuncts.from_arrays(part_of("conjuncts.", arrays)),
            Names(part_of("names.", arrays)),
            CompressedTexts(part_of("texts.", arrays)),
            arrays,
        )
        level._source = source
        return level


def _plain(column: Column) -> tuple[str, ...]:
    return column.kind.value, column.attribute, column.operator, column.other


def under(prefix: str, arrays: Arrays) -> Arrays:
    """Arrays renamed with a prefix."""
    return {prefix + name: array for name, array in arrays.items()}


def part_of(prefix: str, arrays: Arrays) -> Arrays:
    """Arrays whose names begin with a prefix, renamed without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
