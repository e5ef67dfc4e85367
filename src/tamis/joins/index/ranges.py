"""Join subscriptions as numeric ranges: `Shape` numbers tables, edges and groups, `Ranges` has the intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.arrays import Bools, Floats, Int64s

Records: TypeAlias = np.recarray[Any, Any]

LEFT, RIGHT = 0, 1
NOT_THERE = -1


@dataclass(frozen=True)
class Shape:
    """Tables and joins by number.

    Table t has `widths[t]` selection attributes, of which descriptions speak of the first `considered[t]` (one, or all
    of them); the rest are left to whoever enumerates, and to clients. Edge e joins the tables `edges[e]`, left and
    right, whose rows carry one join key for it: composite keys are one number. A table may have several edges, and two
    tables may have several, which join on different attributes.

    The semijoins of one form are a group. Group `2 * e + side` has the table on that side of edge e as its base, whose
    rows it keeps where they join a selected row of the other table, the filter.

    A signature is the edges along which a subscription joins: `signatures[k]`, ascending; by default each edge alone.
    """

    widths: tuple[int, ...]
    edges: tuple[tuple[int, int], ...]
    considered: tuple[int, ...] = ()
    signatures: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        if not self.signatures:
            object.__setattr__(self, "signatures", tuple((edge,) for edge in range(len(self.edges))))
        if not self.considered:
            object.__setattr__(self, "considered", (1,) * len(self.widths))
        if not all(1 <= some <= width for some, width in zip(self.considered, self.widths, strict=True)):
            raise ValueError("a table has at least one selection attribute, and considers one or more of them")

    @property
    def tables(self) -> int:
        return len(self.widths)

    @property
    def groups(self) -> int:
        return 2 * len(self.edges)

    def tables_of(self, signature: int) -> tuple[int, ...]:
        """Tables that a signature joins, ascending."""
        return tuple(sorted({table for edge in self.signatures[signature] for table in self.edges[edge]}))

    def base(self, group: int) -> int:
        return self.edges[group // 2][group % 2]

    def filter(self, group: int) -> int:
        return self.edges[group // 2][1 - group % 2]

    @cached_property
    def first_column(self) -> Int64s:
        """Position of each table's first column among those of all tables; one more entry for the end."""
        return np.concatenate([[0], np.cumsum(self.widths)]).astype(np.int64)

    @cached_property
    def columns(self) -> int:
        return int(sum(self.widths))

    @cached_property
    def arrays(self) -> tuple[Int64s, Int64s, Int64s]:
        """Arrays for kernels: `group_numbers`, and the first column and number of considered columns of each table."""
        return self.group_numbers, self.first_column, np.array(self.considered, np.int64)

    @cached_property
    def group_numbers(self) -> Int64s:
        """A row per group: base and filter, their first columns, and how many columns they consider."""
        rows = []
        for group in range(self.groups):
            base, filtering = self.base(group), self.filter(group)
            first = self.first_column
            rows.append(
                (base, filtering, first[base], first[filtering], self.considered[base], self.considered[filtering])
            )
        return np.array(rows, np.int64).reshape(-1, 6)


@dataclass(frozen=True)
class Ranges:
    """Subscriptions as closed intervals, `low` and `high` by subscription and column (`Shape.first_column`).

    A column without a condition has [-inf, inf]; rows have -inf where an attribute is absent, so conditions start at
    the least finite number. An interval that is empty (low > high) selects nothing. `filtering[s, t]` is the edge by
    which the rows of table t are filtered for subscription s, -1 where t is not among its tables. Subscriptions with
    the same `signature` join the same tables along the same edges.
    """

    low: Floats
    high: Floats
    filtering: Int64s
    signature: Int64s

    def __post_init__(self) -> None:
        count = len(self.low)
        if not (len(self.high) == len(self.filtering) == len(self.signature) == count):
            raise ValueError("arrays of subscriptions differ in length")

    def __len__(self) -> int:
        return len(self.low)

    @classmethod
    def of(
        cls, shape: Shape, low: npt.ArrayLike, high: npt.ArrayLike, filtering: npt.ArrayLike, signature: npt.ArrayLike
    ) -> Ranges:
        """Ranges from array-likes, in the layout that kernels expect."""
        count = len(np.asarray(signature))
        return cls(
            np.ascontiguousarray(low, np.float64).reshape(count, shape.columns),
            np.ascontiguousarray(high, np.float64).reshape(count, shape.columns),
            np.ascontiguousarray(filtering, np.int64).reshape(count, shape.tables),
            np.ascontiguousarray(signature, np.int64).reshape(count),
        )

    @property
    def arrays(self) -> tuple[Floats, Floats, Int64s, Int64s]:
        """Arrays for kernels, in their order."""
        return self.low, self.high, self.filtering, self.signature

    def take(self, numbers: Sequence[int] | Int64s | Bools | slice) -> Ranges:
        return Ranges(self.low[numbers], self.high[numbers], self.filtering[numbers], self.signature[numbers])

    def members(self, shape: Shape, group: int) -> Bools:
        """Mask of subscriptions whose semijoin of the group's base table has the group's filter."""
        mask: Bools = self.filtering[:, shape.base(group)] == group // 2
        return mask

    def one_sided(self, shape: Shape, group: int) -> Bools:
        """Mask of the members of a group whose filter's own rows are not filtered by the base in turn.

        They cannot tell from the tuples they hold that a row of the filter is gone, and have to be told
        (`Form.DROPPED`).
        """
        mask: Bools = self.members(shape, group) & (self.filtering[:, shape.filter(group)] != group // 2)
        return mask
