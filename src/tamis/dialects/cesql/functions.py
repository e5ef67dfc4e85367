"""Built-in functions of CESQL 1.0 (§3.5), its values and their casts; each always returns a value, even with an error.

The casts INT, BOOL and STRING are functions too. Calls are dispatched by name and number of arguments.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias
from typing import Literal as OneOf

# Values, errors, and the casts between types (CESQL 1.0, §3.1, §3.3, §3.7).

Value: TypeAlias = bool | int | str
"""A Boolean, an Integer of 32 bits, or a String. A Boolean is never taken for an Integer, though Python's `bool` is."""

Type: TypeAlias = OneOf["Boolean", "Integer", "String"]

ErrorKind: TypeAlias = OneOf[
    "parse", "math", "cast", "missingFunction", "functionEvaluation", "missingAttribute", "generic"
]

SMALLEST: Final = -(1 << 31)
LARGEST: Final = (1 << 31) - 1
ZERO: Final[dict[Type, Value]] = {"Boolean": False, "Integer": 0, "String": ""}

_INTEGER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
_LONGEST_INTEGER: Final = 1_000  # leading zeros are allowed, and Python takes long to read thousands of digits


@dataclass(frozen=True, slots=True)
class EvaluationError:
    """Error in the evaluation of an expression, at `text[start:end]`."""

    kind: ErrorKind
    message: str
    start: int
    end: int


def type_of(value: Value) -> Type:
    """Type of a value."""
    if isinstance(value, bool):
        return "Boolean"
    return "Integer" if isinstance(value, int) else "String"


def from_attribute(value: object) -> Value:
    """Value of an attribute to an expression: itself if its type is one of the three, else its text."""
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
    """Value in another type; None if it cannot be cast, in which case the type's zero value is used."""
    match target:
        case "String":
            return to_string(value)
        case "Integer":
            return _to_integer(value) if isinstance(value, str) else int(value)
        case "Boolean":
            return {"true": True, "false": False}.get(value.lower()) if isinstance(value, str) else value != 0


def to_string(value: Value) -> str:
    """Value as a String, which every value can be."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _to_integer(text: str) -> int | None:
    if len(text) > _LONGEST_INTEGER or _INTEGER.fullmatch(text) is None:
        return None
    number = int(text)
    return number if SMALLEST <= number <= LARGEST else None


Returned: TypeAlias = tuple[Value, ErrorKind | None]


@dataclass(frozen=True, slots=True)
class Function:
    """Definition of a name for one number of arguments, or for that number and more (`more` is then their type).

    A parameter of type None takes a value of any type as it is.
    """

    parameters: tuple[Type | None, ...]
    returns: Type
    invoke: Callable[..., Returned]
    more: Type | None = None

    def parameter(self, index: int) -> Type | None:
        """Type of the argument at the index."""
        return self.parameters[index] if index < len(self.parameters) else self.more

    def takes(self, count: int) -> bool:
        return count == len(self.parameters) or (self.more is not None and count > len(self.parameters))


def find_function(name: str, count: int) -> Function | None:
    """Function of that name (in upper case) that takes this number of arguments."""
    return next((function for function in FUNCTIONS.get(name, ()) if function.takes(count)), None)


def _sure(function: Callable[..., Value]) -> Callable[..., Returned]:
    """Wraps a function that has no errors."""
    return lambda *arguments: (function(*arguments), None)


def _left(text: str, count: int) -> Returned:
    return (text, "functionEvaluation") if count < 0 else (text[:count], None)


def _right(text: str, count: int) -> Returned:
    if count < 0:
        return text, "functionEvaluation"
    return text[max(0, len(text) - count) :], None


def _substring(text: str, position: int, length: int | None = None) -> Returned:
    if abs(position) > len(text) or (length is not None and length < 0):
        return "", "functionEvaluation"
    if position == 0:
        return "", None
    start = position - 1 if position > 0 else len(text) + position
    return text[start : None if length is None else start + length], None


def _absolute(number: int) -> Returned:
    return (LARGEST, "math") if number == SMALLEST else (abs(number), None)


def _cast(target: Type, zero: Value) -> Callable[[Value], Returned]:
    def invoke(value: Value) -> Returned:
        found = cast(value, target)
        return (zero, "cast") if found is None else (found, None)

    return invoke


def _joined(separator: str, texts: Sequence[str]) -> Returned:
    length = sum(map(len, texts)) + len(separator) * max(0, len(texts) - 1)
    return (separator.join(texts), None) if length <= _LONGEST else ("", "functionEvaluation")


def _stripped(text: str) -> str:
    return text.strip(_WHITESPACE)


# Unicode's White_Space property. Python's own strip() also takes the separators U+001C to U+001F, which are controls.
_WHITESPACE: Final = (
    "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)

_LONGEST: Final = 1 << 20  # an expression of a few thousand characters could otherwise ask for gigabytes

FUNCTIONS: Final[dict[str, tuple[Function, ...]]] = {
    "LENGTH": (Function(("String",), "Integer", _sure(len)),),
    "CONCAT": (Function((), "String", lambda *texts: _joined("", texts), more="String"),),
    "CONCAT_WS": (Function(("String",), "String", lambda separator, *texts: _joined(separator, texts), more="String"),),
    "LOWER": (Function(("String",), "String", _sure(str.lower)),),
    "UPPER": (Function(("String",), "String", _sure(str.upper)),),
    "TRIM": (Function(("String",), "String", _sure(_stripped)),),
    "LEFT": (Function(("String", "Integer"), "String", _left),),
    "RIGHT": (Function(("String", "Integer"), "String", _right),),
    "SUBSTRING": (
        Function(("String", "Integer"), "String", _substring),
        Function(("String", "Integer", "Integer"), "String", _substring),
    ),
    "ABS": (Function(("Integer",), "Integer", _absolute),),
    "INT": (Function((None,), "Integer", _cast("Integer", 0)),),
    "BOOL": (Function((None,), "Boolean", _cast("Boolean", False)),),
    "STRING": (Function((None,), "String", _sure(to_string)),),
}
"""Every overload by name."""
