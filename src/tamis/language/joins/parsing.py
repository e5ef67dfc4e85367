"""Parser of join subscriptions: from text to normal form, with names resolved by alias, table and attribute."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from tamis.errors import FilterError, FilterSyntaxError, FilterTooComplex, FilterTypeError
from tamis.language.calling import Calling
from tamis.language.calls import NO_OPERATORS
from tamis.language.comparisons import Comparisons
from tamis.language.forms import Filter, normalise
from tamis.language.joins.head import Head, Link, Name, read_head
from tamis.language.joins.join import Column, Equalities, Join, Signature
from tamis.language.parsing import Checker, chain, suggestion
from tamis.language.syntax import read, span
from tamis.language.tree import DEFAULT_LIMITS, TRUE, And, Limits, Tree
from tamis.schema import Attribute, Schema


class Scope:
    """Name scope of one join: its tables by alias, and which of their columns are equal.

    A name that begins with a table's name is a column of that table, if the table has such an attribute; else it is an
    attribute by itself, of the one table that has it, or of several whose columns of that name are equal.
    """

    def __init__(self, text: str, head: Head, schema: Schema) -> None:
        self.text = text
        self.schema = schema
        self.aliases: dict[str, str] = {}
        self.equal = Equalities()
        if not schema.tables:
            message = "the schema has no tables; declare what can be joined in its section `tables`"
            raise self.error(message, head.first.table)
        for source in head.sources:
            self._add(source.table, source.alias)
        if not head.links:
            message = "a join has two tables or more; of one, write a filter: event_type = 'Stocks' AND PER > 50"
            raise self.error(message, head.first.table)
        taken = [head.first.alias]
        for link in head.links:
            self._link(link, taken)
            taken.append(link.source.alias)
        self.signature: Signature = self.equal.signature(self.aliases.values(), schema)

    def columns(self, name: str, start: int, end: int) -> list[Column]:
        """Columns that a name may stand for: one, or several that are equal."""
        return self._columns(Name(name, start, end), list(self.aliases))

    def _add(self, table: Name, alias: str) -> None:
        if table.name not in self.schema.tables:
            what = "is an event type but no table" if table.name in self.schema.event_types else "is no table"
            remedy = suggestion(table.name, self.schema.tables, "the schema")
            raise self.error(f"{table.name} {what}; {remedy}", table)
        if table.name in self.aliases.values():
            message = (
                f"{table.name} stands here for the second time; a table can be joined with others, not with itself"
            )
            raise self.error(message, table)
        if alias in self.aliases:
            raise self.error(f"two tables are called {alias}; give one of them another name", table)
        self.aliases[alias] = table.name

    def _link(self, link: Link, taken: list[str]) -> None:
        alias, table = link.source.alias, link.source.table.name
        if link.on:
            self._on(link, [*taken, alias])
        elif link.using:
            for name in link.using:
                self._using(name, table, taken)
        else:
            self._natural(link, taken)
        if not any(table in self._linked(self.aliases[other]) for other in taken):
            message = f"nothing joins {table} with the tables before it; name a column of it in ON"
            raise FilterTypeError(message, self.text, link.start, link.end)

    def _linked(self, table: str) -> set[str]:
        return {other for name in self.schema.tables[table].join for other, _ in self.equal.of((table, name))}

    def _on(self, link: Link, taken: list[str]) -> None:
        for left, right in link.on:
            a, b = (self._columns(side, taken)[0] for side in (left, right))
            if a[1] != b[1]:
                message = (
                    f"{left.name} and {right.name} are different attributes; tables join on attributes of one name"
                )
                raise FilterTypeError(message, self.text, left.start, right.end)
            if a[0] == b[0]:
                raise FilterTypeError("both sides are the same column", self.text, left.start, right.end)
            for column, side in ((a, left), (b, right)):
                self._require_join(column, side)
            self.equal.add(a, b)

    def _using(self, name: Name, table: str, taken: list[str]) -> None:
        tables = [self.aliases[alias] for alias in taken]
        holders = [(one, name.name) for one in tables if name.name in self.schema.tables[one].attributes]
        if not holders:
            known = self._common(table, tables)
            remedy = f"they have {', '.join(known)} in common" if known else "write ON with a column that both have"
            raise self.error(f"no table before {table} has an attribute {name.name}; {remedy}", name)
        if name.name not in self.schema.tables[table].attributes:
            remedy = suggestion(name.name, self.schema.tables[table].join, table)
            raise self.error(f"{table} has no attribute {name.name}; {remedy}", name)
        if not self.equal.same(holders):
            raise self._ambiguous(name, [one for one, _ in holders], "say which by ON")
        for column in (holders[0], (table, name.name)):
            self._require_join(column, name)
        self.equal.add(holders[0], (table, name.name))

    def _natural(self, link: Link, taken: list[str]) -> None:
        """Joins as NATURAL does in SQL, on every attribute of one name: so all of them must be join attributes."""
        table = link.source.table.name
        tables = [self.aliases[alias] for alias in taken]
        held = {name for one in tables for name in self.schema.tables[one].attributes}
        shared = [name for name in self.schema.tables[table].attributes if name in held]
        if not shared:
            raise self.error(f"{table} has no attribute in common with the tables before it", link.source.table)
        for attribute in shared:
            self._using(Name(attribute, link.source.table.start, link.source.table.end), table, taken)

    def _common(self, table: str, tables: list[str]) -> list[str]:
        return [
            name for name in self.schema.tables[table].join if any(name in self.schema.tables[o].join for o in tables)
        ]

    def _require_join(self, column: Column, place: Name) -> None:
        table = self.schema.tables[column[0]]
        if column[1] not in table.join:
            has = f"it can be joined on {', '.join(table.join)}" if table.join else "it has no join attributes"
            raise self.error(f"{column[1]} is no join attribute of {table.name}; {has}", place)

    def _columns(self, name: Name, aliases: list[str]) -> list[Column]:
        for alias in sorted(aliases, key=len, reverse=True):
            attribute = name.name.removeprefix(f"{alias}.")
            if attribute != name.name and attribute in self.schema.tables[self.aliases[alias]].attributes:
                return [(self.aliases[alias], attribute)]
        tables = [self.aliases[alias] for alias in aliases]
        holders = [(table, name.name) for table in tables if name.name in self.schema.tables[table].attributes]
        if not holders:
            raise self._unknown(name, aliases)
        if not self.equal.same(holders):
            raise self._ambiguous(name, [table for table, _ in holders], f"write {aliases[0]}.{name.name}")
        return holders

    def _unknown(self, name: Name, aliases: list[str]) -> FilterTypeError:
        for alias in sorted(aliases, key=len, reverse=True):
            if name.name.startswith(f"{alias}."):
                attribute, table = name.name.removeprefix(f"{alias}."), self.aliases[alias]
                remedy = suggestion(attribute, self.schema.tables[table].attributes, table)
                return self.error(f"{table} has no attribute {attribute}; {remedy}", name)
        renamed = next((alias for alias, table in self.aliases.items() if name.name.startswith(f"{table}.")), None)
        if renamed is not None:
            message = (
                f"{self.aliases[renamed]} is called {renamed} here; write {renamed}.{name.name.rpartition('.')[2]}"
            )
            return self.error(message, name)
        known = [attribute for alias in aliases for attribute in self.schema.tables[self.aliases[alias]].attributes]
        remedy = suggestion(name.name, list(dict.fromkeys(known)), "the join")
        return self.error(f"none of the tables has an attribute {name.name}; {remedy}", name)

    def _ambiguous(self, name: Name, tables: list[str], remedy: str) -> FilterTypeError:
        return self.error(f"{name.name} is an attribute of {' and of '.join(tables)}; {remedy}", name)

    def error(self, message: str, place: Name) -> FilterTypeError:
        return FilterTypeError(message, self.text, place.start, place.end)


_NOT_BLANK = re.compile(r"[^\s]")


@dataclass(frozen=True, slots=True)
class JoinTree:
    """Syntax tree of a join: for each table of the signature the conditions on it, before normalisation."""

    signature: Signature
    conditions: Mapping[str, Tree]
    columns: tuple[Column, ...] | None


def parse_join(text: str, schema: Schema, limits: Limits = DEFAULT_LIMITS) -> Join:
    """Normal form of a join's text; `FilterError`, with place and remedy, if it is no join over the schema's tables."""
    return normal_join(check_join(text, schema, Comparisons(text, limits)), schema, limits, text)


def normal_join(tree: JoinTree, schema: Schema, limits: Limits, text: str) -> Join:
    """Normal form of a join's tree, table by table."""
    filters = tuple(normalise(tree.conditions[table], schema, limits, text) for table in tree.signature.tables)
    if any(not filter.conjuncts for filter in filters):
        # No row at all, whichever table it fails on: one way to say it.
        filters = (Filter(()), *(Filter(((),)) for _ in filters[1:]))
    return Join(tree.signature, filters, tree.columns)


