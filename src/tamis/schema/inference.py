"""Schema inference from existing data: Arrow tables, Spark DataFrames, Parquet files.

DataFrames are seen by the shape of their `.schema`, so that PySpark is not imported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tamis.errors import SchemaError
from tamis.schema.columns import holds_objects, is_list
from tamis.schema.domains import EVENT_TYPE
from tamis.schema.tables import within

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
    """True if this is a Spark DataFrame, classic or Connect: its schema can write itself as JSON values."""
    return hasattr(getattr(source, "schema", None), "jsonValue")


def to_arrow_schema(frame: Any) -> pa.Schema:
    """Arrow schema of a Spark frame; a type that no domain holds, or Arrow does not have, becomes null."""
    return pa.schema([_field(field) for field in frame.schema.jsonValue()["fields"]])


def distinct_texts(frame: Any, column: str, kind: pa.DataType, limit: int) -> list[str]:
    """Distinct values of a column of strings or of arrays of strings, up to a limit."""
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


_MOST_EVENT_TYPES = 1000


def infer(source: object, event_type: str | Sequence[str], skip_unsupported: bool) -> dict[str, object]:
    """Infers the dict form of a schema that the source's rows satisfy."""
    data: Any = _opened(source)
    columns = to_arrow_schema(data) if is_spark(data) else data if isinstance(data, pa.Schema) else data.schema
    attributes: dict[str, str] = {}
    annotations: dict[str, str | list[str]] = {}
    unsupported: list[str] = []
    for name, kind, nullable in _leaves(columns, "", False):
        if name == EVENT_TYPE:
            continue
        item = kind.value_type if is_list(kind) else kind
        domain = _domain(item)
        if domain is None:
            unsupported.append(f"{name} ({kind})")
            continue
        if name in attributes:
            raise SchemaError("two columns come to this name", within("attributes", name), "rename one of them")
        attributes[name] = domain
        # An empty list is no value, so a column of lists can always be absent.
        annotations[name] = ["optional", "multiple"] if is_list(kind) else "optional" if nullable else "mandatory"
    if unsupported and not skip_unsupported:
        raise SchemaError(
            f"no domain holds these columns: {', '.join(unsupported)}",
            remedy="convert them, or leave them out with skip_unsupported=True",
        )
    names = _event_types(data, columns, event_type)
    return {"attributes": attributes, "event_types": {name: dict(annotations) for name in names}}


def _opened(source: object) -> object:
    if not isinstance(source, str | Path):
        if not (is_spark(source) or isinstance(getattr(source, "schema", source), pa.Schema)):
            raise SchemaError(
                f"cannot infer a schema from {type(source).__name__}",
                remedy="give an Arrow table or schema, a Spark DataFrame, or the path of Parquet files",
            )
        return source
    try:
        import pyarrow.dataset as pa_dataset  # loads pandas where there is one: only for those who need it

        found = pa_dataset.dataset(str(source), format="parquet", partitioning="hive")
        if not found.files:
            raise FileNotFoundError(f"no Parquet files in {source}")
    except (OSError, pa.ArrowInvalid) as error:
        raise SchemaError(
            f"cannot read Parquet: {error}", str(source), "give a Parquet file or a folder of them"
        ) from None
    return found


def _leaves(fields: Any, prefix: str, nullable: bool) -> Iterator[tuple[str, pa.DataType, bool]]:
    for field in fields:
        kind = field.type.storage_type if isinstance(field.type, pa.ExtensionType) else field.type
        name, can_be_null = prefix + field.name, nullable or field.nullable
        if pa.types.is_struct(kind):
            yield from _leaves(kind, f"{name}.", can_be_null)
        elif holds_objects(kind):
            yield from ((leaf, _listed(each), True) for leaf, each, _ in _leaves(_objects(kind), f"{name}.", True))
        else:
            yield name, kind, can_be_null


def _objects(kind: pa.DataType) -> pa.StructType:
    """Type of the objects in lists, however many lists there are around them."""
    if isinstance(kind, pa.ExtensionType):
        return _objects(kind.storage_type)
    return kind if pa.types.is_struct(kind) else _objects(kind.value_type)


def _listed(kind: pa.DataType) -> pa.DataType:
    return kind if is_list(kind) else pa.list_(kind)


def _domain(kind: pa.DataType) -> str | None:
    if pa.types.is_dictionary(kind):
        return _domain(kind.value_type)
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_decimal(kind):
        return "integer" if kind.scale <= 0 and kind.precision - kind.scale <= 18 else "float"
    if pa.types.is_floating(kind):
        return "float"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return "string"
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return "timestamp"
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return "binary"
    return "binary" if pa.types.is_fixed_size_binary(kind) else None


def _event_types(data: Any, columns: pa.Schema, given: str | Sequence[str]) -> list[str]:
    if EVENT_TYPE not in columns.names or isinstance(data, pa.Schema) or not isinstance(given, str):
        return [given] if isinstance(given, str) else list(given)
    if is_spark(data):
        names = distinct_texts(data, EVENT_TYPE, columns.field(EVENT_TYPE).type, _MOST_EVENT_TYPES + 1)
    else:
        names = _distinct_texts(data)
    if len(names) > _MOST_EVENT_TYPES:
        raise SchemaError(
            f"column {EVENT_TYPE!r} has more than {_MOST_EVENT_TYPES} different values",
            EVENT_TYPE,
            "rename the column if it does not hold the types of events",
        )
    return names or [given]


def _distinct_texts(data: Any) -> list[str]:
    in_memory = isinstance(data, pa.Table | pa.RecordBatch)
    batches = [data.select([EVENT_TYPE])] if in_memory else data.to_batches(columns=[EVENT_TYPE])
    names: set[str] = set()
    for batch in batches:
        column = batch.column(EVENT_TYPE)
        items = pc.list_flatten(column) if is_list(column.type) else column
        names.update(name for name in pc.unique(items).to_pylist() if isinstance(name, str))
        if len(names) > _MOST_EVENT_TYPES:
            break
    return sorted(names)
