"""Common base of Le Subscribe's matchers: levels that find conjunctions by intervals and verify the rest; and a
scan."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from tamis.arrays import Arrays, Bools, Int32s, Int64s
from tamis.compiled import bare_kernel
from tamis.matching.base.matcher import CANDIDATES, PREDICATES
from tamis.matching.base.statistics import Statistics
from tamis.matching.codes.columns import Encoded, Encoder
from tamis.matching.codes.encoding import Conjuncts
from tamis.matching.codes.level import Level, Scratch, part_of, under
from tamis.matching.codes.levelled_matcher import LevelledMatcher
from tamis.matching.codes.names import CompressedTexts, Names
from tamis.matching.columnar.plan import Knowledge, learn
from tamis.matching.columnar.probing_kernels import passes
from tamis.schema import Schema


class _Scratch(Scratch):
    def __init__(self, tests: int, several: int, event: int, level: VerifiedLevel) -> None:
        super().__init__(tests, several)
        self.event = np.zeros(event, np.int32)
        self.own = level.working_memory()


class VerifiedLevel(Level):
    """Level of an index, given by an algorithm's named tuples of arrays (`parts`) and a kernel over them.

    Negations, lists, patterns, several conditions on one multiple-valued attribute are no intervals: the kernel hands
    the conjunctions whose intervals hold to `settle`, which tests what is left. A removed conjunction is marked in
    `alive`, which `settle` asks first.
    """

    parts: ClassVar[Mapping[str, type[Any]]]
    kernel: ClassVar[Any]

    def __init__(
        self, encoder: Encoder, conjuncts: Conjuncts, names: Names, texts: CompressedTexts, own: tuple[Any, ...]
    ) -> None:
        self._own = own
        self._alive, self._special = np.ones(len(conjuncts), np.int8), conjuncts.special
        scratch = _Scratch(len(conjuncts.test_columns), len(names) - conjuncts.simple, encoder.singles + 1, self)
        super().__init__(encoder, conjuncts, names, texts, scratch)
        self._scratch = scratch

    @classmethod
    def arranged(
        cls, encoder: Encoder, conjuncts: Conjuncts, names: Names, texts: CompressedTexts, arrays: Arrays
    ) -> Self:
        own = tuple(kind(**part_of(f"{name}.", arrays)) for name, kind in cls.parts.items())
        return cls(encoder, conjuncts, names, texts, own)

    @classmethod
    def arrange(cls, conjuncts: Conjuncts, encoder: Encoder, schema: Schema, statistics: Statistics | None) -> Arrays:
        return _named(cls.parts, cls.lay_out(conjuncts, encoder, learn(conjuncts, encoder, schema, statistics)))

    @classmethod
    @abstractmethod
    def lay_out(cls, conjuncts: Conjuncts, encoder: Encoder, knowledge: Knowledge) -> tuple[Any, ...]:
        """Builds the parts, in their order."""

    def working_memory(self) -> Any:
        """Scratch that one thread's kernel writes to besides the common."""
        return ()

    def own_arrays(self) -> Arrays:
        return _named(self.parts, self._own)

    def strike(self, conjuncts: npt.NDArray[np.bool_] | slice) -> None:
        self._alive[conjuncts] = 0

    def run(
        self, encoded: Encoded, first: int, removed: bool, room: int, out: Int32s, ends: Int64s, work: Int64s
    ) -> int:
        scratch, conjuncts = self._scratch, self.conjuncts
        rest = self._alive, self._special, self.tests, conjuncts.owners, conjuncts.simple
        stop: int = type(self).kernel(
            encoded.codes, (encoded.set_ends, encoded.set_codes), first, self._own, rest, scratch.memory, scratch.seen,
            scratch.stamp, room, scratch.event, scratch.own, out, ends, work,
        )  # fmt: skip
        return stop


def _named(parts: Mapping[str, type[Any]], own: tuple[Any, ...]) -> Arrays:
    arrays: Arrays = {}
    for name, part in zip(parts, own, strict=True):
        arrays |= under(f"{name}.", part._asdict())
    return arrays


# Intervals by row, as kernels verify them.


class Intervals(NamedTuple):
    """Intervals of rows: row c asks for `lows <= code <= highs` on each of `columns`, from `offsets[c]` to
    `offsets[c + 1]`."""

    offsets: Int32s
    columns: Int32s
    lows: Int32s
    highs: Int32s


