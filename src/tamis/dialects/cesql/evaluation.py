"""Evaluation of a CESQL expression on an event: a value always, and the errors on the way (CESQL 1.0, §3)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from tamis.dialects.cesql import syntax as patterns
from tamis.dialects.cesql.functions import (
    LARGEST,
    SMALLEST,
    ZERO,
    ErrorKind,
    EvaluationError,
    Type,
    Value,
    cast,
    find_function,
    from_attribute,
    to_string,
    type_of,
)
from tamis.dialects.cesql.syntax import (
    Arithmetic,
    ArithmeticOperator,
    Attribute,
    Call,
    Comparison,
    Exists,
    In,
    Like,
    Literal,
    Logic,
    Minus,
    Node,
    Not,
)

REQUIRED: Final = frozenset({"id", "source", "specversion", "type"})
"""The attributes that every CloudEvent has."""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """Value of an expression, and the error in evaluating it, if there was one."""

    value: Value
    error: EvaluationError | None = None


def evaluate(node: Node, attributes: Mapping[str, object]) -> Evaluated:
    """Value of the expression over the context attributes of one event; an attribute that is None is absent.

    Evaluation fails fast (§4.1): the first error ends it. The value is then what the operator or function at fault
    returns, if that is the whole expression, and the zero value of the expression's type otherwise.
    """
    try:
        return Evaluated(_Evaluation(attributes).value(node))
    except _Failure as failure:
        value = failure.value if failure.node is node else ZERO[return_type(node)]
        return Evaluated(value, EvaluationError(failure.kind, failure.message, failure.node.start, failure.node.end))


def return_type(node: Node) -> Type:
    """Type of an expression, whatever the event; Boolean where it depends on the event (§3.2)."""
    match node:
        case Literal(value):
            return type_of(value)
        case Minus() | Arithmetic():
            return "Integer"
        case Call(name, arguments):
            function = find_function(name, len(arguments))
            return "Boolean" if function is None else function.returns
        case _:
            return "Boolean"


class _Failure(Exception):  # noqa: N818 - it never leaves this file
    """End of an evaluation: `value` is the value that the operator or function at `node` returns beside the error."""

    def __init__(self, kind: ErrorKind, message: str, node: Node, value: Value) -> None:
        super().__init__(kind, message, node, value)
        self.kind = kind
        self.message = message
        self.node = node
        self.value = value


class _Evaluation:
    """Evaluator over one event. Every method gives a value, or raises `_Failure`."""

    def __init__(self, attributes: Mapping[str, object]) -> None:
        self.attributes = attributes

    def value(self, node: Node) -> Value:
        match node:
            case Literal(value):
                return value
            case Attribute(name):
                return self.attribute(node)
            case Exists(name):
                return name in REQUIRED or self.attributes.get(name) is not None
            case Logic():
                return self.logic(node)
            case Comparison():
                return self.comparison(node)
            case Like(operand, pattern, negated):
                return patterns.matches(pattern, to_string(self.value(operand))) != negated
            case In():
                return self.membership(node)
            case Not():
                return self.negation(node)
            case Minus(operand):
                return _bounded(-int(_cast(self.value(operand), "Integer", node)), node)
            case Arithmetic():
                return self.arithmetic(node)
            case Call():
                return self.call(node)

    def attribute(self, node: Attribute) -> Value:
        value = self.attributes.get(node.name)
        if value is None:
            raise _Failure("missingAttribute", f"the event has no attribute {node.name}", node, False)
        return from_attribute(value)

    def logic(self, node: Logic) -> bool:
        result = bool(_cast(self.value(node.first), "Boolean", node))
        for connective, operand in node.rest:
            if result if connective == "OR" else connective == "AND" and not result:
                # Short circuit: the other side is not looked at.
                continue
            other = bool(_cast(self.value(operand), "Boolean", node))
            result = result != other if connective == "XOR" else other
        return result

    def comparison(self, node: Comparison) -> bool:
        left, right = self.value(node.left), self.value(node.right)
        if node.operator in ("=", "!="):
            # The right operand's type picks the overload (§3.7).
            return (_cast(left, type_of(right), node) == right) == (node.operator == "=")
        a, b = _cast(left, "Integer", node), _cast(right, "Integer", node)
        return _COMPARED[node.operator](a, b)

    def membership(self, node: In) -> bool:
        value = self.value(node.operand)
        target = type_of(value)
        return any(_cast(self.value(element), target, node) == value for element in node.elements) != node.negated

    def negation(self, node: Not) -> bool:
        value = self.value(node.operand)
        # §3.7 has a cast for integers too, but the specification's conformance cases refuse them here, and here only.
        # What cannot be cast is false, which NOT makes true.
        found = None if type_of(value) == "Integer" else cast(value, "Boolean")
        if found is None:
            raise _Failure("cast", f"NOT takes a Boolean, not the {type_of(value)} {value!r:.100}", node, True)
        return not found

    def arithmetic(self, node: Arithmetic) -> int:
        left, right = self.value(node.left), self.value(node.right)
        a, b = int(_cast(left, "Integer", node)), int(_cast(right, "Integer", node))
        if node.operator in ("/", "%") and b == 0:
            raise _Failure("math", "a division by zero", node, 0)
        return _bounded(_computed(node.operator, a, b), node)

    def call(self, node: Call) -> Value:
        function = find_function(node.name, len(node.arguments))
        if function is None:
            message = f"there is no function {node.name} of {len(node.arguments)} arguments"
            raise _Failure("missingFunction", message, node, False)
        arguments: list[Value] = []
        for index, argument in enumerate(node.arguments):
            value, target = self.value(argument), function.parameter(index)
            arguments.append(value if target is None else _cast(value, target, node))
        returned, error = function.invoke(*arguments)
        if error is not None:
            raise _Failure(error, f"{node.name} cannot take these arguments", node, returned)
        return returned


_COMPARED: Final[dict[str, Callable[[Value, Value], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _cast(value: Value, target: Type, node: Node) -> Value:
    """Value cast to an operand or argument of the node."""
    if type_of(value) == target:
        return value
    found = cast(value, target)
    if found is None:
        message = f"the {type_of(value)} {value!r:.100} is no {target}"
        raise _Failure("cast", message, node, ZERO[return_type(node)])
    return found


def _bounded(number: int, node: Node) -> int:
    """Integer of a number; out of range, the nearest one beside the error, as the specification has it for ABS."""
    if SMALLEST <= number <= LARGEST:
        return number
    message = f"{number:,} is not within the 32 bits of an Integer"
    raise _Failure("math", message, node, max(SMALLEST, min(number, LARGEST)))


def _computed(written: ArithmeticOperator, a: int, b: int) -> int:
    match written:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "/":
            # Towards zero, where Python's own goes down.
            return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        case "%":
            return abs(a) % abs(b) * (-1 if a < 0 else 1)
