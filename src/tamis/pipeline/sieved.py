"""A DataFrame of events put through a sieve: what `match` and `stream` have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tamis.pipeline.calling.report import Report
from tamis.pipeline.frames import (
    BINDINGS,
    SUBSCRIPTION,
    SUBSCRIPTIONS,
    VIOLATIONS,
    attribute_columns,
    kept_columns,
    mapped,
    text_column,
)
from tamis.pipeline.table.batch_versions import Live
from tamis.pipeline.table.snapshot import Snapshot
from tamis.pipeline.workers.dead_count import DeadCount
from tamis.pipeline.workers.lists import Form
from tamis.pipeline.workers.reading import Reader
from tamis.pipeline.workers.sieve import Sieve
from tamis.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructField


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
    dead: DeadCount | None = None,
    attributes: bool = True,
    bindings: Form | None = None,
) -> DataFrame:
    """The kept columns, the `attributes` if they are parsed from `json`, `subscriptions`, `bindings` beside them if
    asked for, and `violations` if checked.

    With `pairs` a row a match instead, and the one `subscription`; rows that match nothing then have none, checked or
    not, so the two do not go together.
    """
    from pyspark.sql.types import ArrayType, IntegerType, MapType, StringType, StructField

    id_type = IntegerType() if numbers else StringType()
    matched = [StructField(SUBSCRIPTION, id_type) if pairs else StructField(SUBSCRIPTIONS, ArrayType(id_type, False))]
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
        source.schema, tuple(map(columns.index, read)), tuple(read), check, json is not None, ignore_unknown
    )
    report = None if source.crew is None else Report.of(events.sparkSession.sparkContext)
    places = tuple(map(columns.index, kept))
    sieve = Sieve(source, reader, places, numbers, every, pairs, dead, attributes, bindings, report)
    return mapped(events, columns, sieve.run, [*(events.schema[name] for name in kept), *added])


def attribute_fields(schema: Schema) -> list[StructField]:
    """A Spark field for every attribute, in its canonical form."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return list(from_arrow_schema(schema.arrow_schema).fields)


def violations_field() -> StructField:
    """The Spark field that says what is wrong with a row."""
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import ArrayType, StructField

    from tamis.pipeline.workers.reading import VIOLATION

    return StructField(VIOLATIONS, ArrayType(from_arrow_type(VIOLATION), False))
