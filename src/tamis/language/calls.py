"""Operator calls in filters, constraints on the variables that they bind, and operator signatures; parts and sort keys
of calls and constraints.

Calls and constraints are the leaves that no plain matcher decides. A filter with variables holds iff one substitution
for all of them makes it hold. OR distributes over that, so each conjunct of the normal form has substitutions of its
own, and its variables are named by it alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

from tamis.language.predicates import Operand, Slot, Value

ParameterKind: TypeAlias = Literal["integer", "float", "string", "boolean", "timestamp", "any"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of an operator's calls.

    `variable`: a variable may stand there, and does where the argument is left out. `optional`: it may be left out, and
    is then `default`, where None is *nothing given*. `choices` are all the strings that may be given; none: any.
    """

    name: str
    kind: ParameterKind = "any"
    variable: bool = False
    optional: bool = False
    default: Value | None = None
    choices: tuple[str, ...] = ()

    def __str__(self) -> str:
        kind = "" if self.kind == "any" else f": {self.kind}"
        return f"?{self.name}{kind}" if self.variable else f"{self.name}{kind}{' (optional)' * self.optional}"


@dataclass(frozen=True, slots=True)
class OperatorSignature:
    """An operator's name, version, and parameters in the order of a call's arguments; `rest` takes any number more."""

    name: str
    parameters: tuple[Parameter, ...] = ()
    rest: Parameter | None = None
    version: str = "1"

    def __str__(self) -> str:
        listed = [*map(str, self.parameters), *([f"{self.rest}, ..."] if self.rest else [])]
        return f"{self.name}({', '.join(listed)})"


class Signatures(Mapping[str, OperatorSignature]):
    """Operators that filters may call, by name. Immutable; compared and hashed by content."""

    def __init__(self, signatures: Iterable[OperatorSignature] = ()) -> None:
        self._by_name = {signature.name: signature for signature in signatures}

    def __getitem__(self, name: str) -> OperatorSignature:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    @cached_property
    def _key(self) -> frozenset[OperatorSignature]:
        return frozenset(self._by_name.values())

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Signatures) and self._key == other._key)

    def __hash__(self) -> int:
        return hash(self._key)


NO_OPERATORS = Signatures()


@dataclass(frozen=True, slots=True, order=True)
class Moment:
    """A timestamp in calls and constraints, where no attribute's domain tells it from a number: microseconds, UTC."""

    microseconds: int | Slot


