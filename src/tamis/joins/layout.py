"""Where the tables, columns and edges that subscriptions speak of stand in the arrays of schemes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np

from tamis.joins.model import ABSENT, HIGHEST, Edge, JoinGroup, Signature
from tamis.joins.ranges import NOT_THERE, Ranges, Shape
from tamis.schema import Schema

NO_COLUMN = ""
"""Stands for a column of zeros in tables that no subscription restricts: schemes want one."""

Choice: TypeAlias = Callable[[Signature], Mapping[str, str]]
"""For each table of a signature the neighbour that filters what is sent of it."""


def first_neighbours(signature: Signature) -> dict[str, str]:
    """Each table filtered by its first neighbour; of two tables, each by the other."""
    return {table: signature.neighbours(table)[0] for table in signature.tables}


class Layout:
    """Tables by number in the schema's order, their restricted attributes, edges and signatures in order of appearance.

    The attribute that most subscriptions restrict is a table's first: descriptions speak of it.
    """

    def __init__(self, schema: Schema, groups: Sequence[JoinGroup]) -> None:
        self.schema = schema
        self.tables = tuple(schema.tables)
        self.numbers = {name: number for number, name in enumerate(self.tables)}
        restricted: Counter[tuple[str, str]] = Counter()
        for group in groups:
            restricted.update({column: len(group) for column in group.intervals})
        self.columns = {
            table: tuple(name for (own, name), _ in restricted.most_common() if own == table) or (NO_COLUMN,)
            for table in self.tables
        }
        self.signatures: dict[Signature, int] = {}
        self.edges: dict[Edge, int] = {}
        for group in groups:
            self.signatures.setdefault(group.signature, len(self.signatures))
            for edge in group.signature.edges:
                self.edges.setdefault(edge, len(self.edges))

    def fits(self, groups: Iterable[JoinGroup]) -> bool:
        """Whether subscriptions say nothing that has no place here."""
        return all(
            group.signature in self.signatures and all(name in self.columns[own] for own, name in group.intervals)
            for group in groups
        )

    @cached_property
    def shape(self) -> Shape:
        return Shape(
            tuple(len(self.columns[table]) for table in self.tables),
            tuple((self.numbers[edge.left], self.numbers[edge.right]) for edge in self.edges),
            signatures=tuple(
                tuple(sorted(self.edges[edge] for edge in signature.edges)) for signature in self.signatures
            ),
        )

    def edges_of(self, table: str) -> list[Edge]:
        """The edges of a table, ascending by number."""
        return [edge for edge in self.edges if table in (edge.left, edge.right)]

    def ranges(self, group: JoinGroup, choice: Choice) -> Ranges:
        """The subscriptions of a group as schemes take them."""
        count, shape = len(group), self.shape
        low, high = np.full((count, shape.columns), ABSENT), np.full((count, shape.columns), HIGHEST)
        for (table, name), interval in group.intervals.items():
            column = int(shape.first_column[self.numbers[table]]) + self.columns[table].index(name)
            low[:, column], high[:, column] = interval.low, interval.high
        filtering = np.full(shape.tables, NOT_THERE, np.int64)
        for table, other in choice(group.signature).items():
            filtering[self.numbers[table]] = self.edge_between(group.signature, table, other)
        return Ranges.of(
            shape, low, high, np.tile(filtering, (count, 1)), np.full(count, self.signatures[group.signature])
        )

    def edge_between(self, signature: Signature, one: str, other: str) -> int:
        return next(self.edges[edge] for edge in signature.edges if {edge.left, edge.right} == {one, other})
