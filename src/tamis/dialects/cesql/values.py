"""Values of CESQL, what can go wrong with them, and the casts between their types (CESQL 1.0, §3.1, §3.3, §3.7)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Value: TypeAlias = bool | int | str
"""A Boolean, an Integer of 32 bits, or a String. A Boolean is never taken for an Integer, though Python's `bool` is."""

Type: TypeAlias = Literal["Boolean", "Integer", "String"]

ErrorKind: TypeAlias = Literal[
    "parse", "math", "cast", "missingFunction", "functionEvaluation", "missingAttribute", "generic"
]

SMALLEST: Final = -(1 << 31)
LARGEST: Final = (1 << 31) - 1
ZERO: Final[dict[Type, Value]] = {"Boolean": False, "Integer": 0, "String": ""}

_INTEGER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
_LONGEST_INTEGER: Final = 1_000  # leading zeros are allowed, and Python takes long to read thousands of digits


@dataclass(frozen=True, slots=True)
class EvaluationError:
    """One thing that went wrong while an expression was evaluated, at `text[start:end]`."""

    kind: ErrorKind
    message: str
    start: int
    end: int


def type_of(value: Value) -> Type:
    """The type of a value."""
    if isinstance(value, bool):
        return "Boolean"
    return "Integer" if isinstance(value, int) else "String"


def from_attribute(value: object) -> Value:
    """What an attribute's value is to an expression: itself if its type is one of the three, else its text."""
    match value:
        case bool() | str():
            return value
        case int() if SMALLEST <= value <= LARGEST:
            return value
        case int() | float():
            return str(value)
        case dict() | list():
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        case _:
            return str(value)


def cast(value: Value, target: Type) -> Value | None:
    """The value in another type; None if it cannot be cast, in which case the type's zero value stands for it."""
    match target:
        case "String":
            return to_string(value)
        case "Integer":
            return _to_integer(value) if isinstance(value, str) else int(value)
        case "Boolean":
            return {"true": True, "false": False}.get(value.lower()) if isinstance(value, str) else value != 0


def to_string(value: Value) -> str:
    """The value as a String, which every value can be."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _to_integer(text: str) -> int | None:
    if len(text) > _LONGEST_INTEGER or _INTEGER.fullmatch(text) is None:
        return None
    number = int(text)
    return number if SMALLEST <= number <= LARGEST else None
