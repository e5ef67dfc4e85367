"""Lowering of bound joins to the arrays that servers index: intervals, and residual filters for all else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tamis.arrays import Floats, Int32s, Int64s
from tamis.language import Filter, print_filter
from tamis.language.cutting import Column as SlotColumn
from tamis.language.cutting import fill_conjunct, literals_of
from tamis.language.joins import BoundJoins, Edge, JoinBlock, Signature
from tamis.language.joins.join import Column
from tamis.language.predicates import Between, Literal, Not, OneOf, Operand, Order, Present, Slot, attributes_of
from tamis.schema import Attribute, EnumeratedDomain, HierarchicalDomain, Schema

# Values as the floats that range indexes compare.

# Join subscriptions are lowered to signatures, and intervals in flat arrays.
#
# Every value that a range index looks at is a float64 (made by `Coding`): floats and booleans as they are, integers
# and timestamps (microseconds) rounded, enumerated and hierarchical values by their position in the domain, strings by
# a dictionary's number. `ABSENT` stands for an attribute that a row does not have; it lies below every value, the least
# of which is `LOWEST`. An interval is closed. `low <= value <= high` is then all there is to test:
#
#     no condition          [ABSENT, HIGHEST]
#     `x <= 5`              [LOWEST, 5]
#     `x > 5.0`             [the float after 5.0, HIGHEST]
#     `x = 'red'`           [7, 7]
#     `x IS NULL`           [ABSENT, ABSENT]
#     never                 low > high
#
# What an interval cannot say, or not exactly (integers beyond 2^53, patterns, alternatives), is left to a residual: a
# filter on the table's rows that has to hold beside all its intervals.

__all__ = ["ABSENT", "HIGHEST", "LOWEST", "Column", "Edge", "Interval", "JoinGroup", "Joins", "Residuals", "Signature"]


ABSENT = -np.inf
LOWEST = float(np.finfo(np.float64).min)
HIGHEST = np.inf


@dataclass(frozen=True, slots=True)
class Interval:
    """Interval of one attribute for each subscription of a group, closed at both ends."""

    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True)
class Residuals:
    """Residual filters: for each subscription of a group one that a table's rows must also pass, `texts[codes[i]]`.

    Code -1: none. Texts are canonical filters over the table's attributes, each once.
    """

    codes: Int32s
    texts: pa.StringArray


@dataclass(frozen=True, slots=True)
class JoinGroup:
    """Group of subscriptions of one signature that restrict the same attributes.

    `rows` are positions among the subscriptions given; entry i of every array is about subscription `rows[i]`. A column
    that is not in `intervals` has no condition, a table that is not in `residuals` has none. `columns` are those that
    the subscriber wants to see, in order; None for everything (`SELECT *`).
    """

    signature: Signature
    rows: Int64s
    intervals: Mapping[Column, Interval]
    residuals: Mapping[str, Residuals]
    columns: tuple[Column, ...] | None = None

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class Joins:
    """Join subscriptions: `ids[group.rows[i]]` is the id of entry i of a group; each is in exactly one group."""

    ids: pa.Array
    groups: tuple[JoinGroup, ...]


EXACT = float(1 << 53)
"""Integers below this size are floats; larger ones are rounded, so that intervals between them need a residual."""


class Coding:
    """Turns values of a schema's attributes into floats, the same for rows and for subscriptions.

    Strings get numbers as they come, for good: rows and subscriptions that name the same string agree on it for as
    long as they share a `Coding`. Not safe for use by several threads at once.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._numbers: dict[str, dict[str, int]] = {}

    def column(self, name: str, values: pa.Array) -> Floats:
        """The values of a unique attribute, as in a canonical batch, null where absent."""
        attribute = self._schema.attributes[name]
        domain = attribute.domain
        assert not attribute.multiple
        absent = values.null_count > 0
        if isinstance(domain, EnumeratedDomain | HierarchicalDomain):
            numbers = {value: position for position, value in enumerate(domain.values)}
            coded = self._coded(values, numbers, grows=False)
        elif domain.kind == "string":
            coded = self._coded(values, self._numbers.setdefault(name, {}), grows=True)
        else:
            coded = _numbers_of(attribute, values)
        if absent:
            coded[values.is_null().to_numpy(zero_copy_only=False)] = ABSENT
        return coded

    def _coded(self, values: pa.Array, numbers: dict[str, int], grows: bool) -> Floats:
        encoded = values.dictionary_encode()
        own = np.empty(len(encoded.dictionary), np.float64)
        for place, value in enumerate(encoded.dictionary.to_pylist()):
            own[place] = numbers.setdefault(value, len(numbers)) if grows else numbers[value]
        codes = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
        return own[codes] if len(own) else np.full(len(values), ABSENT)


