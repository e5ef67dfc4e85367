"""Which tables a join is over, and on which attributes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

from tamis.schema import Schema

Column: TypeAlias = tuple[str, str]
"""A table and one of its attributes."""


@dataclass(frozen=True, slots=True)
class Edge:
    """Two tables, left before right in the schema, whose rows join where they agree on all of these attributes.

    Attributes are in the schema's order; both tables list them under `join`.
    """

    left: str
    right: str
    attributes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Signature:
    """The connected part of the join graph that a subscription is about.

    Tables are in the schema's order, edges by their tables. Edges are closed under transitivity: where a.x = b.x and
    b.x = c.x, there is an edge of a and c that has x. So cycles are common, and equal joins have equal signatures.
    """

    tables: tuple[str, ...]
    edges: tuple[Edge, ...]

    def between(self, left: str, right: str) -> tuple[str, ...]:
        """What two of the tables join on, in either order; empty if they are not neighbours."""
        return next((edge.attributes for edge in self.edges if {edge.left, edge.right} == {left, right}), ())

    def neighbours(self, table: str) -> tuple[str, ...]:
        """The tables that a table has an edge with, in the schema's order."""
        return tuple(other for other in self.tables if other != table and self.between(table, other))


class Equalities:
    """Columns of joined tables that are equal to each other, as they are found: `same` is an equivalence."""

    def __init__(self) -> None:
        self._classes: dict[Column, frozenset[Column]] = {}

    def add(self, left: Column, right: Column) -> None:
        joined = self.of(left) | self.of(right)
        for column in joined:
            self._classes[column] = joined

    def of(self, column: Column) -> frozenset[Column]:
        """All columns that are equal to this one, itself included."""
        return self._classes.get(column, frozenset([column]))

    def same(self, columns: Iterable[Column]) -> bool:
        """Whether all of them are equal."""
        return len({self.of(column) for column in columns}) <= 1

    def signature(self, tables: Iterable[str], schema: Schema) -> Signature:
        """Of these tables, which the equalities connect."""
        order = {name: place for place, name in enumerate(schema.tables)}
        ordered = sorted(tables, key=order.__getitem__)
        edges = []
        for left, right in combinations(ordered, 2):
            shared = [name for name in schema.tables[left].join if (right, name) in self.of((left, name))]
            if shared:
                edges.append(Edge(left, right, tuple(shared)))
        return Signature(tuple(ordered), tuple(edges))
