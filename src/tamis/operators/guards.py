"""The plain part of filters that call operators, decided by the columnar index before anything is called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.language import Block, Bound, Limits, print_filter
from tamis.language.cutting import Column
from tamis.matching.columnar.index import ColumnarMatcher
from tamis.matching.matcher import Subscriptions
from tamis.matching.statistics import Statistics
from tamis.operators.shapes import Shape
from tamis.schema import Schema

Pairs: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""Events, ascending, and beside each a case."""


class GuardedRows:
    """Cases of one shape on their way in: `cases[i]` has the literals of row i of the columns, and `values[i]`."""

    def __init__(
        self, shape: Shape, cases: Sequence[int], columns: tuple[Column, ...], values: Sequence[tuple[object, ...]]
    ) -> None:
        self.shape = shape
        self.cases = cases
        self.columns = columns
        self.values = values


class Guards:
    """A plain matcher in which each guarded case is a subscription; its id is its number in digits."""

    def __init__(self, schema: Schema, limits: Limits, statistics: Statistics | None) -> None:
        self._schema = schema
        self._limits = limits
        self._statistics = statistics
        self._matcher: ColumnarMatcher | None = None
        self._count = 0

    def __bool__(self) -> bool:
        return self._count > 0

    def add(self, rows: Sequence[GuardedRows]) -> None:
        """More cases, none of which is there yet."""
        blocks: list[Block] = []
        ids: list[str] = []
        texts: list[str] = []
        for some in rows:
            first = len(ids)
            ids += [str(case) for case in some.cases]
            texts += [print_filter(some.shape.guard_of(values), self._schema) for values in some.values]
            blocks.append(Block(np.arange(first, len(ids), dtype=np.int64), some.shape.guard, some.columns))
        if not ids:
            return
        bound = Bound(len(ids), blocks=blocks, limits=self._limits)
        given = Subscriptions(pa.array(ids, pa.large_string()), pa.array(texts, pa.large_string()), bound)
        if self._matcher is None:
            self._matcher = ColumnarMatcher.build(given, self._schema, self._statistics)
        else:
            self._matcher.add(given)
        self._count += len(ids)

    def remove(self, cases: Iterable[int]) -> None:
        """Cases that are there."""
        gone = [str(case) for case in cases]
        if gone and self._matcher is not None:
            self._matcher.remove(gone)
            self._count -= len(gone)

    def candidates(self, batch: pa.RecordBatch) -> Pairs:
        """The cases whose guard each event passes."""
        if self._matcher is None or not self._count:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        found = self._matcher.match(batch)
        cases = found.ids(found.numbers).cast(pa.int64()).to_numpy(zero_copy_only=False)
        return np.repeat(np.arange(found.events, dtype=np.int64), found.counts), cases
