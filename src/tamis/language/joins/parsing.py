"""A join's text to its normal form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from tamis.errors import FilterError, FilterSyntaxError, FilterTooComplex, FilterTypeError
from tamis.language.calling import Calling
from tamis.language.comparisons import Comparisons
from tamis.language.joins.head import Head, read_head
from tamis.language.joins.join import Join
from tamis.language.joins.names import Scope
from tamis.language.joins.signature import Column, Signature
from tamis.language.limits import DEFAULT_LIMITS, Limits
from tamis.language.normal_form import Filter, normalise
from tamis.language.parsing import Checker, chain
from tamis.language.signatures import NO_OPERATORS
from tamis.language.syntax import read, span
from tamis.language.tree import TRUE, And, Tree
from tamis.schema import Attribute, Schema

_NOT_BLANK = re.compile(r"[^\s]")


@dataclass(frozen=True, slots=True)
class JoinTree:
    """A join as written: for each table of the signature the conditions on it, before normalisation."""

    signature: Signature
    conditions: Mapping[str, Tree]
    columns: tuple[Column, ...] | None


def parse_join(text: str, schema: Schema, limits: Limits = DEFAULT_LIMITS) -> Join:
    """The join's normal form; `FilterError`, with place and remedy, if the text is no join over the schema's tables."""
    return normal_join(check_join(text, schema, Comparisons(text, limits)), schema, limits, text)


def normal_join(tree: JoinTree, schema: Schema, limits: Limits, text: str) -> Join:
    """The tree's normal form, table by table."""
    filters = tuple(normalise(tree.conditions[table], schema, limits, text) for table in tree.signature.tables)
    if any(not filter.conjuncts for filter in filters):
        # No row at all, whichever table it fails on: one way to say it.
        filters = (Filter(()), *(Filter(((),)) for _ in filters[1:]))
    return Join(tree.signature, filters, tree.columns)


def check_join(text: str, schema: Schema, comparisons: Comparisons) -> JoinTree:
    """As `parse_join`, but not normalised, and with leaves of the given making."""
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
    """The condition after WHERE, cut into one condition for each table."""

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
        """The tables that a condition is about: one, or several whose columns are equal, so that it is about each."""
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
    """What ANDs put together, parentheses or not."""
    node = node.unnest()
    if not isinstance(node, exp.And):
        return [node]
    return [one for item in chain(node) for one in _conjuncts(item)]
