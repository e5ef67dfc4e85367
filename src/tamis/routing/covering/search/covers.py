"""Search for covers: for each class of equal filters a class that covers it, or the finding that none does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tamis.arrays import Bools, Int32s, Int64s
from tamis.routing.covering.facts.facts import Facts
from tamis.routing.covering.relation import Relation
from tamis.routing.covering.search.corners import Corners, Probes
from tamis.routing.covering.search.ground import Classes, Ground
from tamis.routing.covering.search.kernels import settle_covers
from tamis.schema import Schema

FIRST, GROWTH = 1 << 10, 16
MOST_CANDIDATES = 20_000_000_000
_BATCH, _MOST_CODES = 4096, 1 << 22
_MOST_ASKED = 1 << 16
_SAMPLE = 20_000

Asked = Callable[[int, int], Relation]
"""How the first class stands to the second, for pairs that facts do not decide."""


@dataclass(frozen=True)
class Covers:
    """Result of the search: `cover[k]` is a class that covers class k and is itself covered by none, or -1.

    Nothing covers itself, directly or over others: all covered classes can be dropped at once. `undecided`: classes
    for which it was not found out. `candidates`: pairs that were looked at; `asked`: those that facts did not decide.
    """

    cover: Int32s
    undecided: Bools
    candidates: int
    asked: int


@dataclass(frozen=True)
class CoverPairs:
    """Findings for some classes: pairs (class, cover), pairs (class, possible cover), classes left unexamined, and the
    number of candidates."""

    covered: Int64s
    asked: Int64s
    left: Int64s
    candidates: int


class Compare(Protocol):
    """Comparison of some classes against an index of others: finds their covers, here or in worker processes."""

    def __call__(self, ground: Ground, index: Corners, theirs: Int64s, most: int) -> CoverPairs: ...


def find_covers(
    facts: Facts,
    classes: Classes,
    schema: Schema,
    asked: Asked | None = None,
    most: int = MOST_CANDIDATES,
    compare: Compare | None = None,
    left_out: Bools | None = None,
) -> Covers:
    """Finds covers among all classes, except those left out, which neither cover nor are covered.

    Classes are taken in order of what they ask for, few at first and then more: what the few cover is out of the way
    before the many are compared with each other. Gives up, and leaves the rest undecided, after so many candidates.
    """
    return _Search(Ground.of(facts, classes), schema, asked, most, compare or compare_here, left_out).run()


def compare_here(ground: Ground, index: Corners, theirs: Int64s, most: int) -> CoverPairs:
    """Comparison in this process, batch by batch, until `most` candidates were looked at."""
    cover = np.full(len(ground.demands), -1, np.int32)
    asked, work = np.empty((_MOST_ASKED, 2), np.int64), np.zeros(2, np.int64)
    pairs: list[Int64s] = [np.zeros((0, 2), np.int64)]
    size = max(1, min(_BATCH, _MOST_CODES // (ground.columns + 1)))
    begin = 0
    while begin < len(theirs) and work[0] <= most:
        batch = theirs[begin : begin + size]
        probes = ground.probes[batch]
        for first, stop, ends, found in index.look_up(Probes.of(probes, ground)):
            work[1] = 0
            settle_covers(
                first, stop, batch, probes, ends, found, index.rows, ground.classes, ground.owners, ground.demands,
                ground.facts, ground.sets, ground.patterns, ground.others, cover, asked, work,
            )  # fmt: skip
            pairs.append(asked[: work[1]].copy())
        begin += size
    covered = theirs[:begin][cover[theirs[:begin]] >= 0]
    found_pairs = np.stack([covered, cover[covered].astype(np.int64)], axis=1)
    return CoverPairs(found_pairs, np.concatenate(pairs), theirs[begin:], int(work[0]))


class _Search:
    """State of one search. `order`: classes by demand, so that a class's cover is before it, or beside it."""

    def __init__(
        self,
        ground: Ground,
        schema: Schema,
        asked: Asked | None,
        most: int,
        compare: Compare,
        left_out: Bools | None,
    ) -> None:
        self.ground, self.schema = ground, schema
        self._asked, self._most, self._run_compare = asked, most, compare
        self.order = np.argsort(ground.demands, kind="stable")
        if left_out is not None:
            self.order = self.order[~left_out[self.order]]
        count = len(ground.demands)
        self.cover = np.full(count, -1, np.int32)
        self.undecided = np.zeros(count, np.bool_)
        self.candidates = self.asked_in_all = 0

    def run(self) -> Covers:
        for start, stop in self._chunks():
            chunk, later = self._left(self.order[start:stop]), self._left(self.order[stop:])
            if self.candidates > self._most:
                self.undecided[chunk] = self.undecided[later] = True
                break
            self._compare(chunk, chunk)
            if len(later):
                self._compare(self._left(chunk), later)
        return Covers(self._roots(), self.undecided & (self.cover < 0), self.candidates, self.asked_in_all)

    def _left(self, some: Int64s) -> Int64s:
        return some[self.cover[some] < 0]

    def _chunks(self) -> Iterator[tuple[int, int]]:
        """Stretches of the order; classes of equal demand are in one."""
        start, size, count = 0, FIRST, len(self.order)
        demands = self.ground.demands[self.order]
        while start < count:
            stop = min(start + size, count)
            if stop < count:
                stop = int(np.searchsorted(demands, demands[stop - 1], "right"))
            yield start, stop
            start, size = stop, size * GROWTH

    def _compare(self, ours: Int64s, theirs: Int64s) -> None:
        """Finds which of their classes are covered by one of ours."""
        sample = theirs
        if len(theirs) > _SAMPLE:
            sample = np.sort(np.random.default_rng(0).choice(theirs, _SAMPLE, replace=False))
        expected = Probes.of(self.ground.probes[sample], self.ground)
        index = Corners.build(self.ground.members_of(ours), self.ground, expected, self.schema)
        found = self._run_compare(self.ground, index, theirs, self._most - self.candidates)
        self.cover[found.covered[:, 0]] = found.covered[:, 1]
        self.undecided[found.left] = True
        self.candidates += found.candidates
        self._look_closer(found.asked)

    def _look_closer(self, pairs: Int64s) -> None:
        for other, owner in pairs.tolist():
            if self.cover[other] >= 0:
                continue
            self.asked_in_all += 1
            if self._asked is None:
                self.undecided[other] = True
            elif (found := self._asked(owner, other)) == Relation.COVERS or (found == Relation.EQUAL and owner < other):
                self.cover[other] = owner

    def _roots(self) -> Int32s:
        """Replaces each cover by the cover's own cover, to the end."""
        cover = self.cover.copy()
        while True:
            covered = np.flatnonzero(cover >= 0)
            further = cover[cover[covered]]
            if not (further >= 0).any():
                return cover
            cover[covered] = np.where(further >= 0, further, cover[covered])
