"""Syntax tree of a CESQL expression, grouped by the precedence rules of CESQL 1.0 (§3.6); LIKE patterns.

Every node knows its place in the text (`text[start:end]`). Nodes are values:
frozen, and compared by what they hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal as OneOf
from typing import TypeAlias

from tamis.dialects.cesql.functions import Value
from tamis.language.patterns import LikePattern, Wildcard

ArithmeticOperator: TypeAlias = OneOf["+", "-", "*", "/", "%"]
ComparisonOperator: TypeAlias = OneOf["=", "!=", "<", "<=", ">", ">="]
LogicOperator: TypeAlias = OneOf["AND", "OR", "XOR"]


@dataclass(frozen=True, slots=True)
class Literal:
    """Literal value."""

    value: Value
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Attribute:
    """Value of a context attribute; the name is in lower case."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Exists:
    """Test that the event has the attribute."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Not:
    """Negation, NOT operand."""

    operand: Node
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Minus:
    """Operand with its sign changed."""

    operand: Node
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Like:
    """Test that the operand, as a string, matches the pattern; `negated` for NOT LIKE."""

    operand: Node
    pattern: str
    negated: bool
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class In:
    """Test that the operand equals one of the elements, cast to its type; `negated` for NOT IN."""

    operand: Node
    elements: tuple[Node, ...]
    negated: bool
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Arithmetic on integers, left operator right."""

    operator: ArithmeticOperator
    left: Node
    right: Node
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison, left operator right; `<>` is kept as `!=`."""

    operator: ComparisonOperator
    left: Node
    right: Node
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Logic:
    """Run of AND, OR and XOR, which bind equally: first, then each (operator, operand) from left to right.

    A run is one node however long it is, so that the tree stays as shallow as its parentheses.
    """

    first: Node
    rest: tuple[tuple[LogicOperator, Node], ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Call:
    """Invocation of a function; the name is in upper case, and may be of no function that there is."""

    name: str
    arguments: tuple[Node, ...]
    start: int
    end: int


Node: TypeAlias = Literal | Attribute | Exists | Not | Minus | Like | In | Arithmetic | Comparison | Logic | Call


def children(node: Node) -> tuple[Node, ...]:
    """Nodes directly below, from left to right."""
    match node:
        case Literal() | Attribute() | Exists():
            return ()
        case Not(operand) | Minus(operand) | Like(operand):
            return (operand,)
        case In(operand, elements):
            return (operand, *elements)
        case Arithmetic(_, left, right) | Comparison(_, left, right):
            return (left, right)
        case Logic(first, rest):
            return (first, *(operand for _, operand in rest))
        case Call(_, arguments):
            return arguments


def walk(node: Node) -> Iterator[Node]:
    """Node and every one below it."""
    waiting = [node]
    while waiting:
        found = waiting.pop()
        yield found
        waiting.extend(reversed(children(found)))


# LIKE patterns of CESQL: `%` any run of characters, `_` exactly one, `\%` and `\_` themselves.
#
# Unlike in Tamis's own filters, a backslash before any other character is a backslash.


def read_pattern(pattern: str) -> list[str | Wildcard]:
    r"""Characters and wildcards of a pattern.

    >>> read_pattern(r"a%\%\b")
    ['a', <Wildcard.ANY: '%'>, '%', '\\', 'b']
    """
    parts: list[str | Wildcard] = []
    at = 0
    while at < len(pattern):
        character = pattern[at]
        if character == "\\" and pattern[at + 1 : at + 2] in ("%", "_"):
            at += 1
            parts.append(pattern[at])
        else:
            parts.append(Wildcard(character) if character in "%_" else character)
        at += 1
    return parts


def matches(pattern: str, value: str) -> bool:
    """True if the whole value matches the pattern."""
    return compiled(pattern).matches(value)


@lru_cache(maxsize=1_000)
def compiled(pattern: str) -> LikePattern:
    """Compiled pattern."""
    return LikePattern(read_pattern(pattern))
