"""A level: some subscriptions compiled together, frozen but for what is struck out of them."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.errors import EventError
from tamis.matching.columnar.buckets.pool import Buckets, fill
from tamis.matching.columnar.encoding.columns import Column, Encoded, Encoder, Kind
from tamis.matching.columnar.encoding.dictionary import Dictionary, Numbers, Strings
from tamis.matching.columnar.files import Source, read_arrays, write_arrays
from tamis.matching.columnar.intrinsics import has_compress
from tamis.matching.columnar.lowering.conditions import Conditions
from tamis.matching.columnar.lowering.conjuncts import Conjuncts
from tamis.matching.columnar.names import Names
from tamis.matching.columnar.planning.knowledge import learn
from tamis.matching.columnar.planning.plan import Plan, plan
from tamis.matching.columnar.probing.kernels import PROBES, match_events
from tamis.matching.columnar.slabs import SLAB, Slabs
from tamis.matching.columnar.texts import Texts
from tamis.matching.matches import Part, Work
from tamis.matching.patterns import PatternSet
from tamis.matching.statistics import Statistics
from tamis.schema import Schema

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Arrays = dict[str, npt.NDArray[Any]]

CHUNK, MOST_CODES = 4096, 1 << 24  # events encoded at a time, and codes: they stay in cache
SLACK = 64  # words a kernel may write past an event's matches
DIRECT = 1 << 18  # expected matches from which on they are written where they stay, not copied there
LAST_STAMP = 2**30 - 1


class _Scratch(threading.local):
    """One thread's working memory: what was decided for the current event carries its stamp."""

    def __init__(self, tests: int, several: int, conjuncts: int, columns: int) -> None:
        self.event = (
            np.zeros(2 * columns + 2, np.int64), np.zeros(columns + 1, np.int32), np.empty(columns + 1, np.int64),
            np.empty((PROBES, 3), np.int64), np.empty(PROBES, np.int64),
        )  # fmt: skip
        self.memory, self.seen = np.zeros(tests, np.int32), np.zeros(several, np.int32)
        self.stamp, self.loose = 0, np.empty(conjuncts + SLACK, np.int32)
        self.out = np.zeros(0, np.int32)
        self.slabs = Slabs()


