"""The values of events as the language sees them, read out of canonical Arrow batches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from tamis.errors import EventError, Violation
from tamis.schema import EVENT_TYPE, Schema

Values: TypeAlias = Mapping[str, Sequence[Any]]
"""Attribute → its values in one event; absent: missing or empty."""


def event_values(batch: pa.RecordBatch, schema: Schema) -> list[dict[str, list[Any]]]:
    """The rows of a canonical batch as the language sees them: a list of values for every attribute that is present."""
    rows: list[dict[str, list[Any]]] = [{} for _ in range(len(batch))]
    for name in schema.attributes:
        if name not in batch.schema.names:
            continue
        for number, listed in enumerate(_in_language(batch.column(name)).to_pylist()):
            values = [value for value in (listed if isinstance(listed, list) else [listed]) if value is not None]
            if any(isinstance(value, float) and math.isnan(value) for value in values):
                raise EventError([Violation(number, name, "domain", math.nan, f"{name} is NaN, which is no value")])
            if values:
                rows[number][name] = values
    if schema.default_event_type is not None:
        for row in rows:
            row.setdefault(EVENT_TYPE, [schema.default_event_type])
    return rows


def _in_language(column: pa.Array) -> pa.Array:
    """Timestamps as microseconds: not every one of them is a Python datetime."""
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.int64())
    if pa.types.is_list(column.type) and pa.types.is_timestamp(column.type.value_type):
        return column.cast(pa.list_(pa.int64()))
    return column
