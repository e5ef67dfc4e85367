"""The events of a batch as rows of tables: whose they are, what they do, and what they have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.joins.index.ranges import Mask
from tamis.joins.rows import Identity
from tamis.schema import EVENT_TYPE, OPERATION, Schema


@dataclass(slots=True)
class Arrivals:
    """The events of one table in a batch, read one after the other: as rows, whose `numbers` may turn out unused.

    `identities` is empty where the table has no key, `times` where no window asks for them.
    """

    own: pa.RecordBatch
    identities: list[Identity]
    times: list[int]
    numbers: list[int] = field(default_factory=list)
    unused: list[int] = field(default_factory=list)
    at: int = 0

    @classmethod
    def of(cls, name: str, batch: pa.RecordBatch, events: list[int], schema: Schema) -> Arrivals:
        table = schema.tables[name]
        own = own_rows(batch, name, schema).take(pa.array(events, pa.int64()))
        by = table.retention.by
        times = language_values(own, (by,))[0] if by is not None else []
        return cls(own, list(zip(*language_values(own, table.key), strict=True)), times)

    def next(self) -> int:
        self.at += 1
        return self.at - 1

    def identity(self, place: int, arrived: int) -> Identity:
        return self.identities[place] if self.identities else (arrived,)

    def time(self, place: int) -> int | None:
        return self.times[place] if self.times else None


def in_order(batch: pa.RecordBatch, schema: Schema) -> list[tuple[str | None, str | None]]:
    """The table and the operation of each event; no table for an event that is a row of none."""
    count = batch.num_rows
    operations = batch.column(OPERATION).to_pylist() if OPERATION in batch.schema.names else [None] * count
    default = [schema.default_event_type]
    types = batch.column(EVENT_TYPE).to_pylist() if EVENT_TYPE in batch.schema.names else [None] * count
    tables = (next((name for name in names or default if name in schema.tables), None) for names in types)
    return list(zip(tables, operations, strict=True))


def own_rows(batch: pa.RecordBatch, name: str, schema: Schema) -> pa.RecordBatch:
    """The batch with the table's attributes only, null where it lacks them."""
    attributes = schema.tables[name].attributes
    there = set(batch.schema.names)
    columns = [
        batch.column(one) if one in there else pa.nulls(batch.num_rows, schema.attributes[one].arrow_type)
        for one in attributes
    ]
    return pa.RecordBatch.from_arrays(columns, names=list(attributes))


def no_rows(name: str, schema: Schema) -> pa.RecordBatch:
    return own_rows(schema.to_arrow([]), name, schema)


def equal_rows(one: pa.RecordBatch, other: pa.RecordBatch) -> Mask:
    """Which rows of two batches of one form have the same content."""
    equal = np.ones(one.num_rows, np.bool_)
    for left, right in zip(one.columns, other.columns, strict=True):
        if pa.types.is_nested(left.type):
            same = np.array([a == b for a, b in zip(left.to_pylist(), right.to_pylist(), strict=True)], np.bool_)
        else:
            absent = pc.and_(pc.is_null(left), pc.is_null(right))
            same = np.asarray(pc.or_(pc.fill_null(pc.equal(left, right), False), absent))
        equal &= same
    return equal


def language_values(own: pa.RecordBatch, names: Sequence[str]) -> list[list[Any]]:
    """Columns as the language has their values: timestamps are microseconds."""
    columns = [own.column(name) for name in names]
    return [(pc.cast(one, pa.int64()) if pa.types.is_timestamp(one.type) else one).to_pylist() for one in columns]
