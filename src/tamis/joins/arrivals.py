"""Rows of tables: read from a batch of events, kept in Arrow by number, found by identity, and shown as results of
joins.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import Bools, Int64s
from tamis.joins.index.tables import NO_ROW
from tamis.language.joins.join import Column, Signature
from tamis.matching.conditions import Values
from tamis.schema import EVENT_TYPE, OPERATION, Schema, Table
from tamis.schema.tables import DELETE, INSERT, UPDATE
from tamis.schema.timestamps import to_datetime

# Names of rows and results, as clients, services and explanations use them.

__all__ = ["Identity", "Result", "Values"]

Identity: TypeAlias = tuple[Hashable, ...]
"""Identity of a row in its table: the values of its key, or the number of its arrival where there is none."""
Result: TypeAlias = tuple[Identity, ...]
"""Rows that a result is made of, one of each table, in the order of the signature's tables."""


# Results as they are shown: one dict per result, under the names that its SELECT asks for.

Shown: TypeAlias = dict[str, Any]


class Showing:
    """Presentation of a join's results as columns, each named by its attribute where that is unambiguous.

    An attribute that several tables have is shown once if they agree on it, else under `table.attribute`.
    """

    def __init__(self, signature: Signature, columns: Sequence[Column] | None, schema: Schema) -> None:
        self._schema = schema
        self._signature = signature
        everything = [(table, name) for table in signature.tables for name in schema.tables[table].attributes]
        chosen = everything if columns is None else list(columns)
        self.labels: dict[str, Column] = {}
        for column in chosen:
            self.labels.setdefault(self._label(column), column)

    @property
    def tables(self) -> tuple[str, ...]:
        """Tables whose rows make a result, in their order."""
        return self._signature.tables

    def _label(self, column: Column) -> str:
        table, name = column
        others = [other for other in self._signature.tables if name in self._schema.tables[other].attributes]
        agreed = all(other == table or name in self._signature.between(table, other) for other in others)
        return name if agreed else f"{table}.{name}"

    def show(self, rows: Sequence[Values]) -> Shown:
        """One result as a dict, given its rows in the order of the signature's tables; absent attributes left out."""
        by_table = dict(zip(self._signature.tables, rows, strict=True))
        shown: Shown = {}
        for label, (table, name) in self.labels.items():
            if name in by_table[table]:
                values = [self._value(name, value) for value in by_table[table][name]]
                shown[label] = values if self._schema.attributes[name].multiple else values[0]
        return shown

    def needed(self, table: str) -> list[str]:
        """Attributes of a table that are shown."""
        return [name for own, name in self.labels.values() if own == table]

    def structs(self, rows: Mapping[str, pa.RecordBatch]) -> pa.StructArray:
        """Many results as a struct each, given the rows of each table; null where an attribute is absent."""
        arrays = [rows[table].column(name) for table, name in self.labels.values()]
        return pa.StructArray.from_arrays(arrays, names=list(self.labels))

    def shown(self, results: pa.StructArray) -> list[Shown]:
        """Dicts of structs, as `show` would have made them."""
        columns = []
        for (label, (_, name)), column in zip(self.labels.items(), results.flatten(), strict=True):
            if self._schema.attributes[name].domain.kind == "timestamp":
                whole = pa.int64() if pa.types.is_timestamp(column.type) else pa.list_(pa.int64())
                listed = column.cast(whole).to_pylist()
                columns.append((label, [self._values(name, value) for value in listed]))
            else:
                columns.append((label, column.to_pylist()))
        return [
            {label: values[place] for label, values in columns if values[place] not in (None, [])}
            for place in range(len(results))
        ]

    def _values(self, name: str, value: Any) -> Any:
        if isinstance(value, list):
            return [self._value(name, one) for one in value]
        return value if value is None else self._value(name, value)

    def _value(self, name: str, value: Any) -> Any:
        if self._schema.attributes[name].domain.kind != "timestamp":
            return value
        return to_datetime(value)


@dataclass(slots=True)
class Arrivals:
    """Reader of one table's events in a batch, one after the other, as rows, whose `numbers` may turn out unused.

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
    """Table and operation of each event; no table for an event that is a row of none."""
    count = batch.num_rows
    operations = batch.column(OPERATION).to_pylist() if OPERATION in batch.schema.names else [None] * count
    default = [schema.default_event_type]
    types = batch.column(EVENT_TYPE).to_pylist() if EVENT_TYPE in batch.schema.names else [None] * count
    tables = (next((name for name in names or default if name in schema.tables), None) for names in types)
    return list(zip(tables, operations, strict=True))


def own_rows(batch: pa.RecordBatch, name: str, schema: Schema) -> pa.RecordBatch:
    """Batch with the table's attributes only, null where it lacks them."""
    attributes = schema.tables[name].attributes
    there = set(batch.schema.names)
    columns = [
        batch.column(one) if one in there else pa.nulls(batch.num_rows, schema.attributes[one].arrow_type)
        for one in attributes
    ]
    return pa.RecordBatch.from_arrays(columns, names=list(attributes))


