"""Values into and out of operators: inputs from the events of a batch, in Python or Arrow; values bound to variables,
checked, keyed, and as JSON.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.arrays import Int64s
from tamis.errors import OperatorError, shown
from tamis.language.calls import Moment, ParameterKind
from tamis.operators.registry import Resolved
from tamis.schema import EVENT_TYPE, Schema
from tamis.schema.columns import present
from tamis.schema.timestamps import from_datetime, to_datetime
from tamis.schema.values import shown_bytes

# Values that variables are bound to: of five kinds, which do not compare with each other.
#
# Within this room they are as the language has them: int, float, str, bool, and `Moment` for timestamps. Operators and
# users see datetimes instead of `Moment`s.

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
    """Value that an operator bound a variable to, checked; `OperatorError` describes a fault."""
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
    """Value in the form that operators and users see; None stays None."""
    return moment_outside(value) if isinstance(value, Moment) else value


def moment_outside(moment: Moment) -> object:
    assert isinstance(moment.microseconds, int)
    return to_datetime(moment.microseconds)


# Bindings as JSON.


def json_bindings(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Bindings as JSON has them: moments in ISO form, infinite numbers as texts, texts of whole characters only.

    >>> json_bindings({"people": 57, "far": float("inf"), "name": "a\\ud800"})
    {'people': 57, 'far': 'inf', 'name': 'a?'}
    """
    return {name: json_value(value) for name, value in variables.items()}


def json_value(value: Any) -> Any:
    """JSON form of one binding."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


class Inputs:
    """Inputs of operators from one canonical batch, cached for the next operator that reads the same."""

    def __init__(self, batch: pa.RecordBatch, schema: Schema) -> None:
        self._batch = batch
        self._schema = schema
        self._fit: dict[tuple[str, ...], npt.NDArray[np.bool_] | None] = {}
        self._columns: dict[str, pa.Array] = {}
        self._fields: dict[str, list[list[Bindable]]] = {}
        self._events: dict[int, dict[str, Any]] = {}

    def __len__(self) -> int:
        return len(self._batch)

    def fit(self, resolved: Resolved, rows: Int64s) -> Int64s:
        """Places of those among the rows that have every input of the operator."""
        names = resolved.attributes
        if names not in self._fit:
            fit = np.ones(len(self._batch), np.bool_)
            for name in names:
                fit &= present(self._column(name))
            self._fit[names] = None if fit.all() else fit
        known = self._fit[names]
        return np.arange(len(rows), dtype=np.int64) if known is None else np.flatnonzero(known[rows])

    def arrays(self, resolved: Resolved, rows: Int64s) -> list[Any]:
        """Arrow data for a batch operator, an array (or the whole batch) for each of its inputs."""
        return [
            _taken(self._typed if given.attribute is None else self._column(given.attribute), rows)
            for given in resolved.inputs
        ]

    def values(self, resolved: Resolved, rows: Int64s) -> list[tuple[Any, ...]]:
        """Python values for a scalar operator, a tuple a row."""
        columns = [
            [self.event(row) for row in rows.tolist()]
            if given.attribute is None
            else _python(_taken(self._column(given.attribute), rows))
            for given in resolved.inputs
        ]
        return list(zip(*columns, strict=True)) if columns else [()] * len(rows)

    def event(self, row: int) -> dict[str, Any]:
        """One event as a dict: present values by dotted name, a list for multiple attributes."""
        if row not in self._events:
            names = self._typed.schema.names
            cells = ((name, _python(self._typed.column(name).slice(row, 1))[0]) for name in names)
            self._events[row] = {name: cell for name, cell in cells if cell is not None}
        # Lists too are the caller's own: a function that changes what it was given must not change what others see.
        return {name: cell.copy() if isinstance(cell, list) else cell for name, cell in self._events[row].items()}

    def field(self, row: int, attribute: str) -> Sequence[Bindable]:
        """Values of an attribute as constraints compare them; empty where it is absent."""
        if attribute not in self._fields:
            self._fields[attribute] = _comparable(self._column(attribute))
        return self._fields[attribute][row]

    def shown(self, row: int, attribute: str) -> list[Any]:
        """Values of an attribute, to be shown."""
        values: list[Any] = _comparable(self._column(attribute).slice(row, 1))[0]
        return [shown_bytes(value) if isinstance(value, bytes) else outside(value) for value in values]

    def _column(self, attribute: str) -> pa.Array:
        if attribute not in self._columns:
            there = attribute in self._typed.schema.names
            missing = self._schema.attributes[attribute].arrow_type
            self._columns[attribute] = self._typed.column(attribute) if there else pa.nulls(len(self._batch), missing)
        return self._columns[attribute]

    @cached_property
    def _typed(self) -> pa.RecordBatch:
        """Batch with the default event type where events name none."""
        default = self._schema.default_event_type
        if default is None:
            return self._batch
        names = self._batch.schema.names
        given = self._batch.column(EVENT_TYPE).to_pylist() if EVENT_TYPE in names else [None] * len(self._batch)
        types = pa.array([some or [default] for some in given], pa.list_(pa.string()))
        columns = {EVENT_TYPE: types} | {n: self._batch.column(n) for n in names if n != EVENT_TYPE}
        return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def _taken(data: Any, rows: Int64s) -> Any:
    """Rows of an array or a batch; not copied where they follow each other. `rows` ascend."""
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1:
        return data.slice(int(rows[0]), len(rows))
    return data.take(pa.array(rows))


def _python(column: pa.Array) -> list[Any]:
    """Python values; a timestamp is a datetime, or the number of microseconds where no calendar reaches."""
    if pa.types.is_timestamp(column.type):
        return [_moment(cell) for cell in column.cast(pa.int64()).to_pylist()]
    if pa.types.is_list(column.type) and pa.types.is_timestamp(column.type.value_type):
        lists = column.cast(pa.list_(pa.int64())).to_pylist()
        return [None if cells is None else [_moment(cell) for cell in cells] for cells in lists]
    found: list[Any] = column.to_pylist()
    return found


def _moment(microseconds: int | None) -> object:
    return None if microseconds is None else to_datetime(microseconds)


def _comparable(column: pa.Array) -> list[list[Bindable]]:
    listed = pa.types.is_list(column.type)
    moments = pa.types.is_timestamp(column.type.value_type if listed else column.type)
    if moments:
        column = column.cast(pa.list_(pa.int64()) if listed else pa.int64())
    cells = column.to_pylist()
    rows = [cell or [] for cell in cells] if listed else [[] if cell is None else [cell] for cell in cells]
    return [[Moment(value) for value in row] for row in rows] if moments else rows
