"""The state of an edge for skylines that are merged over gaps."""

from __future__ import annotations

from typing import Any, NamedTuple

from tamis.arrays import Floats, Int64s
from tamis.joins.index.edge_kernels import GAPS_FULL
from tamis.joins.index.gaps import Gaps, GapStore
from tamis.joins.index.kernels import Ordered
from tamis.joins.index.ranges import Shape
from tamis.joins.index.semijoin_edge import SemijoinEdge
from tamis.joins.index.stabbing_kernels import Stabbing
from tamis.joins.index.tables import TableRows


class MergingSide(NamedTuple):
    """One of the two tables of an edge, as `SemijoinSide`; the companion of a row is the number of the gap above it.

    `gaps` are those between rows of the other table: they belong to the group whose base this table is.
    """

    entries: Ordered
    values: Floats
    keys: Int64s
    stabbing: Stabbing
    table: int
    group: int
    one_sided: int
    gaps: Gaps


class MergingEdge(SemijoinEdge):
    """An edge that keeps what is known of the gaps between rows."""

    def __init__(self, shape: Shape, edge: int, rows: tuple[TableRows, ...]) -> None:
        super().__init__(shape, edge, rows)
        self._gaps = [GapStore(), GapStore()]

    def grow(self, missing: int) -> None:
        if missing == GAPS_FULL:
            for gaps in self._gaps:
                gaps.grow()
        super().grow(missing)

    def side(self, side: int) -> tuple[Any, ...]:
        return MergingSide._make((*super().side(side), self._gaps[side].arrays))