def no_rows(name: str, schema: Schema) -> pa.RecordBatch:
    return own_rows(schema.to_arrow([]), name, schema)


def equal_rows(one: pa.RecordBatch, other: pa.RecordBatch) -> Bools:
    """Mask of rows of two batches of one form that have equal content."""
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
    """Values of columns in the language's types: timestamps are microseconds."""
    columns = [own.column(name) for name in names]
    return [(pc.cast(one, pa.int64()) if pa.types.is_timestamp(one.type) else one).to_pylist() for one in columns]


# The rows of a table as they came, by number.

_NOWHERE = -1


class KeptRows:
    """Store of whole rows in Arrow, found by their numbers.

    Rows stand in chunks, in the order in which they came; a chunk is merged with the one before it while that is not at
    least twice as long, so that there are few chunks however small the batches. Dropped rows stay until they are half
    of all; then the rest moves together.
    """

    def __init__(self, empty: pa.RecordBatch) -> None:
        self._empty = empty
        self._chunks: list[pa.RecordBatch] = []
        self._position: Int64s = np.full(16, _NOWHERE, np.int64)
        self._length = 0
        self._dropped = 0

    def put(self, numbers: Int64s, rows: pa.RecordBatch) -> None:
        """Stores rows under numbers that are free."""
        if not len(numbers):
            return
        most = int(numbers.max()) + 1
        if most > len(self._position):
            more = np.full(max(most - len(self._position), len(self._position)), _NOWHERE, np.int64)
            self._position = np.concatenate([self._position, more])
        self._position[numbers] = self._length + np.arange(len(numbers))
        self._length += len(numbers)
        self._chunks.append(rows)
        while len(self._chunks) > 1 and self._chunks[-2].num_rows < 2 * self._chunks[-1].num_rows:
            self._chunks[-2:] = [_together(self._chunks[-2:])]

    def drop(self, numbers: Int64s) -> None:
        self._position[numbers] = _NOWHERE
        self._dropped += len(numbers)
        if self._dropped > self._length // 2 + 1024:
            there = np.flatnonzero(self._position != _NOWHERE)
            there = there[np.argsort(self._position[there])]
            self._chunks = [self.take(there)] if len(there) else []
            self._position[there] = np.arange(len(there))
            self._length, self._dropped = len(there), 0

    def take(self, numbers: Int64s, columns: list[str] | None = None) -> pa.RecordBatch:
        """Rows by number, in that order; all columns, or some."""
        empty = self._empty if columns is None else self._empty.select(columns)
        if not len(numbers):
            return empty
        chunks = self._chunks if columns is None else [chunk.select(columns) for chunk in self._chunks]
        places = pa.array(self._position[numbers])
        return _together(pa.Table.from_batches(chunks).take(places).to_batches())


def _together(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


# Current state of one table: its rows by identity and number, and the times that its retention goes by.


@dataclass(slots=True)
class TableState:
    """State of one table: its rows by identity, the latest change last, with their numbers."""

    table: Table
    rows: OrderedDict[Identity, int] = field(default_factory=OrderedDict)
    arrived: int = 0
    latest: int | None = None
    times: dict[int, int] = field(default_factory=dict)
    by_time: list[tuple[int, int, Identity]] = field(default_factory=list)

    def refusal(self, operation: str | None, identity: Identity, time: int | None) -> str:
        name, shown = self.table.name, repr(identity[0] if len(identity) == 1 else identity)
        if operation == INSERT and identity in self.rows:
            return f"{name} has a row with the key {shown} already; update it, or leave the operation out"
        if operation in (UPDATE, DELETE) and identity not in self.rows:
            return f"{name} has no row with the key {shown} to {operation}"
        if operation != DELETE and self.is_late(time):
            return f"the row is too late for {name}: it would have gone before it came"
        return ""

    def is_late(self, time: int | None) -> bool:
        window = self.table.retention.window
        return window is not None and time is not None and self.latest is not None and time <= self.latest - window

    def put(self, identity: Identity, number: int, time: int | None) -> int:
        """Puts a row; returns the number of the one it replaces."""
        self.arrived += 1
        old = self.rows.pop(identity, NO_ROW)
        self.rows[identity] = number
        if time is not None:
            self.latest = time if self.latest is None else max(self.latest, time)
            self.times[number] = time
            self.times.pop(old, None)
            heapq.heappush(self.by_time, (time, number, identity))
        return old

    def delete(self, identity: Identity) -> int:
        number = self.rows.pop(identity)
        self.times.pop(number, None)
        return number

    def expired(self) -> list[int]:
        """Removes the rows that retention does not keep."""
        gone: list[int] = []
        count = self.table.retention.count
        while count is not None and len(self.rows) > count:
            gone.append(self.rows.popitem(last=False)[1])
        while self.by_time and self.is_late(self.by_time[0][0]):
            time, number, identity = heapq.heappop(self.by_time)
            # A row that was replaced, or a number that another row has by now, is not meant.
            if self.rows.get(identity) == number and self.times.get(number) == time:
                gone.append(self.delete(identity))
        return gone
