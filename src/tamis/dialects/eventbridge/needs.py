"""Which attributes event patterns ask for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tamis.dialects.conversion import ConversionError
from tamis.dialects.eventbridge.numbers import is_number
from tamis.dialects.eventbridge.reading import Number, Test, fields, read
from tamis.dialects.needs import Needs, need

_ARRAYS = frozenset(["resources"])
"""What EventBridge's own envelope gives as an array. A pattern does not say which of its fields are arrays."""


def needed(rules: Iterable[Mapping[str, Any] | str], *, multiple: Iterable[str] = ()) -> Needs:
    """The attributes of all patterns that can be read; `multiple` names those that come as arrays."""
    arrays = _ARRAYS | frozenset(multiple)
    needs: Needs = {}
    for rule in rules:
        try:
            found = list(fields(read(rule)))
        except ConversionError:
            continue  # `convert` tells of it
        for field in found:
            wanted = need(needs, field.name)
            wanted.multiple |= field.name in arrays
            for domain in {domain for test in field.tests if (domain := _domain(test)) is not None}:
                wanted.ask(domain)
            for value in (value for test in field.tests for value in _numbers(test)):
                wanted.name_number(value)
    return needs


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
