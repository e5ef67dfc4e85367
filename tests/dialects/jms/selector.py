"""Selectors evaluated directly on a message, as JMS 2.0 §3.8.1 has it: the converter is held to this.

It works on generated trees (tuples) rather than on text, so it shares no parser with the converter. True, False, or
None for *unknown*. Integers are Java's longs, floats its doubles.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

Tree = tuple[Any, ...]


def selects(tree: Tree, message: Mapping[str, Any]) -> bool:
    return condition(tree, message) is True


def condition(tree: Tree, message: Mapping[str, Any]) -> bool | None:
    match tree:
        case ("not", inner):
            value = condition(inner, message)
            return None if value is None else not value
        case ("and", left, right):
            values = (condition(left, message), condition(right, message))
            return False if False in values else None if None in values else True
        case ("or", left, right):
            values = (condition(left, message), condition(right, message))
            return True if True in values else None if None in values else False
        case ("is null", name):
            return message.get(name) is None
        case ("is true", name):
            value = message.get(name)
            assert value is None or isinstance(value, bool)
            return value
        case ("between", subject, low, high):
            return condition(("and", ("compare", subject, ">=", low), ("compare", subject, "<=", high)), message)
        case ("in", name, values):
            value = message.get(name)
            return None if value is None else value in values
        case ("like", name, pattern, escape):
            value = message.get(name)
            return None if value is None else _like(pattern, escape, value)
        case ("compare", left, operator, right):
            return _compare(operand(left, message), operator, operand(right, message))
    raise AssertionError(tree)


def operand(tree: Any, message: Mapping[str, Any]) -> Any:
    match tree:
        case ("value", value):
            return value
        case ("name", name):
            return message.get(name)
        case ("minus", inner):
            value = operand(inner, message)
            return None if value is None else -value
        case (operator, left, right):
            a, b = operand(left, message), operand(right, message)
            if a is None or b is None:
                return None
            if operator == "/" and isinstance(a, int) and isinstance(b, int):
                return int(a / b) if abs(a) < 2**50 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            if isinstance(a, float) or isinstance(b, float):
                a, b = float(a), float(b)
            return {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: a / b}[operator]()
    raise AssertionError(tree)


def _compare(a: Any, operator: str, b: Any) -> bool | None:
    if a is None or b is None:
        return None
    if _kind(a) != _kind(b):
        return False
    if isinstance(a, float) or isinstance(b, float):
        a, b = float(a), float(b)
    return bool({"=": lambda: a == b, "<>": lambda: a != b, "<": lambda: a < b, "<=": lambda: a <= b,
                 ">": lambda: a > b, ">=": lambda: a >= b}[operator]())  # fmt: skip


def _kind(value: Any) -> str:
    return "boolean" if isinstance(value, bool) else "string" if isinstance(value, str) else "number"


def _like(pattern: str, escape: str | None, value: str) -> bool:
    written = ""
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            written += re.escape(next(characters))
        else:
            written += {"%": "(?s:.*)", "_": "(?s:.)"}.get(character, re.escape(character))
    return re.fullmatch(written, value) is not None


def text(tree: Any) -> str:
    """The tree as a selector."""
    match tree:
        case ("not", inner):
            return f"NOT ({text(inner)})"
        case ("and" | "or" as word, left, right):
            return f"({text(left)}) {word} ({text(right)})"
        case ("is null", name):
            return f"{name} IS NULL"
        case ("is true", name):
            return str(name)
        case ("between", subject, low, high):
            return f"{text(subject)} BETWEEN {text(low)} AND {text(high)}"
        case ("in", name, values):
            return f"{name} In ({', '.join(quoted(value) for value in values)})"
        case ("like", name, pattern, escape):
            return f"{name} LIKE {quoted(pattern)}" + ("" if escape is None else f" ESCAPE {quoted(escape)}")
        case ("compare", left, operator, right):
            return f"{text(left)} {operator} {text(right)}"
        case ("value", bool() as value):
            return str(value)
        case ("value", str() as value):
            return quoted(value)
        case ("value", value):
            return repr(value) if value >= 0 else f"({value!r})"
        case ("name", name):
            return str(name)
        case ("minus", inner):
            return f"-({text(inner)})"
        case (operator, left, right):
            return f"({text(left)} {operator} {text(right)})"
    raise AssertionError(tree)


def quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
