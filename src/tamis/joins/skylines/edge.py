"""The state of an edge for skylines that are merged over gaps."""

from __future__ import annotations

from typing import Any, NamedTuple

from tamis.joins.edges.kernels import GAPS_FULL
from tamis.joins.kernels import Ordered
from tamis.joins.ranges import Floats, Integers, Shape
from tamis.joins.semijoins.edge import SemijoinEdge
from tamis.joins.skylines.gap_kernels import Gaps
from tamis.joins.skylines.gaps import GapStore
from tamis.joins.stabbing.kernels import Stabbing
from tamis.joins.tables import TableRows


class MergingSide(NamedTuple):
    """One of the two tables of an edge, as `SemijoinSide`; the companion of a row is the number of the gap above it.

    `gaps` are those between rows of the other table: they belong to the group whose base this table is.
    """

    entries: Ordered
    values: Floats
    keys: Integers
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
