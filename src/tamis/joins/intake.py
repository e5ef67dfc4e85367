"""Intake of a join server: events turned into changes of tables by key, operation and retention, rows into numbers;
tables saved and restored.

The meaning of tables is defined by the oracle (naive.py); this implements it for whole batches.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tamis.arrays import Floats, Int64s
from tamis.joins.arrivals import (
    Arrivals,
    Identity,
    KeptRows,
    TableState,
    Values,
    equal_rows,
    in_order,
    language_values,
    no_rows,
    own_rows,
)
from tamis.joins.index.tables import NO_ROW, Changes, TableRows
from tamis.joins.layout import NO_COLUMN, Layout
from tamis.joins.lowering import Coding
from tamis.matching.conditions import event_values
from tamis.schema import Schema
from tamis.schema.tables import DELETE

_SPARE_CODES = 1 << 18


@dataclass(frozen=True, slots=True)
class Taken:
    """Result of an intake: changes of a batch in order, the event of each, and refusals with reasons.

    `same` has, by table, rows that went and the rows that replaced them with the same key and the same content.
    """

    changes: Changes
    event: Int64s
    refused: dict[int, str]
    same: list[tuple[Int64s, Int64s]]


@dataclass(frozen=True, slots=True)
class TableRecord:
    """Saved state of a table: its rows, the one that changed last at the end, and its retention's clock.

    `arrivals` numbers the rows of a table without a key, `arrived` counts all that ever came.
    """

    rows: pa.RecordBatch
    arrivals: list[int] | None
    arrived: int
    latest: int | None


class Intake:
    """Current rows of a schema's tables. Removed rows can be read until the next batch is taken."""

    def __init__(self, schema: Schema, coding: Coding) -> None:
        self._schema = schema
        self._coding = coding
        self._tables = {name: TableState(table) for name, table in schema.tables.items()}
        self._kept = {name: KeptRows(no_rows(name, schema)) for name in schema.tables}
        self._identities: dict[str, dict[int, Identity]] = {name: {} for name in schema.tables}
        self._read: dict[tuple[str, int], Values] = {}
        self._gone: dict[str, list[int]] = {}
        self._joined: dict[tuple[str, ...], dict[tuple[object, ...], int]] = {}

    @property
    def outgrown(self) -> bool:
        """True if far more join keys have a code than there are rows: `reload` gives codes anew."""
        rows = sum(len(state.rows) for state in self._tables.values())
        return max(map(len, self._joined.values()), default=0) > _SPARE_CODES + 4 * rows

    def numbers(self, table: str) -> Int64s:
        """Numbers of the rows that are there."""
        rows = self._tables[table].rows
        return np.fromiter(rows.values(), np.int64, len(rows))

    def identity(self, table: str, number: int) -> Identity:
        return self._identities[table][number]

    def values(self, table: str, number: int) -> Values:
        """Row in the language's types."""
        found = self._read.get((table, number))
        if found is None:
            (found,) = self.listed(table, np.array([number], np.int64)).values()
            self._read[table, number] = found
        return found

    def listed(self, table: str, numbers: Int64s) -> dict[Identity, Values]:
        """Rows in the language's types."""
        identities = self._identities[table]
        rows = event_values(self.rows(table, numbers), self._schema)
        return {identities[number]: row for number, row in zip(numbers.tolist(), rows, strict=True)}

    def rows(self, table: str, numbers: Int64s, columns: list[str] | None = None) -> pa.RecordBatch:
        """Rows in Arrow, all their attributes or some."""
        return self._kept[table].take(numbers, columns)

    def take(self, batch: pa.RecordBatch, layout: Layout, rows: Sequence[TableRows]) -> Taken:
        """Makes the changes of a canonical batch that satisfies the schema; new rows are in `rows` afterwards."""
        self._forget()
        order = in_order(batch, self._schema)
        changed = dict.fromkeys(owner for owner, _ in order if owner is not None)
        arrivals = {}
        for name in changed:
            events = [event for event, (owner, _) in enumerate(order) if owner == name]
            arrivals[name] = Arrivals.of(name, batch, events, self._schema)
        for name, arrival in arrivals.items():
            # Deletes have rows too, which are given back at once.
            numbers = rows[layout.numbers[name]].put(*self.encode(name, arrival.own, layout))
            arrival.numbers = numbers.tolist()
            self._kept[name].put(numbers, arrival.own)
        told: list[tuple[int, int, int, int]] = []
        refused: dict[int, str] = {}
        replaced: dict[str, dict[Identity, int]] = {name: {} for name in arrivals}
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
                old = state.delete(identity)
                replaced[table].setdefault(identity, old)
                told.append((table_number, old, NO_ROW, event))
            else:
                self._identities[table][number] = identity
                old = state.put(identity, number, time)
                replaced[table].setdefault(identity, old)
                told.append((table_number, old, number, event))
                for gone in state.expired():
                    replaced[table].setdefault(self._identities[table][gone], gone)
                    told.append((table_number, gone, NO_ROW, event))
        for name, arrival in arrivals.items():
            unused = np.array(arrival.unused, np.int64)
            rows[layout.numbers[name]].give_back(unused)
            self._kept[name].drop(unused)
        columns = np.array(told, np.int64).reshape(-1, 4).T
        changes = Changes.of(*columns[:3])
        for number, old, _, _ in told:
            if old != NO_ROW:
                self._gone.setdefault(layout.tables[number], []).append(old)
        same = [self._same(name, replaced.get(name, {})) for name in layout.tables]
        return Taken(changes, columns[3].copy(), refused, same)

    def _same(self, name: str, replaced: dict[Identity, int]) -> tuple[Int64s, Int64s]:
        """Rows replaced in this batch by rows of equal content: old and new numbers."""
        now = self._tables[name].rows
        pairs = [(old, now[one]) for one, old in replaced.items() if old != NO_ROW and one in now]
        old, new = np.array(pairs, np.int64).reshape(-1, 2).T
        if not pairs:
            return old, new
        equal = equal_rows(self.rows(name, old), self.rows(name, new))
        return old[equal], new[equal]

    def _forget(self) -> None:
        """Drops the removed rows, which can be read no more."""
        for owner, numbers in self._gone.items():
            self._kept[owner].drop(np.array(numbers, np.int64))
            for number in numbers:
                del self._identities[owner][number]
        self._gone, self._read = {}, {}

    def encode(self, name: str, own: pa.RecordBatch, layout: Layout) -> tuple[Floats, Int64s]:
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

    def record(self, name: str) -> TableRecord:
        """Current state of a table, to be saved."""
        state = self._tables[name]
        arrivals = None if state.table.key else [int(str(identity[0])) for identity in state.rows]
        return TableRecord(self.rows(name, self.numbers(name)), arrivals, state.arrived, state.latest)

    def restore(self, name: str, record: TableRecord) -> None:
        """Restores an empty table to a recorded state; `reload` has to follow."""
        table, rows = self._schema.tables[name], own_rows(record.rows, name, self._schema)
        numbers = np.arange(rows.num_rows)
        state = self._tables[name] = TableState(table, arrived=record.arrived, latest=record.latest)
        if record.arrivals is None:
            identities: list[Identity] = list(zip(*language_values(rows, table.key), strict=True))
        else:
            identities = [(arrival,) for arrival in record.arrivals]
        state.rows = OrderedDict(zip(identities, numbers.tolist(), strict=True))
        if table.retention.by is not None:
            (times,) = language_values(rows, (table.retention.by,))
            state.times = dict(enumerate(times))
        self._identities[name] = dict(enumerate(identities))
        self._kept[name].put(numbers, rows)

    def arrivals(self, table: str) -> tuple[int, int | None]:
        """Number of rows a table ever took, and the greatest time among them if its retention goes by time."""
        state = self._tables[table]
        return state.arrived, state.latest

    def remember(self, name: str, latest: int) -> None:
        """Sets the greatest time that a table's window has seen."""
        self._tables[name].latest = latest

    def reload(self, layout: Layout, rows: Sequence[TableRows]) -> dict[str, dict[int, int]]:
        """Copies all rows into other arrays; returns their numbers there, by their old ones."""
        self._forget()
        self._joined = {}
        moved: dict[str, dict[int, int]] = {}
        for name, state in self._tables.items():
            own = self.rows(name, self.numbers(name))
            numbers = rows[layout.numbers[name]].put(*self.encode(name, own, layout))
            self._kept[name] = KeptRows(no_rows(name, self._schema))
            self._kept[name].put(numbers, own)
            fresh = numbers.tolist()
            moved[name] = dict(zip(state.rows.values(), fresh, strict=True))
            self._identities[name] = dict(zip(fresh, state.rows, strict=True))
            state.rows = OrderedDict(zip(state.rows, fresh, strict=True))
            state.times = {moved[name][number]: time for number, time in state.times.items()}
            state.by_time = [
                (state.times[number], number, identity)
                for identity, number in state.rows.items()
                if number in state.times
            ]
            heapq.heapify(state.by_time)
        return moved

    def _join_keys(self, own: pa.RecordBatch, attributes: tuple[str, ...]) -> Int64s:
        """Codes of the rows' join keys: the same for the same values, on both sides of an edge."""
        known = self._joined.setdefault(attributes, {})
        listed = zip(*(own.column(name).to_pylist() for name in attributes), strict=True)
        return np.array([known.setdefault(values, len(known)) for values in listed], np.int64)
