"""Leaves of a filter: the comparisons an event either satisfies or does not.

An event gives each attribute a set of values, empty where the attribute is absent. A leaf over attribute X holds iff
*some* value of X satisfies it. `Not(leaf)` holds iff X is present and the leaf does not hold, with one exception:
`Not(Present(X))` is `X IS NULL`, which holds iff X is absent.

Values are in the attribute's own type: int for integers and timestamps (microseconds since the epoch, UTC), float,
bool, and str for strings, enumerated and hierarchical values. In templates (see shapes.py) a `Slot` stands where a
value may.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

Value: TypeAlias = int | float | str | bool


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of a literal in a template: its value is in column `number` of the block."""

    number: int


Operand: TypeAlias = Value | Slot


@dataclass(frozen=True, slots=True)
class Between:
    """Some value lies between low and high; None leaves that side open. Equality is low == high, both closed.

    Integers and timestamps are always closed: x > 2 is kept as x >= 3.
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
    """Some value is among these: two or more, distinct and sorted (Slots last, by number)."""

    attribute: str
    values: tuple[Operand, ...]

    def __hash__(self) -> int:
        # Rewrites ask for it again and again, and some lists have many thousands of values: some of them tell.
        return hash((self.attribute, len(self.values), self.values[:: len(self.values) // _TELLING + 1]))


_TELLING = 32


@dataclass(frozen=True, slots=True)
class Order:
    """Some value is <, <=, > or >= another along an enumerated order or in a hierarchy, where <= is *kind of*."""

    attribute: str
    operator: str
    value: Operand


@dataclass(frozen=True, slots=True)
class Like:
    """Some value matches a LIKE pattern: % any run, _ one code point, a backslash makes the next character itself."""

    attribute: str
    pattern: str | Slot
    ignore_case: bool = False


@dataclass(frozen=True, slots=True)
class RLike:
    """Somewhere in some value the regular expression (RE2 syntax, not anchored) is found."""

    attribute: str
    pattern: str | Slot


@dataclass(frozen=True, slots=True)
class Present:
    """The attribute has a value."""

    attribute: str


@dataclass(frozen=True, slots=True)
class Versus:
    """Some value of left and some value of right compare by =, < or <=; negated: both are present and no pair does."""

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
    """The negation of one leaf, in normal forms only; see the module's text for what it means where X is absent."""

    leaf: Leaf


Literal: TypeAlias = Leaf | Not


def equals(attribute: str, value: Operand) -> Between:
    """The leaf `attribute = value`."""
    return Between(attribute, value, value)


def among(attribute: str, values: Iterable[Value]) -> Leaf:
    """The leaf `attribute IN (values)`: an equality where there is one value, and no event's where there is none."""
    listed = sorted(set(values))
    if not listed:
        return Never(attribute)
    return equals(attribute, listed[0]) if len(listed) == 1 else OneOf(attribute, tuple(listed))


def attributes_of(literal: Literal) -> tuple[str, ...]:
    """The attribute a leaf is about, or both of them."""
    leaf = literal.leaf if isinstance(literal, Not) else literal
    return (leaf.left, leaf.right) if isinstance(leaf, Versus) else (leaf.attribute,)


_RANK: dict[type, int] = {Between: 0, OneOf: 1, Order: 2, Like: 3, RLike: 4, Versus: 5, Present: 6, Never: 7}


def sort_key(literal: Literal) -> tuple[object, ...]:
    """A total order on the literals of one schema: by attribute, then sign, then kind, then operands."""
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
