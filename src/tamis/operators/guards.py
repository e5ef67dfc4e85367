"""The plain part of filters that call operators, decided by the columnar index before anything is called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from tamis.language import Block, Bound, Limits, print_filter
from tamis.language.cutting import Column
from tamis.matching.base.statistics import Statistics
from tamis.matching.numbered_filters import NumberedFilters, Pairs
from tamis.matching.patterns import PatternSet
from tamis.operators.shapes import Shape
from tamis.schema import Schema


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
    """A plain matcher in which each guarded case is a filter."""

    def __init__(self, schema: Schema, limits: Limits, statistics: Statistics | None) -> None:
        self._schema = schema
        self._limits = limits
        self._filters = NumberedFilters(schema, statistics)

    def __bool__(self) -> bool:
        return len(self._filters) > 0

    def add(self, rows: Sequence[GuardedRows]) -> None:
        """More cases, none of which is there yet."""
        blocks: list[Block] = []
        cases: list[int] = []
        texts: list[str] = []
        for some in rows:
            first = len(cases)
            cases += some.cases
            texts += [print_filter(some.shape.guard_of(values), self._schema) for values in some.values]
            blocks.append(Block(np.arange(first, len(cases), dtype=np.int64), some.shape.guard, some.columns))
        self._filters.add(cases, texts, Bound(len(cases), blocks=blocks, limits=self._limits))

    def remove(self, cases: Iterable[int]) -> None:
        """Cases that are there."""
        self._filters.remove(cases)

    def candidates(self, batch: pa.RecordBatch) -> Pairs:
        """The cases whose guard each event passes."""
        return self._filters.held(batch)

    def holders_of(self, patterns: PatternSet) -> Pairs | None:
        """Patterns of a set, and beside each a case whose guard holds it; None if the set is of no guard."""
        return self._filters.holders_of(patterns)
