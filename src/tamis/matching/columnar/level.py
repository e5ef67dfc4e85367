"""The columnar matcher, and its level: conjunctions in hash buckets, found by keys of up to three columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from tamis.arrays import Arrays, Int32s, Int64s
from tamis.matching.base.statistics import Statistics
from tamis.matching.codes.columns import Encoded, Encoder, Kind
from tamis.matching.codes.encoding import MOST_NUMBERED, Conjuncts, refuse_excess
from tamis.matching.codes.intrinsics import has_compress
from tamis.matching.codes.level import SLACK, Level, Scratch, part_of, under
from tamis.matching.codes.levelled_matcher import LevelledMatcher
from tamis.matching.codes.names import CompressedTexts, Names
from tamis.matching.columnar.bucket_kernels import fill_buckets, lay_out, signatures
from tamis.matching.columnar.plan import Entries, Plan, learn, plan
from tamis.matching.columnar.probing_kernels import PROBES, match_events
from tamis.schema import Schema

# Hash tables and segment pool of a level: entries laid out in the order in which an event meets them.

_PADDING = 128  # words a kernel may read past the end


@dataclass(frozen=True)
class Buckets:
    """Hash tables and segment pool of a level.

    `slots`: pairs (key, where the bucket's segments are), a table a group from `slot_starts[g]` on. `root`: the bucket
    every event scans, or -1. `entry_ends` and `positions`: where in the pool each conjunction's numbers stand, so that
    they can be struck out.
    """

    slots: Int64s
    slot_starts: Int64s
    root: int
    pool: Int32s
    entry_ends: Int32s
    positions: Int32s


def fill(conjuncts: Conjuncts, encoder: Encoder, entries: Entries, groups: int) -> Buckets:
    """Lays out the entries of a plan with so many groups in buckets."""
    sizes = np.bincount(entries.groups, minlength=groups + 1)
    slots, slot_starts, ends, order = fill_buckets(groups + 1, entries.groups, entries.keys, sizes)
    rows = (conjuncts.offsets, conjuncts.columns, conjuncts.lows, conjuncts.highs)
    special = conjuncts.special
    signature = signatures(entries.conjuncts, entries.masks, rows, special, encoder.singles)
    values, positions = np.empty(len(ends) - 1, np.int64), np.empty(len(entries.groups), np.int64)
    flat = (entries.conjuncts, entries.masks, rows, special, signature, _tops(encoder), encoder.singles, positions)
    pool = lay_out(ends, order, flat, values)
    refuse_excess(max(len(pool), len(positions)), MOST_NUMBERED, "words")
    occupied = np.flatnonzero(slots[::2] != -1)
    slots[2 * occupied + 1] = values[slots[2 * occupied + 1]]
    at_root = occupied[occupied >= slot_starts[groups]]
    return Buckets(
        slots=slots,
        slot_starts=slot_starts,
        root=int(slots[2 * at_root[0] + 1]) if len(at_root) else -1,
        pool=np.concatenate([pool, np.zeros(_PADDING, np.int32)]),
        entry_ends=entries.ends.astype(np.int32),
        positions=positions.astype(np.int32),
    )


def _tops(encoder: Encoder) -> Int64s:
    """The highest code of each single-code column."""
    columns = encoder.columns[: encoder.singles]
    return np.array(
        [1 if c.kind is Kind.VERSUS else 2 * len(encoder.dictionaries[c.attribute]) for c in columns], np.int64
    )


class _Scratch(Scratch):
    def __init__(self, tests: int, several: int, conjuncts: int, columns: int) -> None:
        super().__init__(tests, several)
        self.event = (
            np.zeros(2 * columns + 2, np.int64), np.zeros(columns + 1, np.int32), np.empty(columns + 1, np.int64),
            np.empty((PROBES, 3), np.int64), np.empty(PROBES, np.int64),
        )  # fmt: skip
        self.loose = np.empty(conjuncts + SLACK, np.int32)


class ColumnarLevel(Level):
    """A level whose conjunctions lie in buckets, found by the groups of its plan.

    A removed number of the pool becomes -1: it is one word, so readers in other threads see it or do not.
    """

    def __init__(
        self, encoder: Encoder, conjuncts: Conjuncts, names: Names, texts: CompressedTexts, groups: Plan,
        ranges: tuple[Int64s, Int32s], buckets: Buckets,
    ) -> None:  # fmt: skip
        several = len(names) - conjuncts.simple
        scratch = _Scratch(len(conjuncts.test_columns), several, len(conjuncts), len(encoder.columns))
        super().__init__(encoder, conjuncts, names, texts, scratch)
        self._groups, self._ranges, self._buckets = groups, ranges, buckets
        self._compress = has_compress()
        self._scratch = scratch

    @classmethod
    def arranged(
        cls, encoder: Encoder, conjuncts: Conjuncts, names: Names, texts: CompressedTexts, arrays: Arrays
    ) -> Self:
        buckets: dict[str, Any] = part_of("buckets.", arrays)
        buckets["root"] = int(buckets["root"][0])
        ranges = arrays["ranges.columns"], arrays["ranges.edges"]
        groups = Plan(**part_of("groups.", arrays))
        return cls(encoder, conjuncts, names, texts, groups, ranges, Buckets(**buckets))

    @classmethod
    def arrange(cls, conjuncts: Conjuncts, encoder: Encoder, schema: Schema, statistics: Statistics | None) -> Arrays:
        knowledge = learn(conjuncts, encoder, schema, statistics)
        groups, entries = plan(conjuncts, encoder, knowledge)
        buckets = fill(conjuncts, encoder, entries, len(groups))
        columns = groups.range_columns(encoder.singles + 1)
        ranges = columns, np.ascontiguousarray(knowledge.edges[knowledge.edge_rows[columns]])
        return _named(groups, ranges, buckets)

    def own_arrays(self) -> Arrays:
        return _named(self._groups, self._ranges, self._buckets)

    def strike(self, conjuncts: npt.NDArray[np.bool_] | slice) -> None:
        ends, buckets = self._buckets.entry_ends, self._buckets
        if isinstance(conjuncts, slice):
            entries: Any = slice(ends[conjuncts.start], ends[conjuncts.stop])
        else:
            entries = np.repeat(conjuncts, np.diff(ends))
        buckets.pool[buckets.positions[entries]] = -1

    def run(
        self, encoded: Encoded, first: int, removed: bool, room: int, out: Int32s, ends: Int64s, work: Int64s
    ) -> int:
        scratch, conjuncts, groups, buckets = self._scratch, self.conjuncts, self._groups, self._buckets
        stop: int = match_events(
            encoded.codes, (encoded.set_ends, encoded.set_codes), first,
            (groups.starts, groups.sources, groups.levels, groups.places, groups.sets, groups.set_places),
            self._ranges, buckets.slots, buckets.slot_starts, buckets.root, buckets.pool, self.tests, conjuncts.owners,
            conjuncts.simple, removed, scratch.memory, scratch.seen, scratch.stamp, room, self._compress,
            scratch.event, scratch.loose, out, ends, work,
        )  # fmt: skip
        return stop


def _named(groups: Plan, ranges: tuple[Int64s, Int32s], buckets: Buckets) -> Arrays:
    laid = {**vars(buckets), "root": np.array([buckets.root], np.int64)}
    named = under("groups.", dict(vars(groups))) | under("buckets.", laid)
    return named | {"ranges.columns": ranges[0], "ranges.edges": ranges[1]}


# The matcher that production uses.


class ColumnarMatcher(LevelledMatcher[ColumnarLevel]):
    """The columnar matcher, used in production: levels in buckets found by key and compared sixteen at a time."""

    name: ClassVar[str] = "columnar"
    level = ColumnarLevel
