"""Search for covers in a worker: its share of the filters looked up in an index of others."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa

from tamis.arrays import Int64s
from tamis.matching.codes.files import read_arrays
from tamis.routing.covering.search.corners import Corners
from tamis.routing.covering.search.covers import compare_here
from tamis.routing.covering.search.ground import Ground

# What a row is about: a class and what covers it, a class and what may cover it, a class not looked at, and candidates.
COVERED, ASKED, LEFT, CANDIDATES = range(4)

THEIRS = "theirs"

T = TypeVar("T")

# One search at a time, and two rounds of it: a task may be run again.
_KEPT = 2
_GROUNDS: OrderedDict[str, Ground] = OrderedDict()
_INDEXES: OrderedDict[str, Corners] = OrderedDict()


@dataclass(frozen=True, slots=True)
class Covering:
    """Takes rows (start, stop): places in the array of filters to look up. Answers rows of kind, class, other class.

    Everything of size is in files, which are mapped into memory.
    """

    ground: str
    index: str
    theirs: str
    most: int

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        ground = _opened(_GROUNDS, self.ground, lambda: Ground.open(Path(self.ground)))
        index = _opened(_INDEXES, self.index, lambda: Corners.open(Path(self.index), ground))
        theirs = read_arrays(Path(self.theirs), verify=False)[0][THEIRS]
        for batch in batches:
            for start, stop in zip(*(batch.column(place).to_pylist() for place in range(2)), strict=True):
                found = compare_here(ground, index, theirs[start:stop], self.most)
                yield _rows(COVERED, found.covered[:, 0], found.covered[:, 1])
                yield _rows(ASKED, found.asked[:, 0], found.asked[:, 1])
                yield _rows(LEFT, found.left, found.left)
                yield _rows(CANDIDATES, np.array([found.candidates]), np.zeros(1, np.int64))


def _opened(kept: OrderedDict[str, T], name: str, read: Callable[[], T]) -> T:
    if name not in kept:
        kept[name] = read()
    kept.move_to_end(name)
    while len(kept) > _KEPT:
        kept.popitem(last=False)
    return kept[name]


def _rows(kind: int, classes: Int64s, others: Int64s) -> pa.RecordBatch:
    columns = [np.full(len(classes), kind, np.int32), classes, others]
    return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], ["c0", "c1", "c2"])
