"""Layout of the tables, columns and edges of subscriptions in the arrays of schemes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from tamis.joins.index.ranges import NOT_THERE, Ranges, Shape
from tamis.joins.lowering import ABSENT, HIGHEST, Edge, JoinGroup
from tamis.language.joins import Signature
from tamis.joins.plan import DEFAULT_PLAN, JoinPlan
from tamis.schema import Schema

NO_COLUMN = ""
"""Stands for a column of zeros in tables that no subscription restricts: schemes want one."""


class Layout:
    """Tables by number in the schema's order, their restricted attributes, edges and signatures in order of appearance.

    A table's first attribute is the one that leads by the plan, else the one that most subscriptions restrict:
    descriptions speak of it. What leads `before` goes on doing so, whatever comes or goes: by it clients were sent what
    they hold, and the server reckons with that.
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
        """True if subscriptions say nothing that has no place here."""
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
        """The subscriptions of a group as schemes take them."""
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
