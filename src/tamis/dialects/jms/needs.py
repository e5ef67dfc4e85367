"""Which attributes selectors ask for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tamis.dialects.conversion import ConversionError
from tamis.dialects.jms.arithmetic import Number
from tamis.dialects.jms.grammar import (
    And,
    Arithmetic,
    Comparison,
    Condition,
    In,
    IsNull,
    Like,
    Literal,
    Name,
    Negative,
    Not,
    Operand,
    Or,
    Truth,
    parse,
)
from tamis.dialects.needs import Needs, need

_HEADERS = {
    "JMSPriority": "float",
    "JMSTimestamp": "float",
    "JMSXDeliveryCount": "float",
    "JMSXGroupSeq": "float",
    "JMSDeliveryMode": "string",
    "JMSMessageID": "string",
    "JMSCorrelationID": "string",
    "JMSType": "string",
}
"""Header fields that selectors may name, and what they hold."""


def needed(rules: Iterable[str]) -> Needs:
    """The properties of all selectors that can be read, in the type that they are compared in."""
    needs: Needs = {}
    for rule in rules:
        try:
            condition = parse(rule)
        except ConversionError:
            continue  # `convert` tells of it
        for name, domain in dict.fromkeys(_asked(condition)):
            wanted = need(needs, name)
            if (known := _HEADERS.get(name, domain)) is not None:
                wanted.ask(known)
        for name, value in _numbers(condition):
            need(needs, name).name_number(value)
    return needs


def _asked(condition: Condition) -> Iterator[tuple[str, str | None]]:
    match condition:
        case And(parts) | Or(parts):
            for part in parts:
                yield from _asked(part)
        case Not(operand):
            yield from _asked(operand)
        case Truth(Name(name)):
            yield name, "boolean"
        case Like(name) | In(name):
            yield name, "string"
        case IsNull(name):
            yield name, None
        case Comparison(left, operator, right):
            ordered = "float" if operator not in ("=", "<>") else None
            yield from _compared(left, ordered or _domain(right))
            yield from _compared(right, ordered or _domain(left))


def _compared(operand: Operand, domain: str | None) -> Iterator[tuple[str, str | None]]:
    match operand:
        case Name(name):
            yield name, domain
        case Negative(inner):
            yield from _compared(inner, "float")
        case Arithmetic(left, _, right):
            yield from _compared(left, "float")
            yield from _compared(right, "float")


def _numbers(condition: Condition) -> Iterator[tuple[str, Number]]:
    """The properties of comparisons, each with the numbers that stand in the same comparison."""
    match condition:
        case And(parts) | Or(parts):
            for part in parts:
                yield from _numbers(part)
        case Not(operand):
            yield from _numbers(operand)
        case Comparison(left, _, right):
            names = {name for side in (left, right) for name, _ in _compared(side, None)}
            yield from ((name, value) for side in (left, right) for value in _constants(side) for name in names)


def _constants(operand: Operand) -> Iterator[Number]:
    match operand:
        case Literal(int() | float() as value) if not isinstance(value, bool):
            yield value
        case Negative(inner):
            yield from (-value for value in _constants(inner))
        case Arithmetic(left, _, right):
            yield from _constants(left)
            yield from _constants(right)


def _domain(operand: Operand) -> str | None:
    match operand:
        case Literal(bool()):
            return "boolean"
        case Literal(str()):
            return "string"
        case Name():
            return None
    return "float"
