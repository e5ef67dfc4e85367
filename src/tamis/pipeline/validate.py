"""`validate`: events that satisfy the schema, and dead letters that say why they do not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from tamis.pipeline.frames import (
    REASON,
    VIOLATIONS,
    attribute_columns,
    attribute_fields,
    kept_columns,
    mapped,
    text_column,
    violations_field,
)
from tamis.pipeline.workers.reading import Reader, canonical
from tamis.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Validated(NamedTuple):
    """Every row of the input is in exactly one of the two. `dead` has the row as it came, `violations` (attribute,
    rule, value and message of each thing wrong) and `reason`, the messages in one text."""

    valid: DataFrame
    dead: DataFrame


def validate(events: DataFrame, schema: Schema, json: str | None = None, *, ignore_unknown: bool = False) -> Validated:
    """Checks events against R1–R3 and their attributes' domains; batch or streaming.

    With `json`, that column holds JSON texts, one event each (strings or bytes, as from text files or Kafka); `valid`
    then has the attributes as columns in place of the text. A text with names that the schema does not have is dead,
    unless `ignore_unknown`. Columns that are no attributes are passed through.

    The two frames are computed apart, each by a pass over the events; `stream` makes both of one pass.
    """
    read = attribute_columns(events, schema) if json is None else [text_column(events, json)]
    parsed = [] if json is None else attribute_fields(schema)
    columns = kept_columns(events, None, [VIOLATIONS, REASON])
    kept = [name for name in columns if name != json]
    kept_columns(events, kept, [field.name for field in parsed])
    reader = Reader(schema, tuple(map(columns.index, read)), tuple(read), True, json is not None, ignore_unknown)
    valid = mapped(
        events,
        columns,
        _Checker(reader, tuple(map(columns.index, kept))).valid,
        [*(events.schema[name] for name in kept), *parsed],
    )
    everything = tuple(range(len(columns)))
    dead = mapped(events, columns, _Checker(reader, everything).dead, [*events.schema.fields, violations_field()])
    return Validated(valid, with_reason(dead))


def with_reason(dead: DataFrame) -> DataFrame:
    """Adds the messages of a row's violations as one text."""
    from pyspark.sql import functions

    return dead.withColumn(REASON, functions.array_join(functions.col(VIOLATIONS)["message"], "; "))


@dataclass(frozen=True, slots=True)
class _Checker:
    """Validation in a worker: keeps the valid rows of its batches, or the dead ones."""

    reader: Reader
    kept: tuple[int, ...]

    def valid(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            read = self.reader.read(batch)
            rows = None if len(read.rows) == batch.num_rows else pa.array(read.rows)
            columns = [batch.column(place) if rows is None else batch.column(place).take(rows) for place in self.kept]
            if self.reader.json:
                columns += canonical(self.reader.schema, read.events)
            yield _batch(columns)

    def dead(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            read = self.reader.read(batch)
            rows = pa.array(read.dead)
            yield _batch([column.take(rows) for column in (*map(batch.column, self.kept), read.violations)])


def _batch(columns: list[pa.Array]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(columns, [f"c{place}" for place in range(len(columns))])
