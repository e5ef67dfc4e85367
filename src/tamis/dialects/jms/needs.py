"""Which attributes selectors ask for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tamis.dialects.jms.arithmetic import Number
from tamis.dialects.jms.grammar import (
    Arithmetic,
    Comparison,
    Condition,
    In,
    IsNull,
    Like,
    Literal,
    Name,
    Negative,
    Operand,
    Truth,
    parse,
)
from tamis.dialects.needs import Needs, Use, collected
from tamis.language.tree import And, Negation, Or

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
    return collected(rules, lambda rule: _uses(parse(rule)))


def _uses(condition: Condition) -> Iterator[Use]:
    match condition:
        case And(items) | Or(items):
            for item in items:
                yield from _uses(item)
        case Negation(item):
            yield from _uses(item)
        case Truth(Name(name)):
            yield _use(name, "boolean")
        case Like(name) | In(name):
            yield _use(name, "string")
        case IsNull(name):
            yield _use(name, None)
        case Comparison(left, operator, right):
            ordered = "float" if operator not in ("=", "<>") else None
            found = [*_compared(left, ordered or _domain(right)), *_compared(right, ordered or _domain(left))]
            yield from found
            for value in (*_constants(left), *_constants(right)):
                yield from (Use(name, number=value) for name in {use.name: None for use in found})


def _use(name: str, domain: str | None) -> Use:
    return Use(name, _HEADERS.get(name, domain))


def _compared(operand: Operand, domain: str | None) -> Iterator[Use]:
    match operand:
        case Name(name):
            yield _use(name, domain)
        case Negative(inner):
            yield from _compared(inner, "float")
        case Arithmetic(left, _, right):
            yield from _compared(left, "float")
            yield from _compared(right, "float")


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
