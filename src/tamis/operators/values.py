"""Values that variables are bound to: of five kinds, which do not compare with each other.

Within this room they are as the language has them: int, float, str, bool, and `Moment` for timestamps. Operators and
users see datetimes instead of `Moment`s.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeAlias

import numpy as np

from tamis.errors import OperatorError, shown
from tamis.language.calls import Moment, ParameterKind
from tamis.schema.timestamps import from_datetime, to_datetime

Bindable: TypeAlias = int | float | str | bool | Moment
Key: TypeAlias = tuple[int, Any]

_INT_MIN, _INT_MAX = -(1 << 63), (1 << 63) - 1
_NUMBER, _STRING, _BOOLEAN, _MOMENT = range(4)
_WANTED: dict[ParameterKind, str] = {
    "integer": "an int",
    "float": "a number",
    "string": "a str",
    "boolean": "a bool",
    "timestamp": "a datetime",
    "any": "a number, str, bool or datetime",
}


def bindable(value: object, kind: ParameterKind) -> Bindable:
    """Value that an operator bound a variable to, checked; `OperatorError` says what is wrong with it."""
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64):
        value = value.item()
    found: Bindable | None = None
    if isinstance(value, bool):
        found = value if kind in ("boolean", "any") else None
    elif isinstance(value, int):
        if kind in ("integer", "float", "any") and _INT_MIN <= value <= _INT_MAX:
            found = value
    elif isinstance(value, float):
        if kind in ("float", "any") and not math.isnan(value):
            found = value
        elif kind == "integer" and value.is_integer() and abs(value) < 2.0**63:
            found = int(value)
    elif isinstance(value, str):
        found = str(value) if kind in ("string", "any") else None
    elif isinstance(value, datetime) and kind in ("timestamp", "any"):
        moment = from_datetime(value)
        found = None if moment is None else Moment(moment)
    if found is None:
        raise OperatorError(
            f"bound a variable to {shown(value, 60)}, which is not {_WANTED[kind]} as filters know them"
        )
    return found


def key_of(value: Bindable) -> Key:
    """Key by which a value is compared and joined: equal for 1 and 1.0, different for 1 and TRUE."""
    match value:
        case bool():
            return _BOOLEAN, value
        case int() | float():
            return _NUMBER, value
        case str():
            return _STRING, value
    return _MOMENT, value.microseconds


def outside(value: Bindable | None) -> Any:
    """The value as operators and users see it; None stays None."""
    return moment_outside(value) if isinstance(value, Moment) else value


def moment_outside(moment: Moment) -> object:
    assert isinstance(moment.microseconds, int)
    return to_datetime(moment.microseconds)


# What variables are bound to, as JSON.


def json_bindings(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Bindings as JSON has them: moments in ISO form, infinite numbers as texts, texts of whole characters only.

    >>> json_bindings({"people": 57, "far": float("inf"), "name": "a\\ud800"})
    {'people': 57, 'far': 'inf', 'name': 'a?'}
    """
    return {name: json_value(value) for name, value in variables.items()}


def json_value(value: Any) -> Any:
    """One of them."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
