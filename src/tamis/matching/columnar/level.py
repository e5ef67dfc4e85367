"""A level of the columnar engine: entries in buckets, found by keys of up to three columns."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tamis.matching.codes.columns import Encoded, Encoder
from tamis.matching.codes.conjuncts import Conjuncts
from tamis.matching.codes.intrinsics import has_compress
from tamis.matching.codes.level import SLACK, Arrays, Int32s, Int64s, Scratch, part_of, under
from tamis.matching.codes.level import Level as AnyLevel
from tamis.matching.codes.names import Names
from tamis.matching.codes.texts import Texts
from tamis.matching.columnar.bucket_pool import Buckets, fill
from tamis.matching.columnar.knowledge import learn
from tamis.matching.columnar.plan import Plan, plan
from tamis.matching.columnar.probing_kernels import PROBES, match_events
from tamis.matching.statistics import Statistics
from tamis.schema import Schema


class _Scratch(Scratch):
    def __init__(self, tests: int, several: int, conjuncts: int, columns: int) -> None:
        super().__init__(tests, several)
        self.event = (
            np.zeros(2 * columns + 2, np.int64), np.zeros(columns + 1, np.int32), np.empty(columns + 1, np.int64),
            np.empty((PROBES, 3), np.int64), np.empty(PROBES, np.int64),
        )  # fmt: skip
        self.loose = np.empty(conjuncts + SLACK, np.int32)


class Level(AnyLevel):
    """A removed number of the pool becomes -1: it is one word, so readers in other threads see it or do not."""

    def __init__(
        self, encoder: Encoder, conjuncts: Conjuncts, names: Names, texts: Texts, groups: Plan,
        ranges: tuple[Int64s, Int32s], buckets: Buckets,
    ) -> None:  # fmt: skip
        several = len(names) - conjuncts.simple
        scratch = _Scratch(len(conjuncts.test_columns), several, len(conjuncts), len(encoder.columns))
        super().__init__(encoder, conjuncts, names, texts, scratch)
        self._groups, self._ranges, self._buckets = groups, ranges, buckets
        self._compress = has_compress()
        self._scratch = scratch

    @classmethod
    def arranged(cls, encoder: Encoder, conjuncts: Conjuncts, names: Names, texts: Texts, arrays: Arrays) -> Self:
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
