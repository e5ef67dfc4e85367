"""Predicates of filters: the leaf types (`Between`, `OneOf`, `Like`, `Versus`, ...), number bounds and timestamp texts.

Comparisons are exact, also with numbers that an attribute's type may not have; moments are microseconds since the
epoch.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Generic, TypeAlias, TypeVar

from tamis.schema.timestamps import parse_timestamp

INT_MIN, INT_MAX = -(1 << 63), (1 << 63) - 1

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Bounds(Generic[T]):
    """Bounds of a range of numbers; None where there is no end."""

    low: T | None
    high: T | None
    low_closed: bool = True
    high_closed: bool = True

    @classmethod
    def of(cls, operator: str, value: T) -> Bounds[T]:
        """Bounds of the values that compare with `value` by =, <, <=, > or >=."""
        if operator == "=":
            return cls(value, value)
        if operator in (">", ">="):
            return cls(value, None, low_closed=operator == ">=")
        return cls(None, value, high_closed=operator == "<=")


def integer_bounds(bounds: Bounds[int | float]) -> Bounds[int] | None:
    """The 64-bit integers within the bounds, as a closed range; None if there are none.

    >>> integer_bounds(Bounds.of(">", 2.5)), integer_bounds(Bounds.of("=", 2.5))
    (Bounds(low=3, high=None, low_closed=True, high_closed=True), None)
    """
    low: int | None = None
    high: int | None = None
    if bounds.low is not None:
        low = math.floor(bounds.low) + 1 if not bounds.low_closed else math.ceil(bounds.low)
        if low > INT_MAX:
            return None
    if bounds.high is not None:
        high = math.ceil(bounds.high) - 1 if not bounds.high_closed else math.floor(bounds.high)
        if high < INT_MIN:
            return None
    low = None if low is not None and low < INT_MIN else low
    high = None if high is not None and high > INT_MAX else high
    return None if low is not None and high is not None and low > high else Bounds(low, high)


def float_bounds(bounds: Bounds[int | float]) -> Bounds[float] | None:
    """The doubles within the bounds, whose ends may be integers that are no doubles; None if there are none.

    >>> float_bounds(Bounds.of(">", 2**53 + 1))
    Bounds(low=9007199254740994.0, high=None, low_closed=True, high_closed=True)
    """
    low, low_closed = (None, True) if bounds.low is None else _float_low(bounds.low, bounds.low_closed)
    high, high_closed = None, True
    if bounds.high is not None:
        mirrored, high_closed = _float_low(-bounds.high, bounds.high_closed)
        high = -mirrored
    if low is not None and high is not None and (low > high or (low == high and not (low_closed and high_closed))):
        return None
    return Bounds(None if low is None else low + 0.0, None if high is None else high + 0.0, low_closed, high_closed)


def _float_low(value: int | float, closed: bool) -> tuple[float, bool]:
    """Lower bound of the doubles above a value: the lowest of them, or the largest finite one, which is left out."""
    try:
        nearest = float(value)
    except OverflowError:
        return (sys.float_info.max, False) if value > 0 else (-sys.float_info.max, True)
    if nearest == value:
        return nearest, closed
    above = nearest if nearest > value else math.nextafter(nearest, math.inf)
    return (sys.float_info.max, False) if above == math.inf else (above, True)


_FORM = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d(?::?\d\d)?)?)?", re.ASCII)
_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)

EARLIEST = (datetime.min - _EPOCH) // _MICROSECOND
LATEST = (datetime.max - _EPOCH) // _MICROSECOND


def read_timestamp(text: str) -> int | None:
    """Microseconds since the epoch, UTC where the text names no zone; None if the text is no timestamp.

    >>> read_timestamp("1970-01-01 00:00:01"), read_timestamp("1970-01-01T02:00+02:00"), read_timestamp("soon")
    (1000000, 0, None)

    No zone has a minute 75, as none has in events:

    >>> read_timestamp("1970-01-01T02:00+00:75")
    """
    microseconds = parse_timestamp(text) if _FORM.fullmatch(text) else None
    # A zone may lead out of the calendar, next to the years 1 and 9999.
    return microseconds if microseconds is not None and EARLIEST <= microseconds <= LATEST else None


def write_timestamp(microseconds: int) -> str:
    """The shortest text that reads back as this moment, which lies between EARLIEST and LATEST.

    >>> write_timestamp(1000000), write_timestamp(86400000000)
    ('1970-01-01 00:00:01', '1970-01-02')
    """
    moment = _EPOCH + timedelta(microseconds=microseconds)
    if moment.time() == datetime.min.time():
        return moment.date().isoformat()
    return moment.replace(tzinfo=UTC).isoformat(sep=" ").removesuffix("+00:00")


# Leaves of a filter: the comparisons an event either satisfies or does not.
#
# An event gives each attribute a set of values, empty where the attribute is absent. A leaf over attribute X holds iff
# *some* value of X satisfies it. `Not(leaf)` holds iff X is present and the leaf does not hold, with one exception:
# `Not(Present(X))` is `X IS NULL`, which holds iff X is absent.
#
# Values are in the attribute's own type: int for integers and timestamps (microseconds since the epoch, UTC), float,
# bool, and str for strings, enumerated and hierarchical values. In templates (see shapes.py) a `Slot` stands where a
# value may.

Value: TypeAlias = int | float | str | bool


@dataclass(frozen=True, slots=True)
class Slot:
    """Place of a literal in a template: its value is in column `number` of the block."""

    number: int


Operand: TypeAlias = Value | Slot


@dataclass(frozen=True, slots=True)
class Between:
    """Range or equality: some value lies between low and high; None leaves that side open.

    Equality is low == high, both closed. Integers and timestamps are always closed: x > 2 is kept as x >= 3.
    """

    attribute: str
    low: Operand | None
    high: Operand | None
    low_closed: bool = True
    high_closed: bool = True

    @property
    def is_equality(self) -> bool:
        return self.low is not None and self.low == self.high and self.low_closed and self.high_closed


@dataclass(frozen=True, slots=True)
class OneOf:
    """IN list: some value is among these, two or more, distinct and sorted (Slots last, by number)."""

    attribute: str
    values: tuple[Operand, ...]

    def __hash__(self) -> int:
        # Rewrites ask for it again and again, and some lists have many thousands of values: some of them tell.
        return hash((self.attribute, len(self.values), self.values[:: len(self.values) // _TELLING + 1]))


_TELLING = 32


@dataclass(frozen=True, slots=True)
class Order:
    """Comparison <, <=, > or >= of some value along an enumerated order or in a hierarchy, where <= is *kind of*."""

    attribute: str
    operator: str
    value: Operand


@dataclass(frozen=True, slots=True)
class Like:
    """LIKE: some value matches the pattern; % is any run, _ one code point, a backslash escapes the next character."""

    attribute: str
    pattern: str | Slot
    ignore_case: bool = False


@dataclass(frozen=True, slots=True)
class RLike:
    """RLIKE: the regular expression (RE2 syntax, not anchored) is found somewhere in some value."""

    attribute: str
    pattern: str | Slot


@dataclass(frozen=True, slots=True)
class Present:
    """Presence (IS NOT NULL): the attribute has a value."""

    attribute: str


@dataclass(frozen=True, slots=True)
class Versus:
    """Comparison of two attributes: some value of left and some value of right compare by =, < or <=.

    Negated: both are present and no pair does.
    """

    left: str
    operator: str
    right: str


@dataclass(frozen=True, slots=True)
class Never:
    """A comparison that no value satisfies; its negation is that the attribute is present."""

    attribute: str


Leaf: TypeAlias = Between | OneOf | Order | Like | RLike | Present | Versus | Never


@dataclass(frozen=True, slots=True)
class Not:
    """Negation of one leaf, in normal forms only; its meaning where the attribute is absent is defined above."""

    leaf: Leaf


Literal: TypeAlias = Leaf | Not


def equals(attribute: str, value: Operand) -> Between:
    """Leaf `attribute = value`."""
    return Between(attribute, value, value)


def among(attribute: str, values: Iterable[Value]) -> Leaf:
    """Leaf `attribute IN (values)`: an equality where there is one value, and no event's where there is none."""
    listed = sorted(set(values))
    if not listed:
        return Never(attribute)
    return equals(attribute, listed[0]) if len(listed) == 1 else OneOf(attribute, tuple(listed))