@dataclass(frozen=True, slots=True)
class Variable:
    """Variable `?name`: bound by calls, compared by constraints. `written` is its name in the text, empty if none."""

    name: str
    written: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Field:
    """An attribute of the event within a constraint."""

    attribute: str


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Arithmetic `left operator right` for +, -, * and /. A minus sign by itself is subtraction from 0."""

    operator: str
    left: Expression
    right: Expression


Given: TypeAlias = Operand | Moment
"""A value that tells its own type."""
Argument: TypeAlias = Given | Variable | None
"""None: nothing given, where the operator allows that."""
Expression: TypeAlias = Given | Variable | Field | Arithmetic


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """Operator call: holds if the operator says that the event satisfies it with these arguments, and binds variables.

    Negated: the operator says that the event does not; with variables, whatever their values. Where the operator says
    nothing (it failed, took too long, or the event lacks what it reads) neither holds.
    """

    operator: str
    arguments: tuple[Argument, ...]
    negated: bool = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Call) and call_key(self) == call_key(other)

    def __hash__(self) -> int:
        return hash((self.operator, self.arguments, self.negated))


@dataclass(frozen=True, slots=True, eq=False)
class Constraint:
    """Constraint: `left operator right` holds for the values that the variables are bound to.

    `right` is a tuple for IN and NOT IN. Operators: =, !=, <, <=, >, >=, IN and NOT IN. Values of different types do
    not compare: neither the constraint nor its opposite holds. Attributes must be present. A normal form negates only
    constraints on an attribute with several values: the attribute is present, and none of its values makes the
    comparison hold.
    """

    left: Expression
    operator: str
    right: Expression | tuple[Given, ...]
    negated: bool = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constraint) and constraint_key(self) == constraint_key(other)

    def __hash__(self) -> int:
        return hash((self.left, self.operator, self.right, self.negated))


Called: TypeAlias = Call | Constraint

_MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<", "IN": "NOT IN", "NOT IN": "IN"}


def parts_of(leaf: Called) -> Iterator[Argument | Expression]:
    """Parts of a call or constraint, arithmetic taken apart, in the order in which they are written."""
    if isinstance(leaf, Call):
        yield from leaf.arguments
        return
    for side in sides_of(leaf):
        yield from inner_parts(side)


def sides_of(leaf: Constraint) -> tuple[Expression, ...]:
    """Both sides of a constraint; on the right there may be several values."""
    return (leaf.left, *(leaf.right if isinstance(leaf.right, tuple) else (leaf.right,)))


def inner_parts(side: Expression) -> Iterator[Expression]:
    """Parts of an expression, arithmetic taken apart."""
    if isinstance(side, Arithmetic):
        yield from inner_parts(side.left)
        yield from inner_parts(side.right)
    else:
        yield side


def with_parts(leaf: Called, change: Callable[[Any], Any]) -> Called:
    """Leaf with each of its parts (`parts_of`) changed into another that may stand there."""
    if isinstance(leaf, Call):
        return replace(leaf, arguments=tuple(map(change, leaf.arguments)))
    right = leaf.right
    changed = tuple(map(change, right)) if isinstance(right, tuple) else _changed(right, change)
    return replace(leaf, left=_changed(leaf.left, change), right=changed)


def _changed(side: Expression, change: Callable[[Any], Any]) -> Any:
    if isinstance(side, Arithmetic):
        return replace(side, left=_changed(side.left, change), right=_changed(side.right, change))
    return change(side)


def variables_of(leaf: Called) -> tuple[str, ...]:
    """Names of the variables in a leaf, each once, in the order in which they are written."""
    return tuple(dict.fromkeys(part.name for part in parts_of(leaf) if isinstance(part, Variable)))


def fields_of(leaf: Called) -> tuple[str, ...]:
    """Attributes that a constraint compares with, each once."""
    return tuple(dict.fromkeys(part.attribute for part in parts_of(leaf) if isinstance(part, Field)))


def oriented(leaf: Constraint) -> Constraint:
    """Constraint with variables on its left, a variable by itself rather than arithmetic.

    Where that leaves both orders, it is none of > and >=.
    """
    if isinstance(leaf.right, tuple):
        return leaf
    left, right = _weight(leaf.left), _weight(leaf.right)
    if right > left or (right == left and leaf.operator in (">", ">=")):
        return replace(leaf, left=leaf.right, operator=_MIRRORED[leaf.operator], right=leaf.left)
    return leaf


def _weight(side: Expression) -> int:
    if isinstance(side, Variable):
        return 2
    return int(any(isinstance(part, Variable) for part in inner_parts(side)))


def opposite(leaf: Constraint) -> Constraint:
    """Constraint that holds where this one does not, of values that compare at all."""
    return oriented(replace(leaf, operator=_OPPOSITE[leaf.operator], negated=False))


def called_key(leaf: Called) -> tuple[object, ...]:
    """Sort key of calls and constraints, in which calls come first."""
    return (0, *call_key(leaf)) if isinstance(leaf, Call) else (1, *constraint_key(leaf))


def call_key(leaf: Call) -> tuple[object, ...]:
    return (leaf.operator, leaf.negated, tuple(map(part_key, leaf.arguments)))


def constraint_key(leaf: Constraint) -> tuple[object, ...]:
    listed = isinstance(leaf.right, tuple)
    right = leaf.right if isinstance(leaf.right, tuple) else (leaf.right,)
    return (part_key(leaf.left), leaf.operator, leaf.negated, listed, tuple(map(part_key, right)))


def part_key(part: Argument | Expression) -> tuple[object, ...]:
    """Sort key of parts, by type and then by value; it tells TRUE from 1, which Python does not."""
    match part:
        case None:
            return (0,)
        case bool():
            return (1, part)
        case int() | float():
            return (2, part)
        case str():
            return (3, part)
        case Moment(microseconds):
            return (4, *part_key(microseconds))
        case Slot(number):
            return (5, number)
        case Variable(name):
            return (6, len(name), name)
        case Field(attribute):
            return (7, attribute)
        case Arithmetic(operator, left, right):
            return (8, operator, part_key(left), part_key(right))
