"""Columnar matcher of plain filters known by number: guards of operators, residual filters of joins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.language import Bound
from tamis.matching.base.matcher import Subscriptions
from tamis.matching.base.statistics import Statistics
from tamis.matching.columnar.level import ColumnarMatcher
from tamis.matching.patterns import PatternSet
from tamis.schema import Schema

Pairs: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""Events, ascending, or patterns, and beside each a number."""


class NumberedFilters:
    """Matcher of plain filters that have numbers in place of ids."""

    def __init__(self, schema: Schema, statistics: Statistics | None = None) -> None:
        self._schema = schema
        self._statistics = statistics
        self._matcher: ColumnarMatcher | None = None
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, numbers: Sequence[int], texts: Sequence[str], bound: Bound) -> None:
        """Adds bound filters; none of the numbers is present yet."""
        if not numbers:
            return
        ids = pa.array(map(str, numbers), pa.large_string())
        given = Subscriptions(ids, pa.array(texts, pa.large_string()), bound)
        if self._matcher is None:
            self._matcher = ColumnarMatcher.build(given, self._schema, self._statistics)
        else:
            self._matcher.add(given)
        self._count += len(numbers)

    def remove(self, numbers: Iterable[int]) -> None:
        """Removes filters; all of the numbers must be present."""
        gone = [str(number) for number in numbers]
        if gone and self._matcher is not None:
            self._matcher.remove(gone)
            self._count -= len(gone)

    def held(self, batch: pa.RecordBatch) -> Pairs:
        """Pairs of an event of a canonical batch and a filter that holds for it."""
        if self._matcher is None or not self._count:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        found = self._matcher.match(batch)
        numbers = found.ids(found.numbers).cast(pa.int64()).to_numpy(zero_copy_only=False)
        return np.repeat(np.arange(found.events, dtype=np.int64), found.counts), numbers

    def holders_of(self, patterns: PatternSet) -> Pairs | None:
        """Pairs of a pattern of a set and a filter that holds it; None if the set is not theirs."""
        found = None if self._matcher is None else self._matcher.holders_of(patterns)
        if found is None:
            return None
        places, beside = np.unique(found.subscriptions, return_inverse=True)
        numbers = np.array([int(found.subscribers.id_of(place)) for place in places.tolist()], np.int64)
        return found.patterns, numbers[beside]
