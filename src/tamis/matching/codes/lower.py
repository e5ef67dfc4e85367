"""Lowering of normal forms to intervals and tests over columns of codes, all subscriptions of a shape at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from tamis.arrays import Int64s
from tamis.language.predicates import (
    Between,
    Leaf,
    Like,
    Literal,
    Never,
    Not,
    OneOf,
    Operand,
    Order,
    Present,
    RLike,
    Slot,
    Versus,
)  # fmt: skip
from tamis.language.shapes import Block, Bound
from tamis.matching.codes.columns import Column, Kind
from tamis.matching.codes.conditions import Conditions, Interval, Listing, Test
from tamis.matching.codes.constants import OPEN_HIGH, OPEN_LOW, Edge, Fixed, Ranked, numbers_of
from tamis.matching.codes.encoding import NEGATED
from tamis.matching.patterns import literal_of, prefix_of
from tamis.schema import EnumeratedDomain, HierarchicalDomain

# `tags IN (…)` on a multiple-valued attribute becomes as many conjunctions, so that each can be found by its value;
# longer lists are tested instead.
MOST_ALTERNATIVES = 64
_AFTER_PREFIX = b"\xff"  # above every byte of UTF-8: a prefix and this is above all strings with the prefix
_ONE, _ZERO = Fixed(np.array([1], np.int64)), Fixed(np.array([0], np.int64))


def lower_into(conditions: Conditions, bound: Bound, rows: Int64s) -> None:
    """Adds the conditions of bound subscriptions; text t of `bound` is subscription row `rows[t]`."""
    lowering = _Lowering(conditions, rows)
    for block in bound.blocks:
        lowering.block(block)
    lowering.terms(bound.terms)


class _Lowering:
    """Lowers each literal of a conjunction to intervals, tests and listings (see `Conditions`)."""

    def __init__(self, conditions: Conditions, rows: Int64s) -> None:
        self._schema, self._constants = conditions.schema, conditions.constants
        self.conditions, self._rows = conditions, rows

    def block(self, block: Block) -> None:
        for literals in block.template.conjuncts:
            for rows, chosen, columns in self._split_patterns(block.rows, literals, list(block.columns)):
                for alternative in self._alternatives(chosen):
                    self.conjunction(self.conditions.conjunctions(self._rows[rows]), alternative, columns)

    def terms(self, blocks: Sequence[Block]) -> None:
        """Lowers blocks of terms, each row of which is one conjunction of all its terms."""
        if not blocks:
            return
        rows = np.unique(np.concatenate([block.rows for block in blocks]))
        numbers = np.empty(int(rows[-1]) + 1, np.int64)
        numbers[rows] = self.conditions.conjunctions(self._rows[rows])
        for block in blocks:
            (literals,) = block.template.conjuncts
            for some, chosen, columns in self._split_patterns(block.rows, literals, list(block.columns)):
                self.conjunction(numbers[some], chosen, columns)

    def conjunction(self, conjuncts: Int64s, literals: Sequence[Literal], columns: Sequence[Any]) -> None:
        for literal in literals:
            leaf = literal.leaf if isinstance(literal, Not) else literal
            self._leaf(conjuncts, leaf, isinstance(literal, Not), columns)

    def _alternatives(self, literals: Sequence[Literal]) -> Iterator[tuple[Literal, ...]]:
        choices: list[list[Literal]] = []
        count = 1
        for literal in literals:
            values = literal.values if isinstance(literal, OneOf) and self._multiple(literal.attribute) else ()
            if values and count * len(values) <= MOST_ALTERNATIVES:
                assert isinstance(literal, OneOf)
                count *= len(values)
                choices.append([Between(literal.attribute, v, v) for v in values])
            else:
                choices.append([literal])
        return product(*choices)

    def _multiple(self, attribute: str) -> bool:
        return self._schema.attributes[attribute].multiple

    def _split_patterns(
        self, rows: Int64s, literals: Sequence[Literal], columns: list[Any]
    ) -> Iterator[tuple[Int64s, tuple[Literal, ...], list[Any]]]:
        """Patterns without wildcards become equalities and plain prefixes intervals, row by row."""
        for i, literal in enumerate(literals):
            leaf = literal.leaf if isinstance(literal, Not) else literal
            if not isinstance(leaf, Like) or leaf.ignore_case:
                continue
            if isinstance(leaf.pattern, str):
                if (plain := self._plain(leaf, leaf.pattern)) is not None:
                    literals = _with(literals, i, plain)
                continue
            coded = columns[leaf.pattern.number].dictionary_encode()
            patterns = coded.dictionary.to_pylist()
            forms = [self._plain(leaf, p) for p in patterns]
            kinds = np.array([0 if f is None else 1 + (f.low != f.high) for f in forms])[np.asarray(coded.indices)]
            if not kinds.any():
                continue
            for kind in np.unique(kinds):
                chosen = np.flatnonzero(kinds == kind)
                picked = [c.take(pa.array(chosen)) if isinstance(c, pa.Array) else c[chosen] for c in columns]
                form: Leaf = replace(leaf, pattern=Slot(len(picked)))
                if kind:
                    end = Slot(len(picked) + (kind == 2))
                    form = Between(leaf.attribute, Slot(len(picked)), end, high_closed=bool(kind == 1))
                texts = [patterns[j] if forms[j] is None else forms[j].low for j in np.asarray(coded.indices)[chosen]]
                picked.append(pa.array(texts, pa.string()))
                if kind == 2:
                    picked.append(pa.array([t.encode() + _AFTER_PREFIX for t in texts], pa.binary()))
                # The rest of the literals may hold further patterns.
                yield from self._split_patterns(rows[chosen], _with(literals, i, form), picked)
            return
        yield rows, tuple(literals), columns

    def _plain(self, leaf: Like, pattern: str) -> Between | None:
        """`x LIKE 'abc'` as an equality and, on single-valued attributes, `x LIKE 'abc%'` as an interval."""
        if (text := literal_of(pattern)) is not None:
            return Between(leaf.attribute, text, text)
        if (prefix := prefix_of(pattern)) is not None and not self._multiple(leaf.attribute):
            return Between(leaf.attribute, prefix, prefix.encode() + _AFTER_PREFIX, high_closed=False)  # type: ignore[arg-type]
        return None

    def _leaf(self, conjuncts: Int64s, leaf: Leaf, negated: bool, columns: Sequence[Any]) -> None:
        match leaf:
            case Never(attribute):
                if negated:
                    self._present(conjuncts, attribute)
                else:
                    self._interval(conjuncts, self._extreme(attribute), _ONE, _ZERO)
            case Present(attribute):
                if negated:
                    self._test(conjuncts, self._extreme(attribute), NEGATED, OPEN_LOW, OPEN_HIGH)
                else:
                    self._present(conjuncts, attribute)
            case Versus(left, operator, right):
                column = Column(Kind.VERSUS, left, operator, right)
                self._interval(conjuncts, column, *((_ZERO, _ZERO) if negated else (_ONE, _ONE)))
            case Like() | RLike():
                self._pattern(conjuncts, leaf, negated, columns)
            case Between():
                self._between(conjuncts, leaf, negated, columns)
            case OneOf(attribute, values):
                self._one_of(conjuncts, attribute, values, negated, columns)
            case Order():
                self._order(conjuncts, leaf, negated, columns)

    def _extreme(self, attribute: str) -> Column:
        """A single-code column that is present where the attribute is."""
        self._constants.use(attribute)
        return Column(Kind.GREATEST if self._multiple(attribute) else Kind.VALUE, attribute)

    def _set(self, attribute: str) -> Column:
        return Column(Kind.VALUES, attribute)

    def _present(self, conjuncts: Int64s, attribute: str) -> None:
        self._interval(conjuncts, self._extreme(attribute), OPEN_LOW, OPEN_HIGH)

    def _interval(self, conjuncts: Int64s, column: Column, low: Edge, high: Edge) -> None:
        self.conditions.intervals.append(Interval(conjuncts, column, low, high))

    def _test(self, conjuncts: Int64s, column: Column, flags: int, low: Edge, high: Edge) -> None:
        self.conditions.tests.append(Test(conjuncts, column, flags, low, high))

    def _edge(self, attribute: str, operand: Operand, columns: Sequence[Any], step: int) -> Edge:
        values = columns[operand.number] if isinstance(operand, Slot) else operand
        return Ranked(self._constants.add(attribute, values), step)

    def _between(self, conjuncts: Int64s, leaf: Between, negated: bool, columns: Sequence[Any]) -> None:
        low, high = OPEN_LOW, OPEN_HIGH
        if leaf.low is not None:
            low = self._edge(leaf.attribute, leaf.low, columns, 1 if leaf.low_closed else 2)
        if leaf.is_equality:
            high = low
        elif leaf.high is not None:
            high = self._edge(leaf.attribute, leaf.high, columns, 1 if leaf.high_closed else 0)
        if not leaf.is_equality:
            self._constants.compare_by_order(leaf.attribute)
        self._within(conjuncts, leaf.attribute, low, high, negated)

    def _within(self, conjuncts: Int64s, attribute: str, low: Edge, high: Edge, negated: bool) -> None:
        """Adds the condition that some code lies between two edges, in the form that finds it soonest."""
        if negated:
            self._present(conjuncts, attribute)
        if not self._multiple(attribute):
            column = self._extreme(attribute)
            if negated:
                self._test(conjuncts, column, NEGATED, low, high)
            else:
                self._interval(conjuncts, column, low, high)
            return
        self._constants.use(attribute)
        if negated:
            self._test(conjuncts, self._set(attribute), NEGATED, low, high)
            return
        if low is high:
            self._interval(conjuncts, self._set(attribute), low, high)
            self._test(conjuncts, self._set(attribute), 0, low, high)
            return
        if low is not OPEN_LOW:
            self._interval(conjuncts, Column(Kind.GREATEST, attribute), low, OPEN_HIGH)
        if high is not OPEN_HIGH:
            self._interval(conjuncts, Column(Kind.LEAST, attribute), OPEN_LOW, high)
        if low is not OPEN_LOW and high is not OPEN_HIGH:
            self._test(conjuncts, self._set(attribute), 0, low, high)

    def _one_of(
        self, conjuncts: Int64s, attribute: str, values: Sequence[Operand], negated: bool, columns: Sequence[Any]
    ) -> None:
        edges = tuple(self._edge(attribute, v, columns, 1) for v in values if isinstance(v, Slot))
        known = [v for v in values if not isinstance(v, Slot)]
        common = Ranked(self._constants.add(attribute, _column_of(known)), 1) if known else None
        self._listing(conjuncts, attribute, edges, common, negated)

    def _listing(
        self, conjuncts: Int64s, attribute: str, edges: tuple[Edge, ...], common: Edge | None, negated: bool
    ) -> None:
        if negated or self._multiple(attribute):
            self._present(conjuncts, attribute)
        self._constants.use(attribute)
        column = self._set(attribute) if self._multiple(attribute) else self._extreme(attribute)
        self.conditions.listings.append(Listing(conjuncts, column, NEGATED if negated else 0, edges, common))

    def _order(self, conjuncts: Int64s, leaf: Order, negated: bool, columns: Sequence[Any]) -> None:
        domain = self._schema.attributes[leaf.attribute].domain
        assert isinstance(domain, EnumeratedDomain | HierarchicalDomain)
        for some, value in _by_value(conjuncts, leaf.value, columns):
            codes = numbers_of(domain, leaf.operator, value)
            if not codes:
                self._leaf(some, Never(leaf.attribute), negated, columns)
            elif codes[-1] - codes[0] == 2 * (len(codes) - 1):
                edges = Fixed(np.array([codes[0]], np.int64)), Fixed(np.array([codes[-1]], np.int64))
                self._within(some, leaf.attribute, *(edges if len(codes) > 1 else (edges[0], edges[0])), negated)
            else:
                self._listing(some, leaf.attribute, (), Fixed(np.array(codes, np.int64)), negated)

    def _pattern(self, conjuncts: Int64s, leaf: Like | RLike, negated: bool, columns: Sequence[Any]) -> None:
        if isinstance(leaf.pattern, Slot):
            coded = columns[leaf.pattern.number].dictionary_encode()
            known = [self.conditions.pattern(replace(leaf, pattern=p)) for p in coded.dictionary.to_pylist()]
            numbers = np.array(known, np.int64)[np.asarray(coded.indices)]
        else:
            numbers = np.array([self.conditions.pattern(leaf)], np.int64)
        column, code = Column(Kind.PATTERNS, leaf.attribute), Fixed(2 * numbers + 1)
        if negated:
            self._present(conjuncts, leaf.attribute)
        else:
            self._interval(conjuncts, column, code, code)
        self._test(conjuncts, column, NEGATED if negated else 0, code, code)


def _with(literals: Sequence[Literal], i: int, leaf: Leaf) -> tuple[Literal, ...]:
    """Literals with the leaf of one of them exchanged."""
    changed: Literal = Not(leaf) if isinstance(literals[i], Not) else leaf
    return (*literals[:i], changed, *literals[i + 1 :])


def _by_value(conjuncts: Int64s, operand: Operand, columns: Sequence[Any]) -> Iterator[tuple[Int64s, Any]]:
    """Conjunctions that hold each value of an operand."""
    if not isinstance(operand, Slot):
        yield conjuncts, operand
        return
    coded = columns[operand.number].dictionary_encode()
    numbers = np.asarray(coded.indices)
    runs = np.split(np.argsort(numbers, kind="stable"), np.cumsum(np.bincount(numbers))[:-1])
    for some, value in zip(runs, coded.dictionary.to_pylist(), strict=True):
        yield conjuncts[some], value


def _column_of(values: list[Any]) -> Any:
    if isinstance(values[0], str):
        return pa.array(values, pa.string())
    return np.array(values, np.float64 if isinstance(values[0], float) else np.int64)