def attributes_of(literal: Literal) -> tuple[str, ...]:
    """Attribute that a leaf is about, or both of them."""
    leaf = literal.leaf if isinstance(literal, Not) else literal
    return (leaf.left, leaf.right) if isinstance(leaf, Versus) else (leaf.attribute,)


_RANK: dict[type, int] = {Between: 0, OneOf: 1, Order: 2, Like: 3, RLike: 4, Versus: 5, Present: 6, Never: 7}


def sort_key(literal: Literal) -> tuple[object, ...]:
    """Sort key of the literals of one schema: by attribute, then sign, then kind, then operands."""
    negated = isinstance(literal, Not)
    leaf = literal.leaf if isinstance(literal, Not) else literal
    rank = _RANK[type(leaf)]
    match leaf:
        case Between(attribute, low, high, low_closed, high_closed):
            return (attribute, negated, rank, _operand_key(low), _operand_key(high), not low_closed, not high_closed)
        case OneOf(attribute, values):
            return (attribute, negated, rank, tuple(_operand_key(value) for value in values))
        case Order(attribute, operator, value):
            return (attribute, negated, rank, operator, _operand_key(value))
        case Like(attribute, pattern, ignore_case):
            return (attribute, negated, rank, ignore_case, _operand_key(pattern))
        case RLike(attribute, pattern):
            return (attribute, negated, rank, _operand_key(pattern))
        case Versus(left, operator, right):
            return (left, negated, rank, operator, right)
        case Present(attribute) | Never(attribute):
            return (attribute, negated, rank)


def _operand_key(operand: Operand | None) -> tuple[object, ...]:
    if operand is None:
        return (0,)
    return (2, operand.number) if isinstance(operand, Slot) else (1, operand)