def _numbers_of(attribute: Attribute, values: pa.Array) -> Floats:
    if attribute.domain.kind == "timestamp":
        values = values.cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    elif attribute.domain.kind == "boolean":
        values = values.cast(pa.int8())
    whole = values.fill_null(0).to_numpy(zero_copy_only=False)
    # Minus infinity is taken; adding zero leaves one zero.
    return np.maximum(whole.astype(np.float64), LOWEST) + 0.0


def lower(ids: pa.Array, bound: BoundJoins, schema: Schema, coding: Coding) -> Joins:
    """Lowers the joins that were not refused to a group for each shape."""
    return Joins(ids, tuple(_Lowering(block, schema, coding).group() for block in bound.blocks))


@dataclass(slots=True)
class _Range:
    """Range that a literal asks of a column, and the rows for which that is not all (a residual says the rest)."""

    low: Floats
    high: Floats
    inexact: bool = False


class _Lowering:
    """Lowering of one block of joins."""

    def __init__(self, block: JoinBlock, schema: Schema, coding: Coding) -> None:
        self.block = block
        self.schema = schema
        self.coding = coding
        self.count = len(block.rows)

    def group(self) -> JoinGroup:
        template = self.block.template
        intervals: dict[Column, Interval] = {}
        residuals: dict[str, Residuals] = {}
        for table, filter in zip(template.signature.tables, template.filters, strict=True):
            left = self.intervals(table, filter, intervals)
            if left is not None:
                residuals[table] = self.residuals(left)
        return JoinGroup(template.signature, self.block.rows, intervals, residuals, template.columns)

    def intervals(self, table: str, filter: Filter, intervals: dict[Column, Interval]) -> Filter | None:
        """Takes out of a filter the conditions that intervals express; returns the rest, None if nothing is left."""
        if len(filter.conjuncts) != 1:
            self.hulls(table, filter, intervals)
            return filter if filter.conjuncts else None
        left: list[Literal] = []
        for literal in filter.conjuncts[0]:
            found = self.range(literal)
            if found is not None:
                self.narrow((table, attributes_of(literal)[0]), found, intervals)
            if found is None or found.inexact:
                left.append(literal)
        return Filter((tuple(left),)) if left else None

    def hulls(self, table: str, filter: Filter, intervals: dict[Column, Interval]) -> None:
        """Intervals that all alternatives lie in; none at all for FALSE."""
        if not filter.conjuncts:
            attribute = self.schema.tables[table].join[0]
            self.narrow((table, attribute), self.filled(HIGHEST, ABSENT), intervals)
            return
        first, *others = (self.ranges(conjunct) for conjunct in filter.conjuncts)
        for attribute, own in first.items():
            if all(attribute in other for other in others):
                low = np.minimum.reduce([own.low, *(other[attribute].low for other in others)])
                high = np.maximum.reduce([own.high, *(other[attribute].high for other in others)])
                self.narrow((table, attribute), _Range(low, high), intervals)

    def ranges(self, conjunct: Iterable[Literal]) -> dict[str, _Range]:
        """Intervals of a conjunct by attribute."""
        found: dict[str, _Range] = {}
        for literal in conjunct:
            if (said := self.range(literal)) is not None:
                attribute = attributes_of(literal)[0]
                known = found.get(attribute)
                found[attribute] = said if known is None else _within(known, said)
        return found

    def narrow(self, column: Column, said: _Range, intervals: dict[Column, Interval]) -> None:
        known = intervals.get(column)
        within = said if known is None else _within(known, said)
        intervals[column] = Interval(within.low, within.high)

    def range(self, literal: Literal) -> _Range | None:
        """Interval that a literal lies in; None if it is no interval."""
        if isinstance(literal, Not):
            if isinstance(literal.leaf, Present) and not self.attribute(literal.leaf.attribute).multiple:
                return self.filled(ABSENT, ABSENT)
            return None
        names = attributes_of(literal)
        attribute = self.attribute(names[0])
        if len(names) > 1 or attribute.multiple:
            return None
        match literal:
            case Present():
                return self.filled(LOWEST, HIGHEST)
            case Between():
                return self.between(attribute, literal)
            case OneOf() | Order():
                return self.listed(attribute, literal)
        return None

    def between(self, attribute: Attribute, literal: Between) -> _Range | None:
        domain = attribute.domain
        if isinstance(domain, EnumeratedDomain | HierarchicalDomain) or domain.kind == "string":
            if not literal.is_equality or literal.low is None:
                return None
            codes = self.codes(attribute, literal.low)
            return _Range(codes, codes)
        if domain.kind == "boolean":
            number = float(bool(literal.low))
            return self.filled(number, number)
        low = self.end(literal.low, literal.low_closed, LOWEST)
        high = self.end(literal.high, literal.high_closed, HIGHEST)
        if domain.kind == "float":
            # Minus infinity is coded as the lowest float, so that a bound there cannot tell the two apart.
            given = [self.numbers(one) for one in (literal.low, literal.high) if one is not None]
            return _Range(low, high, any(bool((one <= LOWEST).any()) for one in given))
        given = [end for end, one in ((low, literal.low), (high, literal.high)) if one is not None]
        return _Range(low, high, any(bool((np.abs(end) >= EXACT).any()) for end in given))

    def end(self, operand: Operand | None, closed: bool, otherwise: float) -> Floats:
        if operand is None:
            return np.full(self.count, otherwise)
        numbers = self.numbers(operand)
        if not closed:
            numbers = np.nextafter(numbers, HIGHEST if otherwise == LOWEST else -np.inf)
        return np.maximum(numbers, LOWEST)

    def listed(self, attribute: Attribute, literal: OneOf | Order) -> _Range | None:
        """Values of a listed domain, if they stand beside each other; a list of strings is left to a residual."""
        domain = attribute.domain
        if not isinstance(domain, EnumeratedDomain | HierarchicalDomain):
            return None
        if isinstance(literal, Order):
            if not isinstance(domain, HierarchicalDomain) and not domain.ordered:
                return None
            below = {value: domain.satisfying(literal.operator, value) for value in domain.values}
            values = self.texts(literal.value)
            runs = {value: (min(below[value], default=0), max(below[value], default=-1)) for value in set(values)}
            low = np.array([runs[value][0] for value in values], np.float64)
            high = np.array([runs[value][1] for value in values], np.float64)
            gaps = any(runs[value][1] - runs[value][0] + 1 != len(below[value]) for value in runs)
            return _Range(low, high, gaps)
        columns = [self.codes(attribute, value) for value in literal.values]
        low, high = np.minimum.reduce(columns), np.maximum.reduce(columns)
        return _Range(low, high, inexact=True)

    def texts(self, operand: Operand) -> list[str]:
        if isinstance(operand, Slot):
            column = self.block.columns[operand.number]
            assert isinstance(column, pa.Array)
            return [str(value) for value in column.to_pylist()]
        return [str(operand)] * self.count

    def codes(self, attribute: Attribute, operand: Operand) -> Floats:
        if isinstance(operand, Slot):
            return self.coding.column(attribute.name, _strings(self.block.columns[operand.number]))
        return np.full(self.count, self.coding.column(attribute.name, pa.array([operand], pa.string()))[0])

    def numbers(self, operand: Operand) -> Floats:
        if isinstance(operand, Slot):
            return np.asarray(self.block.columns[operand.number]).astype(np.float64) + 0.0
        return np.full(self.count, float(operand)) + 0.0

    def filled(self, low: float, high: float) -> _Range:
        return _Range(np.full(self.count, low), np.full(self.count, high))

    def attribute(self, name: str) -> Attribute:
        return self.schema.attributes[name]

    def residuals(self, left: Filter) -> Residuals:
        """Texts of the remaining filters, each once."""
        numbers = sorted({slot for conjunct in left.conjuncts for one in conjunct for slot in _slots(one)})
        if not numbers:
            texts = pa.array([print_filter(left, self.schema)], pa.string())
            return Residuals(np.zeros(self.count, np.int32), texts)
        columns: Sequence[SlotColumn] = [self.block.columns[number] for number in numbers]
        rows = literals_of(columns, self.count)
        codes = np.empty(self.count, np.int32)
        filled: list[object] = [None] * len(self.block.columns)
        known: dict[tuple[object, ...], int] = {}
        listed: dict[str, int] = {}
        for row, values in enumerate(rows):
            code = known.get(values)
            if code is None:
                for number, value in zip(numbers, values, strict=True):
                    filled[number] = value
                conjuncts = tuple(fill_conjunct(conjunct, filled) for conjunct in left.conjuncts)
                text = print_filter(Filter(conjuncts), self.schema)
                code = known[values] = listed.setdefault(text, len(listed))
            codes[row] = code
        return Residuals(codes, pa.array(list(listed), pa.string()))


def _within(one: _Range | Interval, other: _Range) -> _Range:
    return _Range(np.maximum(one.low, other.low), np.minimum(one.high, other.high))


def _slots(literal: Literal) -> list[int]:
    leaf = literal.leaf if isinstance(literal, Not) else literal
    match leaf:
        case Between(_, low, high):
            found: Iterable[object] = (low, high)
        case OneOf(_, values):
            found = values
        case Order(_, _, value):
            found = (value,)
        case _:
            found = (getattr(leaf, "pattern", None),)
    return [one.number for one in found if isinstance(one, Slot)]


def _strings(column: SlotColumn) -> pa.StringArray:
    assert isinstance(column, pa.Array)
    return column