class Level:
    """Subscriptions 0 to n - 1 of the level, and everything needed to match events with them.

    Built or mapped once. The only change ever made is that numbers of removed subscriptions are struck out of the
    pool (-1), in this process's own pages: a number is one word, so readers in other threads see it or do not.
    """

    def __init__(
        self, encoder: Encoder, conjuncts: Conjuncts, groups: Plan, ranges: tuple[Int64s, Int32s], buckets: Buckets,
        names: Names, texts: Texts,
    ) -> None:  # fmt: skip
        self.encoder, self.conjuncts, self.names, self.texts = encoder, conjuncts, names, texts
        self._groups, self._ranges, self._buckets = groups, ranges, buckets
        self._gone = np.zeros(len(names), np.bool_)
        self.removed = 0
        self._source: Source | None = None
        self._compress = has_compress()
        self._expected = 0.0
        self._scratch = _Scratch(
            len(conjuncts.test_columns), len(names) - conjuncts.simple, len(conjuncts), len(encoder.columns)
        )

    @classmethod
    def build(cls, conditions: Conditions, ids: pa.Array, texts: pa.Array, statistics: Statistics | None) -> Level:
        """Compiles the conditions; `ids` and `texts` are by subscription row."""
        encoder, conjuncts, order = conditions.finish(len(ids))
        knowledge = learn(conjuncts, encoder, conditions.schema, statistics)
        groups, entries = plan(conjuncts, encoder, knowledge)
        buckets = fill(conjuncts, encoder, entries, len(groups))
        rows = pa.array(order)
        columns = groups.range_columns(encoder.singles + 1)
        ranges = columns, np.ascontiguousarray(knowledge.edges[knowledge.edge_rows[columns]])
        return cls(
            encoder, conjuncts, groups, ranges, buckets, Names.build(ids.take(rows)), Texts.build(texts.take(rows))
        )

    def __len__(self) -> int:
        return len(self.names) - self.removed

    def find(self, id: str) -> int | None:
        """The number of a subscription that is there and not removed."""
        number = self.names.find(id)
        return None if number is None or self._gone[number] else number

    @property
    def present(self) -> Int64s:
        """The numbers not removed."""
        return np.flatnonzero(~self._gone)

    @property
    def gone(self) -> Int64s:
        return np.flatnonzero(self._gone)

    def remove(self, number: int) -> None:
        """Strikes a subscription out wherever it stands in the pool."""
        owners, simple = self.conjuncts.owners, self.conjuncts.simple
        if number < simple:
            first, last = number, number + 1
        else:
            first, last = (simple + int(np.searchsorted(owners, number, side)) for side in ("left", "right"))
        ends, buckets = self._buckets.entry_ends, self._buckets
        self.removed += 1
        self._gone[number] = True
        buckets.pool[buckets.positions[ends[first] : ends[last]]] = -1

    def remove_all(self, numbers: Int64s) -> None:
        """Strikes out many at once; none of them is removed yet."""
        if not len(numbers):
            return
        owners = np.concatenate([np.arange(self.conjuncts.simple), self.conjuncts.owners])
        self.removed += len(numbers)
        self._gone[numbers] = True
        entries = np.repeat(self._gone[owners], np.diff(self._buckets.entry_ends))
        self._buckets.pool[self._buckets.positions[entries]] = -1

    def match(self, batch: pa.RecordBatch, work: Work) -> list[Part]:
        """The matches of a canonical batch, in as many parts as output buffers were needed."""
        room = len(self.conjuncts) + SLACK
        expected = min(int(self._expected * len(batch) * 1.1), SLAB)
        direct = expected > DIRECT
        if not direct and len(self._scratch.out) < room + DIRECT:
            self._scratch.out = np.empty(room + 2 * DIRECT, np.int32)
        out = self._scratch.slabs.take(room + expected) if direct else self._scratch.out
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
                    out = self._scratch.slabs.take(room + expected)
        close(len(batch))
        if len(batch):
            self._expected = sum(part.offsets[-1] for part in parts) / len(batch)
        return parts

    def _probe(self, encoded: Encoded, first: int, room: int, out: Int32s, ends: Int64s, work: Work) -> int:
        scratch, conjuncts, groups, buckets = self._scratch, self.conjuncts, self._groups, self._buckets
        tests = (
            conjuncts.test_offsets, conjuncts.tests, conjuncts.test_columns, conjuncts.test_flags, conjuncts.test_lows,
            conjuncts.test_highs, conjuncts.listed, self.encoder.singles,
        )  # fmt: skip
        while True:
            if scratch.stamp + len(encoded.codes) >= LAST_STAMP:
                scratch.memory[:], scratch.seen[:], scratch.stamp = 0, 0, 0
            removed = self.removed > 0
            stop: int = match_events(
                encoded.codes, (encoded.set_ends, encoded.set_codes), first,
                (groups.starts, groups.sources, groups.levels, groups.places, groups.sets, groups.set_places),
                self._ranges, buckets.slots, buckets.slot_starts, buckets.root, buckets.pool, tests, conjuncts.owners,
                conjuncts.simple, removed, scratch.memory, scratch.seen, scratch.stamp, room, self._compress,
                scratch.event, scratch.loose, out, ends, work.counters,
            )  # fmt: skip
            scratch.stamp += len(encoded.codes)
            # The first removal may have come meanwhile and left its -1 among the matches: once more, closing up.
            if removed or not self.removed:
                return stop

    def save(self, path: Path) -> None:
        """One file; a level that came from a file is linked to it, since it has not changed."""
        if self._source is not None and self._source.link(path):
            return
        arrays: Arrays = {}
        about: dict[str, Any] = {"columns": [list(_plain(c)) for c in self.encoder.columns]}
        about["dictionaries"] = [[name, type(d).__name__] for name, d in self.encoder.dictionaries.items()]
        about["patterns"] = list(self.encoder.patterns)
        for i, dictionary in enumerate(self.encoder.dictionaries.values()):
            arrays |= _under(f"dictionary.{i}.", dictionary.arrays())
        for i, patterns in enumerate(self.encoder.patterns.values()):
            arrays |= _under(f"patterns.{i}.", patterns.arrays())
        for name, part in (("names.", self.names), ("texts.", self.texts), ("conjuncts.", self.conjuncts)):
            arrays |= _under(name, part.arrays())
        arrays |= _under("groups.", dict(vars(self._groups)))
        buckets = dict(vars(self._buckets))
        buckets["root"] = np.array([self._buckets.root], np.int64)
        arrays |= _under("buckets.", buckets)
        arrays |= {"ranges.columns": self._ranges[0], "ranges.edges": self._ranges[1]}
        write_arrays(path, arrays, about)

    @classmethod
    def open(cls, path: Path, schema: Schema, verify: bool = True) -> Level:
        source = Source.of(path)
        arrays, about = read_arrays(path, verify)
        columns = tuple(Column(Kind(kind), *rest) for kind, *rest in about["columns"])
        dictionaries: dict[str, Dictionary] = {}
        for i, (name, kind) in enumerate(about["dictionaries"]):
            part = _part(f"dictionary.{i}.", arrays)
            dictionaries[name] = Numbers(part) if kind == "Numbers" else Strings(part)
        patterns = {
            name: PatternSet.from_arrays(_part(f"patterns.{i}.", arrays)) for i, name in enumerate(about["patterns"])
        }
        buckets = _part("buckets.", arrays)
        root = int(buckets.pop("root")[0])
        level = cls(
            Encoder(columns, dictionaries, patterns, schema),
            Conjuncts.from_arrays(_part("conjuncts.", arrays)),
            Plan(**_part("groups.", arrays)),
            (arrays["ranges.columns"], arrays["ranges.edges"]),
            Buckets(root=root, **buckets),
            Names(_part("names.", arrays)),
            Texts(_part("texts.", arrays)),
        )
        level._source = source
        return level


def _plain(column: Column) -> tuple[str, ...]:
    return column.kind.value, column.attribute, column.operator, column.other


def _under(prefix: str, arrays: Arrays) -> Arrays:
    return {prefix + name: array for name, array in arrays.items()}


def _part(prefix: str, arrays: Arrays) -> Arrays:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