def check_join(text: str, schema: Schema, comparisons: Comparisons) -> JoinTree:
    """Syntax tree of a join's text, not normalised, with leaves of the given making; else as `parse_join`."""
    limits = comparisons.limits
    head = read_head(text, limits)
    scope = Scope(text, head, schema)
    conditions: dict[str, list[Tree]] = {table: [] for table in scope.signature.tables}
    if head.where is not None:
        _Conditions(text, schema, comparisons, scope).read(head.where, conditions)
    columns = _selected(head, scope)
    return JoinTree(scope.signature, {table: _all(items) for table, items in conditions.items()}, columns)


def _selected(head: Head, scope: Scope) -> tuple[Column, ...] | None:
    if head.columns is None:
        return None
    found = []
    for name in head.columns:
        # Of equal columns it does not matter which is shown.
        column = min(
            scope.columns(name.name, name.start, name.end), key=lambda one: scope.signature.tables.index(one[0])
        )
        if column in found:
            raise scope.error(f"{name.name} is selected twice; leave one out", name)
        found.append(column)
    return tuple(found)


def _all(items: list[Tree]) -> Tree:
    return TRUE if not items else items[0] if len(items) == 1 else And(tuple(items))


class _Conditions(Checker):
    """Splits the condition after WHERE into one condition for each table."""

    def __init__(self, text: str, schema: Schema, comparisons: Comparisons, scope: Scope) -> None:
        super().__init__(text, schema, comparisons, Calling(text, schema, NO_OPERATORS, comparisons))
        self.scope = scope
        self.seen: list[tuple[exp.Expr, list[Column]]] = []

    def read(self, start: int, conditions: dict[str, list[Tree]]) -> None:
        # Blanks keep every place in the text what it is.
        blank = _NOT_BLANK.sub(" ", self.text[:start]) + self.text[start:]
        try:
            expression = read(blank, self.comparisons.limits)
            for conjunct in _conjuncts(expression):
                self.seen = []
                condition = self.condition(conjunct)
                for table in self.tables_of(conjunct, condition):
                    conditions[table].append(condition)
        except RecursionError:
            message = "the condition is nested too deeply; take parentheses off"
            raise FilterTooComplex(message, self.text, start, len(self.text)) from None
        except FilterError as error:
            raise type(error)(error.message, self.text, error.start, error.end) from None

    def named(self, name: str, node: exp.Expr) -> Attribute:
        columns = self.scope.columns(name, *span(node))
        self.seen.append((node, columns))
        return self.schema.attributes[columns[0][1]]

    def tables_of(self, conjunct: exp.Expr, condition: Tree) -> list[str]:
        """Tables that a condition is about: one, or several whose columns are equal, so that it is about each."""
        if not self.seen:
            return [] if condition == TRUE else [self.scope.signature.tables[0]]
        _, first = self.seen[0]
        tables = [table for table, _ in first]
        for node, columns in self.seen[1:]:
            left = [table for table in tables if table in {other for other, _ in columns}]
            if not left:
                raise self.across(conjunct, tables[0], columns[0][0], node)
            tables = left
        return tables

    def across(self, conjunct: exp.Expr, one: str, other: str, node: exp.Expr) -> FilterError:
        bare = conjunct.unnest()
        if isinstance(bare, exp.Or):
            message = f"this OR is about {one} and {other}; make a subscription of each side"
            return FilterTypeError(message, self.text, *span(bare))
        if isinstance(bare, exp.EQ):
            message = f"columns of {one} and {other} are compared here; tables are joined by USING or ON, before WHERE"
            return FilterTypeError(message, self.text, *span(bare))
        if isinstance(bare, exp.Not):
            message = f"this NOT is about {one} and {other}; write a condition on each, put together by AND"
            return FilterTypeError(message, self.text, *span(bare))
        message = f"{one} and {other} stand in one condition; a condition between ANDs is about one table"
        return FilterSyntaxError(message, self.text, *span(node))


def _conjuncts(node: exp.Expr) -> list[exp.Expr]:
    """Operands of ANDs, parentheses or not."""
    node = node.unnest()
    if not isinstance(node, exp.And):
        return [node]
    return [one for item in chain(node) for one in _conjuncts(item)]