def intervals_of(conjuncts: Conjuncts, chosen: Bools) -> Intervals:
    """Intervals chosen among those of all conjunctions."""
    offsets = np.concatenate([np.zeros(1, np.int32), np.cumsum(chosen, dtype=np.int32)])[conjuncts.offsets]
    columns = conjuncts.columns[chosen].astype(np.int32)
    return Intervals(offsets, columns, conjuncts.lows[chosen], conjuncts.highs[chosen])


def rows_of(conjuncts: Conjuncts) -> Int32s:
    """Conjunction of each interval."""
    return np.repeat(np.arange(len(conjuncts), dtype=np.int32), np.diff(conjuncts.offsets))


def taken(intervals: Intervals, rows: Int32s) -> Intervals:
    """Intervals with rows reordered: rows that are verified together are then adjacent."""
    sizes = np.diff(intervals.offsets)[rows]
    offsets = np.concatenate([np.zeros(1, np.int32), np.cumsum(sizes, dtype=np.int32)])
    places = np.repeat(intervals.offsets[rows] - offsets[:-1], sizes) + np.arange(offsets[-1])
    return Intervals(offsets, intervals.columns[places], intervals.lows[places], intervals.highs[places])


# Kernels that several algorithms share: an event's codes, intervals, and the verification of the rest.


@bare_kernel
def load(codes: Any, e: int, event: Any) -> None:
    """Copies one event's codes to an array of its own, which small kernels hand each other."""
    for column in range(len(event)):
        event[column] = codes[e, column]


@bare_kernel
def holds(intervals: Any, c: int, event: Any, work: Any) -> bool:
    """True if all intervals of row c hold; an absent attribute fails each of them by itself."""
    for i in range(intervals.offsets[c], intervals.offsets[c + 1]):
        code = event[intervals.columns[i]]
        work[PREDICATES] += 1
        if code < intervals.lows[i] or intervals.highs[i] < code:
            return False
    return True


@bare_kernel
def settle(
    begin: int, end: int, e: int, event: Any, sets: Any, rest: Any, memory: Any, seen: Any, stamp: int, out: Any,
    work: Any,
) -> int:  # fmt: skip
    """Turns the conjunctions `out[begin:end]`, whose intervals hold, into subscriptions, in place; returns their end.

    What intervals could not say is tested, what was removed is left out, and a subscription of several is written once.
    All of an event's at once: a call for each would cost more than its work.
    """
    alive, special, tests, owners, simple = rest
    kept = begin
    for i in range(begin, end):
        c = out[i]
        held = alive[c] != 0
        if held and special[c]:
            for j in range(tests[0][c], tests[0][c + 1]):
                test = tests[1][j]
                work[PREDICATES] += memory[test] >> 1 != stamp
                if not passes(test, e, event, sets, tests, memory, stamp):
                    held = False
                    break
            if held and c >= simple:
                c = owners[c - simple]
                held = seen[c - simple] != stamp
                seen[c - simple] = stamp
        out[kept] = c
        kept += held
    return kept


# Scan: every subscription verified on every event, compiled.


@bare_kernel
def match_by_scanning(
    codes: Any, sets: Any, first: int, own: Any, rest: Any, memory: Any, seen: Any, stamp: int, room: int, event: Any,
    scratch: Any, out: Any, ends: Any, work: Any,
) -> int:  # fmt: skip
    """See `Level.run`."""
    (intervals,) = own
    end = ends[first]
    for e in range(first, len(codes)):
        if end + room > len(out):
            return e
        stamp += 1
        load(codes, e, event)
        work[CANDIDATES] += len(intervals.offsets) - 1
        for c in range(len(intervals.offsets) - 1):
            if holds(intervals, c, event, work):
                out[end] = c
                end += 1
        end = settle(ends[e], end, e, event, sets, rest, memory, seen, stamp, out, work)
        ends[e + 1] = end
    return len(codes)


class ScanLevel(VerifiedLevel):
    """Level of the index: intervals in the conjunctions' order; conditions on sets are tested."""

    parts: ClassVar[dict[str, type[Any]]] = {"intervals": Intervals}
    kernel = match_by_scanning

    @classmethod
    def lay_out(cls, conjuncts: Conjuncts, encoder: Encoder, knowledge: Knowledge) -> tuple[Intervals]:
        return (intervals_of(conjuncts, conjuncts.columns < encoder.singles),)


class ScanMatcher(LevelledMatcher[ScanLevel]):
    """Scan matcher, compiled, over codes (Fabret et al., Le Subscribe, §3.1 Fig 1): the baseline of its rivals.

    Predicates are evaluated subscription by subscription until one fails.
    """

    name: ClassVar[str] = "scan"
    level = ScanLevel
