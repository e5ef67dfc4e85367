"""Normal form of a join subscription (tables, join columns, a filter for each table), and its canonical text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TypeAlias

from tamis.language.forms import Filter
from tamis.language.joins.head import WORDS
from tamis.language.predicates import Literal, Not, Versus
from tamis.language.printing import print_filter, print_name
from tamis.schema import Attribute, Schema

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
    """Signature of a join: the connected part of the join graph that a subscription is about.

    Tables are in the schema's order, edges by their tables. Edges are closed under transitivity: where a.x = b.x and
    b.x = c.x, there is an edge of a and c that has x. So cycles are common, and equal joins have equal signatures.
    """

    tables: tuple[str, ...]
    edges: tuple[Edge, ...]

    def between(self, left: str, right: str) -> tuple[str, ...]:
        """Attributes that two of the tables join on, in either order; empty if they are not neighbours."""
        return next((edge.attributes for edge in self.edges if {edge.left, edge.right} == {left, right}), ())

    def neighbours(self, table: str) -> tuple[str, ...]:
        """The tables that a table has an edge with, in the schema's order."""
        return tuple(other for other in self.tables if other != table and self.between(table, other))


class Equalities:
    """Equivalence classes (`same`) of the columns of joined tables, as equalities between them are found."""

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
        """True if all of these columns are equal."""
        return len({self.of(column) for column in columns}) <= 1

    def signature(self, tables: Iterable[str], schema: Schema) -> Signature:
        """Signature of these tables, which the equalities connect."""
        order = {name: place for place, name in enumerate(schema.tables)}
        ordered = sorted(tables, key=order.__getitem__)
        edges = []
        for left, right in combinations(ordered, 2):
            shared = [name for name in schema.tables[left].join if (right, name) in self.of((left, name))]
            if shared:
                edges.append(Edge(left, right, tuple(shared)))
        return Signature(tuple(ordered), tuple(edges))


@dataclass(frozen=True, slots=True)
class Join:
    """A join subscription in normal form: all combinations of rows, one of each table, that agree and pass the filters.

    The rows agree on the signature's edges. `filters` has one filter for each of the signature's tables, in their
    order, over the table's attributes by their own names; TRUE where there is no condition. `columns` is what is shown
    of each combination, None for everything. Joins compare by value. In templates (binding.py) the filters have slots.
    """

    signature: Signature
    filters: tuple[Filter, ...]
    columns: tuple[Column, ...] | None = None

    def filter(self, table: str) -> Filter:
        """Condition that the table's rows must pass."""
        return self.filters[self.signature.tables.index(table)]


def print_join(join: Join, schema: Schema) -> str:
    """The join's canonical text: equal joins have equal texts."""
    names = _names(join.signature)
    shown = "*" if join.columns is None else ", ".join(_quoted(f"{names[t]}.{a}") for t, a in join.columns)
    conditions = [
        _condition(filter, names[table], schema)
        for table, filter in zip(join.signature.tables, join.filters, strict=True)
        if filter != Filter(((),))
    ]
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT {shown} FROM {_sources(join.signature, names, schema)}{where}"


def _names(signature: Signature) -> dict[str, str]:
    """Names of the tables: a dot in a name would make columns of it ambiguous."""
    if any("." in table for table in signature.tables):
        return {table: f"t{number}" for number, table in enumerate(signature.tables, 1)}
    return {table: table for table in signature.tables}


def _sources(signature: Signature, names: Mapping[str, str], schema: Schema) -> str:
    """FROM clause: every table after the first one joined with one before it."""
    first, *left = signature.tables
    text = _source(first, names)
    taken = [first]
    while left:
        table = next(table for table in left if any(signature.between(table, other) for other in taken))
        left.remove(table)
        equalities: dict[str, str] = {}
        for attribute in schema.tables[table].join:
            # One of the tables that it agrees with will do: those agree with each other.
            agreeing = [other for other in taken if attribute in signature.between(table, other)]
            if agreeing:
                equalities[attribute] = agreeing[0]
        text += f" JOIN {_source(table, names)} "
        if all(_plain(attribute, table, taken, signature, schema) for attribute in equalities):
            text += f"USING ({', '.join(map(_quoted, equalities))})"
        else:
            pairs = [(f"{names[o]}.{attribute}", f"{names[table]}.{attribute}") for attribute, o in equalities.items()]
            text += "ON " + " AND ".join(f"{_quoted(left)} = {_quoted(right)}" for left, right in pairs)
        taken.append(table)
    return text


def _plain(attribute: str, table: str, taken: list[str], signature: Signature, schema: Schema) -> bool:
    """True if USING says it: every table so far that has the attribute agrees with this one on it."""
    holders = [other for other in taken if attribute in schema.tables[other].attributes]
    return all(attribute in signature.between(table, other) for other in holders)


def _source(table: str, names: Mapping[str, str]) -> str:
    return _quoted(table) if names[table] == table else f"{_quoted(table)} AS {names[table]}"


def _quoted(name: str) -> str:
    if any(part.upper() in WORDS for part in name.split(".")[:1]):
        return '"' + name.replace('"', '""') + '"'
    return print_name(name)


@dataclass(frozen=True, slots=True)
class _Qualified:
    """A table's attributes under the names that they have in a join's text."""

    attributes: Mapping[str, Attribute]


def _condition(filter: Filter, name: str, schema: Schema) -> str:
    qualified = Filter(tuple(tuple(_renamed(one, name) for one in conjunct) for conjunct in filter.conjuncts))
    attributes = {f"{name}.{own}": attribute for own, attribute in schema.attributes.items()}
    text = print_filter(qualified, _Qualified(attributes))
    return f"({text})" if len(filter.conjuncts) > 1 else text


def _renamed(literal: Literal, name: str) -> Literal:
    match literal:
        case Not(leaf):
            renamed = _renamed(leaf, name)
            assert not isinstance(renamed, Not)
            return Not(renamed)
        case Versus(left, _, right):
            return replace(literal, left=f"{name}.{left}", right=f"{name}.{right}")
    return replace(literal, attribute=f"{name}.{literal.attribute}")
