"""DataFrames sent to the workers and back, with columns addressed by position, so that any column name will do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from tamis.errors import PipelineError
from tamis.pipeline.table.calling import Report
from tamis.pipeline.table.subscriptions import Snapshot
from tamis.pipeline.table.versions import Live
from tamis.pipeline.workers.charging import Form, Sieve
from tamis.pipeline.workers.inputs import DeadCount, Reader
from tamis.pipeline.workers.packing import COLUMNS, SEGMENT, SEGMENT_FILE, Packing
from tamis.schema import Schema
from tamis.schema.columns import holds_objects

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType, StructField


SUBSCRIPTION = "subscription"
SUBSCRIPTIONS = "subscriptions"
BINDINGS = "bindings"
VIOLATIONS = "violations"
REASON = "reason"
# Reserved column names; Spark compares them without case.
_OURS = (SUBSCRIPTION, SUBSCRIPTIONS, BINDINGS, VIOLATIONS, REASON)

Worker = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def mapped(df: DataFrame, columns: Sequence[str], worker: Worker, fields: Sequence[StructField]) -> DataFrame:
    """Applies a worker's function to these columns; returns a DataFrame with these fields.

    PySpark takes the dots of a column's name for nesting; under plain names in between none is seen.
    """
    from pyspark.sql.types import StructField, StructType

    _require_arrow(df, columns)
    answer = StructType([StructField(field.name, field.dataType, True) for field in fields])
    return plainly(df).select(*places(df, columns)).mapInArrow(worker, answer)


def _require_arrow(df: DataFrame, names: Sequence[str]) -> None:
    """Refuses columns that Spark does not send to Python; its own error names no column."""
    for name in names:
        kind = df.schema[name].dataType
        if _arrow_type(kind) is None:
            raise PipelineError(
                f"the column {name!r} is of type {kind.simpleString()}, which Spark does not send to Python; leave it "
                "out (keep=[...], or drop it), or cast it to a string"
            )


def _arrow_type(kind: DataType) -> pa.DataType | None:
    """Arrow type that Python receives for a Spark type; None for an unsupported one."""
    from pyspark.errors import PySparkTypeError
    from pyspark.sql.pandas.types import to_arrow_type

    try:
        return to_arrow_type(kind, timezone="UTC")
    except PySparkTypeError:
        return None


def plainly(df: DataFrame) -> DataFrame:
    """Frame with its columns renamed to c0, c1, …: Spark reads dots into names, and does not tell `A` from `a`."""
    return df.toDF(*(f"c{place}" for place in range(len(df.columns))))


def places(df: DataFrame, names: Sequence[str]) -> list[str]:
    """Names of these columns in `plainly(df)`."""
    return [f"c{df.columns.index(name)}" for name in names]


def chosen(df: DataFrame, names: Sequence[str]) -> DataFrame:
    """Selects these columns of a frame."""
    return plainly(df).select(*places(df, names)).toDF(*names)


def attribute_columns(df: DataFrame, schema: Schema) -> list[str]:
    """Columns that hold attributes: by their name, or structs, or lists of them, whose members are attributes by dotted
    name.
    """
    found = []
    for field in df.schema.fields:
        has_members = any(name.startswith(f"{field.name}.") for name in schema.attributes)
        # Python sees a struct in place of some types that Arrow has not, such as variants.
        kind = _arrow_type(field.dataType) or pa.null()
        if pa.types.is_struct(kind):
            if field.name in schema.attributes and not has_members:
                # Its members would be names that the schema does not have, and the attribute absent without a word.
                raise PipelineError(
                    f"the column {field.name!r} is of type {field.dataType.simpleString()}, and the attribute takes "
                    f"{schema.attributes[field.name].domain.kind}: select a member in its place, cast it, or rename it"
                )
            if has_members:
                found.append(field.name)
        elif field.name in schema.attributes or (has_members and holds_objects(kind)):
            found.append(field.name)
    if not found:
        raise PipelineError(
            f"none of the columns ({', '.join(df.columns)}) is an attribute of the schema "
            f"({', '.join(schema.attributes)}); for a column of JSON texts say json='…'"
        )
    return found


def text_column(df: DataFrame, name: str) -> str:
    """Column of that name, which must hold texts or bytes."""
    from pyspark.sql.types import BinaryType, StringType

    if name not in df.columns:
        raise PipelineError(f"there is no column {name!r} of JSON texts; there are {', '.join(df.columns)}")
    if not isinstance(df.schema[name].dataType, StringType | BinaryType):
        raise PipelineError(f"the column {name!r} holds {df.schema[name].dataType.simpleString()}, not JSON texts")
    return name


def kept_columns(df: DataFrame, keep: Sequence[str] | None, new: Sequence[str]) -> list[str]:
    """Columns to keep, all by default; none of them may have the name of a new one."""
    repeated = sorted({name for name in df.columns if df.columns.count(name) > 1})
    if repeated:
        raise PipelineError(f"the column {repeated[0]!r} is there more than once; rename one of them")
    kept = df.columns if keep is None else list(keep)
    unknown = [name for name in kept if name not in df.columns]
    if unknown:
        raise PipelineError(f"there is no column {unknown[0]!r} to keep; there are {', '.join(df.columns)}")
    taken = {*kept, *(name for name in _OURS if name in {one.lower() for one in kept})}
    clash = [name for name in new if name in taken]
    if clash:
        raise PipelineError(f"the column {clash[0]!r} would be there twice; rename it, or leave it out of keep")
    return kept


# Matching of a DataFrame of events, shared by `match` and `stream`.


def sieved(
    events: DataFrame,
    source: Snapshot | Live,
    *,
    keep: Sequence[str] | None,
    numbers: bool = False,
    every: bool = True,
    pairs: bool = False,
    check: bool = False,
    json: str | None = None,
    ignore_unknown: bool = False,
    judged: bool = False,
    dead: DeadCount | None = None,
    attributes: bool = True,
    bindings: Form | None = None,
    packing: Packing | None = None,
) -> DataFrame:
    """Matches events in workers: the kept columns, the `attributes` if they are parsed from `json`, `subscriptions`,
    `bindings` beside them if asked for, and `violations` if checked.

    With `pairs` a row a match instead, and the one `subscription`; rows that match nothing then have none, checked or
    not, so the two do not go together. With `packing` matches come as a `segment` or the name of a `segment_file`, in
    rows of their own, beside those of dead ones; the columns are then those of a log's records.
    """
    from pyspark.sql.types import ArrayType, BinaryType, IntegerType, MapType, StringType, StructField

    id_type = IntegerType() if numbers else StringType()
    if packing is not None:
        matched = [StructField(SEGMENT, BinaryType()), StructField(SEGMENT_FILE, StringType())]
    else:
        matched = [
            StructField(SUBSCRIPTION, id_type) if pairs else StructField(SUBSCRIPTIONS, ArrayType(id_type, False))
        ]
    if bindings is not None:
        bound = StringType() if bindings == "json" else MapType(StringType(), StringType())
        matched.append(StructField(BINDINGS, bound if pairs else ArrayType(bound)))

    read = attribute_columns(events, source.schema) if json is None else [text_column(events, json)]
    parsed = attribute_fields(source.schema) if json is not None and attributes else []
    added = [
        *parsed,
        *matched,
        *([violations_field()] if check else []),
    ]
    kept = kept_columns(events, keep, [field.name for field in added])
    columns = [name for name in events.columns if name in kept or name in read]
    reader = Reader(
        source.schema, tuple(map(columns.index, read)), tuple(read), check, json is not None, ignore_unknown, judged
    )
    report = None if source.crew is None else Report.of(events.sparkSession.sparkContext)
    places = tuple(map(columns.index, kept))
    records = () if packing is None else tuple(map(columns.index, COLUMNS))
    sieve = Sieve(source, reader, places, numbers, every, pairs, dead, attributes, bindings, report, packing, records)
    return mapped(events, columns, sieve.run, [*(events.schema[name] for name in kept), *added])


def attribute_fields(schema: Schema) -> list[StructField]:
    """Spark field of every attribute, in its canonical form."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return list(from_arrow_schema(schema.arrow_schema).fields)


def violations_field() -> StructField:
    """Spark field of a row's violations."""
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import ArrayType, StructField

    from tamis.pipeline.workers.inputs import VIOLATION

    return StructField(VIOLATIONS, ArrayType(from_arrow_type(VIOLATION), False))
