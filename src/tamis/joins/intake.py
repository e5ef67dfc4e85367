"""Events to changes of tables: keys, operations and retention, and rows as the numbers that schemes look at.

What holds of tables is stated by the oracle (naive.py); this does the same for whole batches.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.joins.coding import Coding
from tamis.joins.layout import NO_COLUMN, Layout
from tamis.joins.naive import Identity, Values
from tamis.joins.ranges import Floats, Integers
from tamis.joins.tables import NO_ROW, Changes, TableRows
from tamis.matching.naive import event_values
from tamis.schema import EVENT_TYPE, OPERATION, Schema, Table
from tamis.schema.tables import DELETE, INSERT, UPDATE


@dataclass(frozen=True, slots=True)
class Taken:
    """What a batch of events comes to: changes in order, the event that each is due to, and refusals with reasons."""

    changes: Changes
    event: Integers
    refused: dict[int, str]


@dataclass(slots=True)
class _TableState:
    """The rows of one table by identity, the one that changed last at the end, with their numbers."""

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
        """Puts a row; the number of the one it replaces."""
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
        """Takes out what retention does not keep."""
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


class Intake:
    """The tables of a schema as they are now. Rows that went can be read until the next batch is taken."""

    def __init__(self, schema: Schema, coding: Coding) -> None:
        self._schema = schema
        self._coding = coding
        self._tables = {name: _TableState(table) for name, table in schema.tables.items()}
        self._rows: dict[str, dict[int, tuple[Identity, pa.RecordBatch, int]]] = {name: {} for name in schema.tables}
        self._gone: list[tuple[str, int]] = []
        self._values: dict[tuple[str, int], Values] = {}
        self._joined: dict[tuple[str, ...], dict[tuple[object, ...], int]] = {}

    def numbers(self, table: str) -> list[int]:
        """The rows that are there."""
        return list(self._tables[table].rows.values())

    def identity(self, table: str, number: int) -> Identity:
        return self._rows[table][number][0]

    def values(self, table: str, number: int) -> Values:
        """A row as the language sees it. It is read once a batch, whoever asks: nobody may change it."""
        found = self._values.get((table, number))
        if found is None:
            _, batch, place = self._rows[table][number]
            found = self._values[table, number] = event_values(batch.slice(place, 1), self._schema)[0]
        return found

    def arrivals(self, table: str) -> tuple[int, int | None]:
        """How many rows a table ever took, and the greatest time among them if its retention goes by time."""
        state = self._tables[table]
        return state.arrived, state.latest

    def restore(
        self, table: str, identities: Sequence[Identity], batch: pa.RecordBatch, arrived: int, latest: int | None
    ) -> None:
        """Rows of an earlier life, the one that changed last at the end; `reload` then gives them a place in arrays."""
        state, own = self._tables[table], _own(batch, table, self._schema)
        self._rows[table] = {place: (identity, own, place) for place, identity in enumerate(identities)}
        state.rows = OrderedDict((identity, place) for place, identity in enumerate(identities))
        by = state.table.retention.by
        state.times = {} if by is None else dict(enumerate(_language(own, (by,))[0]))
        state.arrived, state.latest = arrived, latest

    def take(self, batch: pa.RecordBatch, layout: Layout, rows: Sequence[TableRows]) -> Taken:
        """Makes the changes of a canonical batch that satisfies the schema; new rows are in `rows` afterwards."""
        for owner, number in self._gone:
            del self._rows[owner][number]
        self._gone, self._values = [], {}
        order = _order(batch, self._schema)
        arrivals = {
            name: self._arrivals(name, batch, [event for event, (owner, _) in enumerate(order) if owner == name])
            for name in self._schema.tables
        }
        for name, arrival in arrivals.items():
            # Deletes have rows too, which are given back at once.
            numbers = rows[layout.numbers[name]].put(*self.encode(name, arrival.own, layout))
            arrival.numbers = numbers.tolist()
        told: list[tuple[int, int, int, int]] = []
        refused: dict[int, str] = {}
        for event, (table, operation) in enumerate(order):
            if table is None:
                continue
            state, arrival = self._tables[table], arrivals[table]
            place, table_number = arrival.next(), layout.numbers[table]
            identity = arrival.identity(place, state.arrived)
            time, number = arrival.time(place), arrival.numbers[place]
            reason = state.refusal(operation, identity, time)
            if reason:
                refused[event] = reason
                arrival.unused.append(number)
            elif operation == DELETE:
                arrival.unused.append(number)
                told.append((table_number, state.delete(identity), NO_ROW, event))
            else:
                self._rows[table][number] = (identity, arrival.own, place)
                told.append((table_number, state.put(identity, number, time), number, event))
                told += [(table_number, gone, NO_ROW, event) for gone in state.expired()]
        for name, arrival in arrivals.items():
            rows[layout.numbers[name]].give_back(np.array(arrival.unused, np.int64))
        columns = np.array(told, np.int64).reshape(-1, 4).T
        changes = Changes.of(*columns[:3])
        self._gone = [(layout.tables[number], old) for number, old, _, _ in told if old != NO_ROW]
        return Taken(changes, columns[3].copy(), refused)

    def encode(self, name: str, own: pa.RecordBatch, layout: Layout) -> tuple[Floats, Integers]:
        """Rows of a table as numbers: values by restricted attribute, join keys by edge."""
        columns = layout.columns[name]
        values = np.zeros((own.num_rows, len(columns)))
        for place, column in enumerate(columns):
            if column != NO_COLUMN:
                values[:, place] = self._coding.column(column, own.column(column))
        edges = layout.edges_of(name)
        keys = np.zeros((own.num_rows, len(edges)), np.int64)
        for place, edge in enumerate(edges):
            keys[:, place] = self._join_keys(own, edge.attributes)
        return values, keys

    def reload(self, layout: Layout, rows: Sequence[TableRows]) -> dict[str, dict[int, int]]:
        """Puts all rows that are there into other arrays; which numbers they have there, by their old ones."""
        self._gone, self._values = [], {}
        moved: dict[str, dict[int, int]] = {}
        for name, state in self._tables.items():
            kept = [self._rows[name][number] for number in state.rows.values()]
            own = _stacked([batch.slice(place, 1) for _, batch, place in kept], name, self._schema)
            fresh = rows[layout.numbers[name]].put(*self.encode(name, own, layout)).tolist()
            moved[name] = dict(zip(state.rows.values(), fresh, strict=True))
            self._rows[name] = {
                number: (identity, own, place)
                for place, (number, (identity, _, _)) in enumerate(zip(fresh, kept, strict=True))
            }
            state.rows = OrderedDict(zip(state.rows, fresh, strict=True))
            state.times = {moved[name][number]: time for number, time in state.times.items()}
            state.by_time = [
                (state.times[number], number, identity)
                for identity, number in state.rows.items()
                if number in state.times
            ]
            heapq.heapify(state.by_time)
        return moved

    def _arrivals(self, name: str, batch: pa.RecordBatch, events: list[int]) -> _Arrivals:
        table = self._schema.tables[name]
        own = _own(batch, name, self._schema).take(pa.array(events, pa.int64()))
        keys = _language(own, table.key)
        by = table.retention.by
        return _Arrivals(own, list(zip(*keys, strict=True)), _language(own, (by,))[0] if by is not None else [])

    def _join_keys(self, own: pa.RecordBatch, attributes: tuple[str, ...]) -> Integers:
        """Codes of what rows join by: the same for the same values, on both sides of an edge."""
        known = self._joined.setdefault(attributes, {})
        listed = zip(*(own.column(name).to_pylist() for name in attributes), strict=True)
        return np.array([known.setdefault(values, len(known)) for values in listed], np.int64)


@dataclass(slots=True)
class _Arrivals:
    """The events of one table in a batch, read one after the other: as rows, whose `numbers` may turn out unused.

    `identities` is empty where the table has no key, `times` where no window asks for them.
    """

    own: pa.RecordBatch
    identities: list[Identity]
    times: list[int]
    numbers: list[int] = field(default_factory=list)
    unused: list[int] = field(default_factory=list)
    at: int = 0

    def next(self) -> int:
        self.at += 1
        return self.at - 1

    def identity(self, place: int, arrived: int) -> Identity:
        return self.identities[place] if self.identities else (arrived,)

    def time(self, place: int) -> int | None:
        return self.times[place] if self.times else None


def _order(batch: pa.RecordBatch, schema: Schema) -> list[tuple[str | None, str | None]]:
    """The table and the operation of each event; no table for an event that is a row of none."""
    count = batch.num_rows
    operations = batch.column(OPERATION).to_pylist() if OPERATION in batch.schema.names else [None] * count
    default = [schema.default_event_type]
    types = batch.column(EVENT_TYPE).to_pylist() if EVENT_TYPE in batch.schema.names else [None] * count
    tables = (next((name for name in names or default if name in schema.tables), None) for names in types)
    return list(zip(tables, operations, strict=True))


def _own(batch: pa.RecordBatch, name: str, schema: Schema) -> pa.RecordBatch:
    """The batch with the table's attributes only, null where it lacks them."""
    attributes = schema.tables[name].attributes
    there = set(batch.schema.names)
    columns = [
        batch.column(one) if one in there else pa.nulls(batch.num_rows, schema.attributes[one].arrow_type)
        for one in attributes
    ]
    return pa.RecordBatch.from_arrays(columns, names=list(attributes))


def _stacked(slices: list[pa.RecordBatch], name: str, schema: Schema) -> pa.RecordBatch:
    if not slices:
        return _own(schema.to_arrow([]), name, schema)
    return pa.Table.from_batches(slices).combine_chunks().to_batches()[0]


def _language(own: pa.RecordBatch, names: Sequence[str]) -> list[list[Any]]:
    """Columns as the language has their values: timestamps are microseconds."""
    columns = [own.column(name) for name in names]
    return [(pc.cast(one, pa.int64()) if pa.types.is_timestamp(one.type) else one).to_pylist() for one in columns]
