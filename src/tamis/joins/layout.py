"""Layout of join subscriptions in arrays: plans of semijoins; numbers of tables, columns and edges; and a scheme at
work with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np

from tamis.arrays import Int64s
from tamis.joins.index.ranges import NOT_THERE, Ranges, Shape
from tamis.joins.lowering import ABSENT, HIGHEST, Edge, JoinGroup
from tamis.joins.roster import Subscribed
from tamis.joins.schemes.scheme import Scheme
from tamis.language.joins import Signature
from tamis.schema import Schema

# Plans of semijoins: the neighbour that filters a table, and the attributes in descriptions.

Choice: TypeAlias = Callable[[Signature], Mapping[str, str]]
"""For each table of a signature the neighbour that filters what is sent of it."""


def first_neighbours(signature: Signature) -> dict[str, str]:
    """Default filtering: each table filtered by its first neighbour; of two tables, each by the other."""
    return {table: signature.neighbours(table)[0] for table in signature.tables}


@dataclass(frozen=True, slots=True)
class JoinPlan:
    """Plan of semijoins, for joins of several tables or tables with several restricted attributes.

    `filters` says which neighbour filters each table (§4). A description speaks of one attribute a table, the first of
    `leading` that subscriptions restrict, else the one that most of them do; clients check the others. With
    `every_attribute` it speaks of all of them: nothing is sent in vain, and the server looks at every subscription for
    every change (App. C). Contents are the same under any plan.
    """

    filters: Choice = first_neighbours
    leading: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    every_attribute: bool = False


DEFAULT_PLAN = JoinPlan()


NO_COLUMN = ""
"""Stands for a column of zeros in tables that no subscription restricts: schemes want one."""


class Layout:
    """Numbering of tables (in the schema's order), their restricted attributes, edges and signatures (by appearance).

    A table's first attribute is the one that leads by the plan, else the one that most subscriptions restrict:
    descriptions speak of it. An attribute that led `before` goes on doing so, whatever comes or goes: clients were sent
    tuples by it, and the server reckons with that.
    """

    def __init__(
        self,
        schema: Schema,
        groups: Sequence[JoinGroup],
        plan: JoinPlan = DEFAULT_PLAN,
        before: Layout | None = None,
    ) -> None:
        self.schema = schema
        self.plan = plan
        self.tables = tuple(schema.tables)
        self.numbers = {name: number for number, name in enumerate(self.tables)}
        restricted: Counter[tuple[str, str]] = Counter()
        for group in groups:
            restricted.update({column: len(group) for column in group.intervals})
        common = [column for column, _ in restricted.most_common()]
        self.columns: dict[str, tuple[str, ...]] = {}
        for table in self.tables:
            own = [name for owner, name in common if owner == table]
            leading = [name for name in plan.leading.get(table, ()) if name in own]
            kept = [name for name in before.columns[table] if name != NO_COLUMN] if before is not None else []
            self.columns[table] = tuple(dict.fromkeys([*kept, *leading, *own])) or (NO_COLUMN,)
        self.signatures: dict[Signature, int] = {}
        self.edges: dict[Edge, int] = {}
        for group in groups:
            self.signatures.setdefault(group.signature, len(self.signatures))
            for edge in group.signature.edges:
                self.edges.setdefault(edge, len(self.edges))

    def fits(self, groups: Iterable[JoinGroup]) -> bool:
        """True if the layout has a place for every table, attribute and edge of these subscriptions."""
        return all(
            group.signature in self.signatures and all(name in self.columns[own] for own, name in group.intervals)
            for group in groups
        )

    @cached_property
    def shape(self) -> Shape:
        widths = tuple(len(self.columns[table]) for table in self.tables)
        return Shape(
            widths,
            tuple((self.numbers[edge.left], self.numbers[edge.right]) for edge in self.edges),
            considered=widths if self.plan.every_attribute else (),
            signatures=tuple(
                tuple(sorted(self.edges[edge] for edge in signature.edges)) for signature in self.signatures
            ),
        )

    def edges_of(self, table: str) -> list[Edge]:
        """The edges of a table, ascending by number."""
        return [edge for edge in self.edges if table in (edge.left, edge.right)]

    def ranges(self, group: JoinGroup) -> Ranges:
        """Subscriptions of a group as schemes take them."""
        count, shape = len(group), self.shape
        low, high = np.full((count, shape.columns), ABSENT), np.full((count, shape.columns), HIGHEST)
        for (table, name), interval in group.intervals.items():
            column = int(shape.first_column[self.numbers[table]]) + self.columns[table].index(name)
            low[:, column], high[:, column] = interval.low, interval.high
        filtering = np.full(shape.tables, NOT_THERE, np.int64)
        for table, other in self.plan.filters(group.signature).items():
            filtering[self.numbers[table]] = self.edge_between(group.signature, table, other)
        return Ranges.of(
            shape, low, high, np.tile(filtering, (count, 1)), np.full(count, self.signatures[group.signature])
        )

    def edge_between(self, signature: Signature, one: str, other: str) -> int:
        return next(self.edges[edge] for edge in signature.edges if {edge.left, edge.right} == {one, other})


# A layout, and the scheme that runs on it.


@dataclass(frozen=True, slots=True)
class LaidOut:
    """Scheme at work with its layout: tables, columns and edges by number; a new layout comes with a new scheme."""

    layout: Layout
    scheme: Scheme

    def selected(self, found: Subscribed, table: str, rows: Int64s) -> Int64s:
        """Rows of a table that a subscription selects by the considered attributes."""
        wide = self.scheme.state.shape.considered[self.layout.numbers[table]]
        return self._within(found, table, rows, wide)

    def within(self, found: Subscribed, table: str, rows: Int64s) -> Int64s:
        """Rows of a table that lie in all of a subscription's intervals."""
        wide = self.scheme.state.shape.widths[self.layout.numbers[table]]
        return self._within(found, table, rows, wide)

    def _within(self, found: Subscribed, table: str, rows: Int64s, wide: int) -> Int64s:
        state, number = self.scheme.state, self.layout.numbers[table]
        column, ranges = int(state.shape.first_column[number]), state.subscriptions
        low, high = (part[found.number, column : column + wide] for part in (ranges.low, ranges.high))
        values = state.rows[number].values[rows, :wide]
        return rows[((low <= values) & (values <= high)).all(axis=1)]

    def keys(self, found: Subscribed, one: str, other: str, whose: str) -> Int64s:
        """Join keys by row of one of two tables, as a subscription joins them."""
        edge = self.layout.edge_between(found.group.signature, one, other)
        return self.scheme.state.rows[self.layout.numbers[whose]].keys[edge]
