"""Attributes that event patterns need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tamis.dialects.conversion import Needs, Use, collected
from tamis.dialects.eventbridge.reading import Number, Test, fields, read
from tamis.dialects.eventbridge.texts import is_number

_ARRAYS = frozenset(["resources"])
"""What EventBridge's own envelope gives as an array. A pattern does not say which of its fields are arrays."""


def needed(rules: Iterable[Mapping[str, Any] | str], *, multiple: Iterable[str] = ()) -> Needs:
    """The attributes of all patterns that can be read; `multiple` names those that come as arrays."""
    needs = collected(rules, _uses)
    for name in (_ARRAYS | frozenset(multiple)) & needs.keys():
        needs[name].multiple = True
    return needs


def _uses(rule: Mapping[str, Any] | str) -> Iterator[Use]:
    for field in fields(read(rule)):
        for test in field.tests:
            yield Use(field.name, _domain(test))
            yield from (Use(field.name, number=value) for value in _numbers(test))


def _numbers(test: Test) -> Iterator[Number]:
    """The numbers that the test compares a value with."""
    if test.kind in ("equal", "anything-but", "numeric"):
        operands = test.value if isinstance(test.value, list) else [test.value]
        yield from (operand for operand in operands if is_number(operand))


def _domain(test: Test) -> str | None:
    operand = test.value
    if test.kind == "anything-but" and isinstance(operand, list) and operand:
        operand = operand[0]
    if test.kind == "anything-but" and isinstance(operand, bool):
        return None  # `convert` tells of it
    match test.kind:
        case "exists":
            return None
        case "numeric":
            return "float"
        case "equal" | "anything-but":
            if operand is None:
                return None
            if isinstance(operand, bool):
                return "boolean"
            return "float" if is_number(operand) else "string"
    return "string"
