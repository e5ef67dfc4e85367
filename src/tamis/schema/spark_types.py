"""Spark DataFrames as `Schema.infer` sees them: by the shape of their `.schema`, so that PySpark is not imported."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

_PLAIN = {
    "string": pa.string(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}


def is_spark(source: object) -> bool:
    """Whether this is a Spark DataFrame, classic or Connect: it has a schema that can write itself as JSON values."""
    return hasattr(getattr(source, "schema", None), "jsonValue")


def to_arrow_schema(frame: Any) -> pa.Schema:
    """The frame's columns; a type that no domain holds becomes null, as does one without a counterpart in Arrow."""
    return pa.schema([_field(field) for field in frame.schema.jsonValue()["fields"]])


def distinct_texts(frame: Any, column: str, kind: pa.DataType, limit: int) -> list[str]:
    """The different values of a column of strings or of arrays of strings, up to a limit."""
    expression = f"explode(`{column}`) AS name" if pa.types.is_list(kind) else f"`{column}` AS name"
    rows = frame.selectExpr(expression).distinct().limit(limit).collect()
    return sorted(row["name"] for row in rows if isinstance(row["name"], str))


def _field(field: dict[str, Any]) -> pa.Field:
    return pa.field(field["name"], _type(field["type"]), field["nullable"])


def _type(kind: Any) -> pa.DataType:
    if isinstance(kind, str):
        if kind.startswith("decimal("):
            precision, scale = kind[len("decimal(") : -1].split(",")
            return pa.decimal128(int(precision), int(scale))
        if kind.startswith(("varchar(", "char(", "string ")):
            return pa.string()
        return _PLAIN.get(kind, pa.null())
    if kind["type"] == "struct":
        return pa.struct([_field(field) for field in kind["fields"]])
    if kind["type"] == "array":
        return pa.list_(_type(kind["elementType"]))
    return pa.null()
