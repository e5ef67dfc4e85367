"""The state of an edge for schemes that send semijoins."""

from __future__ import annotations

from typing import Any

from tamis.joins.index.edge import EdgeState
from tamis.joins.index.ranges import LEFT, RIGHT, Integers, Ranges, Shape
from tamis.joins.index.semijoin_kernels import SemijoinSide
from tamis.joins.index.tables import TableRows


class SemijoinEdge(EdgeState):
    """An edge that knows how many members of each group have to be told when rows of the filter go."""

    def __init__(self, shape: Shape, edge: int, rows: tuple[TableRows, ...]) -> None:
        super().__init__(shape, edge, rows)
        self._one_sided = [0, 0]

    def add(self, numbers: Integers, ranges: Ranges) -> None:
        super().add(numbers, ranges)
        for side in (LEFT, RIGHT):
            self._one_sided[side] += int(ranges.one_sided(self._shape, self._group(side)).sum())

    def remove(self, numbers: Integers, ranges: Ranges) -> None:
        super().remove(numbers, ranges)
        for side in (LEFT, RIGHT):
            self._one_sided[side] -= int(ranges.one_sided(self._shape, self._group(side)).sum())

    def side(self, side: int) -> tuple[Any, ...]:
        return SemijoinSide._make((*super().side(side), self._group(side), self._one_sided[side]))
