"""For each class of filters one that covers it, or that none does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tamis.routing.covering.facts.facts import Facts
from tamis.routing.covering.relation import Relation
from tamis.routing.covering.search.classes import Classes
from tamis.routing.covering.search.corners import Corners, Layout, Probes
from tamis.routing.covering.search.generality import demands
from tamis.routing.covering.search.kernels import settle_covers
from tamis.schema import Schema

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

FIRST, GROWTH = 1 << 10, 16
MOST_CANDIDATES = 20_000_000_000
_BATCH, _MOST_CODES = 4096, 1 << 22
_MOST_ASKED = 1 << 16
_SAMPLE = 20_000

Asked = Callable[[int, int], Relation]
"""How the first class stands to the second, for pairs that facts do not decide."""


@dataclass(frozen=True)
class Covers:
    """`cover[k]`: a class that covers class k and is itself covered by none, or -1.

    Nothing covers itself, directly or over others: all covered classes can be dropped at once. `undecided`: classes
    for which it was not found out. `candidates`: pairs that were looked at; `asked`: those that facts did not decide.
    """

    cover: Int32s
    undecided: Flags
    candidates: int
    asked: int


def find_covers(
    facts: Facts, classes: Classes, schema: Schema, asked: Asked | None = None, most: int = MOST_CANDIDATES
) -> Covers:
    """Looks for covers among all classes.

    Classes are taken in order of what they ask for, few at first and then more: what the few cover is out of the way
    before the many are compared with each other. Gives up, and leaves the rest undecided, after so many candidates.
    """
    return _Search(facts, classes, schema, asked, most).run()


class _Search:
    """One search. `order`: the classes by what they ask for, so that what covers a class is before it, or beside it."""

    def __init__(self, facts: Facts, classes: Classes, schema: Schema, asked: Asked | None, most: int) -> None:
        self.facts, self.classes, self.schema = facts, classes, schema
        self._asked, self._most = asked, most
        self.layout = Layout.of(facts)
        self.owners = classes.owners(len(facts))
        asks = demands(facts)
        of_members = asks[classes.members]
        least = np.minimum.reduceat(of_members, classes.offsets[:-1]) if len(classes) else of_members
        self.demand = least
        self.order = np.argsort(least, kind="stable")
        self.probe = _hardest(asks, classes)
        self.cover = np.full(len(classes), -1, np.int32)
        self.undecided = np.zeros(len(classes), np.bool_)
        self.work = np.zeros(2, np.int64)
        self.asked_in_all = 0

    def run(self) -> Covers:
        for start, stop in self._chunks():
            chunk = self.order[start:stop]
            chunk = chunk[self.cover[chunk] < 0]
            later = self.order[stop:]
            later = later[self.cover[later] < 0]
            if self.work[0] > self._most:
                self.undecided[chunk] = self.undecided[later] = True
                break
            self._compare(chunk, chunk)
            roots = chunk[self.cover[chunk] < 0]
            if len(later):
                self._compare(roots, later)
        return Covers(self._roots(), self.undecided & (self.cover < 0), int(self.work[0]), self.asked_in_all)

    def _chunks(self) -> Iterator[tuple[int, int]]:
        """Stretches of the order; classes that ask for equally much are in one."""
        start, size, count = 0, FIRST, len(self.order)
        while start < count:
            stop = min(start + size, count)
            if stop < count:
                stop = int(np.searchsorted(self.demand, self.demand[self.order[stop - 1]], "right", sorter=self.order))
            yield start, stop
            start, size = stop, size * GROWTH

    def _compare(self, ours: Int64s, theirs: Int64s) -> None:
        """Finds which of theirs are covered by one of ours."""
        members = np.unique(_members(self.classes, ours))
        sample = theirs
        if len(theirs) > _SAMPLE:
            sample = np.sort(np.random.default_rng(0).choice(theirs, _SAMPLE, replace=False))
        expected = Probes.of(self.probe[sample], self.facts, self.layout)
        index = Corners(members.astype(np.int64), self.facts, self.layout, expected, self.schema)
        asked = np.empty((_MOST_ASKED, 2), np.int64)
        size = max(1, min(_BATCH, _MOST_CODES // (self.layout.columns + 1)))
        for begin in range(0, len(theirs), size):
            if self.work[0] > self._most:
                self.undecided[theirs[begin:]] = True
                return
            batch = theirs[begin : begin + size]
            probes = self.probe[batch]
            for first, stop, ends, found in index.look_up(Probes.of(probes, self.facts, self.layout)):
                self.work[1] = 0
                settle_covers(
                    first, stop, batch, probes, ends, found, index.rows, (self.classes.offsets, self.classes.members),
                    self.owners, self.demand, self.facts.flat, self.facts.sets, self.facts.patterns, self.facts.others,
                    self.cover, asked, self.work,
                )  # fmt: skip
                self._look_closer(asked[: self.work[1]])

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
        """What covers is replaced by what covers it, to the end."""
        cover = self.cover.copy()
        while True:
            covered = np.flatnonzero(cover >= 0)
            further = cover[cover[covered]]
            if not (further >= 0).any():
                return cover
            cover[covered] = np.where(further >= 0, further, cover[covered])


def _hardest(asks: Int64s, classes: Classes) -> Int64s:
    """Of each class the conjunction that asks for most: the fewest others cover it."""
    if not len(classes):
        return np.zeros(0, np.int64)
    of_members = asks[classes.members]
    owners = np.repeat(np.arange(len(classes)), np.diff(classes.offsets))
    order = np.lexsort((of_members, owners))
    return classes.members[order[classes.offsets[1:] - 1]].astype(np.int64)


def _members(classes: Classes, some: Int64s) -> Int32s:
    """The conjunctions of some classes."""
    starts, sizes = classes.offsets[some], np.diff(classes.offsets)[some]
    ends = np.cumsum(sizes)
    return classes.members[np.repeat(starts - (ends - sizes), sizes) + np.arange(int(sizes.sum()))]
