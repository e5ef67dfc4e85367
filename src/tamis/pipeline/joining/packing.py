"""Packing of join events into one row per cell: events checked, ordered, held back for lateness, and encoded.

Spark's state API hands rows to Python one by one, each as an object. A pack is one row, however many events it has.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import Int64s
from tamis.joins.join_part import read_joins
from tamis.language.joins import are_joins
from tamis.pipeline.joining.cells import Cells
from tamis.pipeline.table.subscriptions import Part
from tamis.pipeline.table.versions import read_change
from tamis.pipeline.workers.inputs import VIOLATION, Reader, partition
from tamis.schema import EVENT_TYPE, Schema
from tamis.schema.timestamps import to_datetime
from tamis.schema.values import write_base64

# Late events: events wait until no earlier one is expected any more.


@dataclass(frozen=True, slots=True)
class Lateness:
    """Allowance for late events: the timestamp attribute, and the number of microseconds.

    The watermark is so much before the greatest time that was seen in any cell. With `at_once` nothing more comes, so
    that nothing waits.
    """

    by: str
    delay: int
    at_once: bool = False


@dataclass(frozen=True, slots=True)
class Admitted:
    """Events past the watermark, by time and then in order of arrival; and those too late, after `watermark`."""

    due: pa.Table
    late: pa.Table
    watermark: int | None


class WaitingRoom:
    """Buffer of events whose time the watermark has not reached.

    An event without a time (a delete may have none) counts as of the greatest time there was when it came.
    """

    def __init__(self, lateness: Lateness) -> None:
        self._lateness = lateness
        self.clock: int | None = None
        self.waiting: pa.Table | None = None
        self._times: Int64s = np.zeros(0, np.int64)

    def admit(self, events: pa.Table | None, clock: int | None) -> Admitted:
        """Takes the events of a batch in, in order. `clock` is the greatest time in the batch, in all cells."""
        before = self._watermark()
        if clock is not None:
            self.clock = clock if self.clock is None else max(self.clock, clock)
        watermark = self._watermark()
        turned_away = pa.table({})
        if events is not None:
            times = self._counted(events)
            late = np.zeros(len(times), np.bool_) if before is None else times < before
            turned_away = events.filter(pa.array(late))
            self._times = np.concatenate([self._times, times[~late]])
            rest = events.filter(pa.array(~late))
            self.waiting = (
                rest if self.waiting is None else pa.concat_tables([self.waiting, rest], promote_options="default")
            )
        if self.waiting is None:
            return Admitted(pa.table({}), turned_away, before)
        order = np.argsort(self._times, kind="stable")
        ready = self._times[order] <= (np.iinfo(np.int64).max if self._lateness.at_once else _least(watermark))
        due = self.waiting.take(pa.array(order[ready]))
        left = np.sort(order[~ready])
        self.waiting, self._times = self.waiting.take(pa.array(left)), self._times[left]
        return Admitted(due, turned_away, before)

    def restore(self, waiting: pa.Table | None, times: list[int], clock: int | None) -> None:
        self.waiting, self._times, self.clock = waiting, np.array(times, np.int64), clock

    @property
    def waiting_times(self) -> list[int]:
        times: list[int] = self._times.tolist()
        return times

    def _counted(self, events: pa.Table) -> Int64s:
        now = self.clock if self.clock is not None else 0
        found = times_of(events, self._lateness.by)
        return np.full(events.num_rows, now, np.int64) if found is None else np.asarray(found.fill_null(now))

    def _watermark(self) -> int | None:
        return None if self.clock is None else self.clock - self._lateness.delay


def times_of(events: pa.Table | pa.RecordBatch, by: str) -> pa.ChunkedArray | pa.Array | None:
    """Microseconds, null where the attribute is absent; None without such a column."""
    if by not in events.schema.names:
        return None
    column = events[by] if isinstance(events, pa.Table) else events.column(by)
    return column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())


def said(microseconds: int | None) -> str:
    """Time for people."""
    moment = "" if microseconds is None else to_datetime(microseconds)
    return moment.isoformat() if isinstance(moment, datetime) else str(moment)


def _least(watermark: int | None) -> int:
    return int(np.iinfo(np.int64).min) if watermark is None else watermark


# Arrow tables as bytes: a table is one value to Spark, in transit and in its state.

_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


def to_blob(table: pa.Table | pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_OPTIONS) as writer:
        writer.write(table)
    return bytes(sink.getvalue())


def from_blob(blob: bytes) -> pa.Table:
    return pa.ipc.open_stream(pa.BufferReader(blob)).read_all()


def one_batch(table: pa.Table) -> pa.RecordBatch:
    """Rows of a table in one batch."""
    batches = table.combine_chunks().to_batches()
    return (
        batches[0]
        if batches
        else pa.RecordBatch.from_arrays([pa.array([], field.type) for field in table.schema], schema=table.schema)
    )


# Results as JSON texts, encoded a column at a time.


def json_texts(rows: pa.StructArray) -> pa.StringArray:
    """Rows as JSON objects, without absent attributes; equal rows have equal texts."""
    members = [
        pc.binary_join_element_wise(json.dumps(field.name, ensure_ascii=False), _values(column), ": ")
        for field, column in zip(rows.type, rows.flatten(), strict=True)
    ]
    if not members:
        return pa.array(["{}"] * len(rows), pa.string())
    if all(member.null_count for member in members):
        # Where a row lacks all of them Arrow would leave it out.
        led = [pc.coalesce(pc.binary_join_element_wise(", ", member, ""), "") for member in members]
        inside = pc.utf8_slice_codeunits(pc.binary_join_element_wise(*led, ""), 2)
    else:
        inside = pc.binary_join_element_wise(*members, ", ", null_handling="skip")
    return pc.binary_join_element_wise("{", inside, "}", "")


def _values(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return column.cast(pa.string())
    if pa.types.is_floating(kind):
        return _floats(column)
    if pa.types.is_timestamp(kind):
        return _by_value(column.cast(pa.timestamp("us", kind.tz)).cast(pa.int64()), _instant)
    if pa.types.is_string(kind):
        return _by_value(column, json_value)
    return pa.array([None if value is None else json_value(value) for value in column.to_pylist()], pa.string())


def _floats(column: pa.Array) -> pa.Array:
    texts = column.cast(pa.string())
    if pc.any(pc.equal(pc.floor(column), column)).as_py():
        # A float shows that it is one; infinite ones are written as Python and Spark read them.
        plain = pc.match_substring_regex(texts, "^-?[0-9]+$")
        texts = pc.if_else(plain, pc.binary_join_element_wise(texts, ".0", ""), texts)
        texts = pc.replace_substring(texts, "inf", "Infinity")
    return texts


def _by_value(column: pa.Array, write: Any) -> pa.Array:
    """Encodes each distinct value once."""
    encoded = column.dictionary_encode()
    return pa.array([write(value) for value in encoded.dictionary.to_pylist()], pa.string()).take(encoded.indices)


def json_value(value: Any) -> str:
    """JSON of a value, or of a dict of them; bytes are base64, as in events."""
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: object) -> str:
    if isinstance(value, bytes):
        return write_base64(value)
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _instant(microseconds: int) -> str:
    return json_value(to_datetime(microseconds))


PACK = pa.schema([("cell", pa.int32()), ("events", pa.binary()), ("dead", pa.binary()), ("clock", pa.int64())])
DEAD = pa.schema([("event", pa.string()), ("violations", pa.list_(VIOLATION)), ("sequence", pa.int64())])
ORDER = "sequence"

_NONE = -1
# Positions in one partition lie between those of the one before it and of the one after it, as Spark counts rows.
_ROWS_A_PARTITION = 33


@dataclass(frozen=True, slots=True)
class Packer:
    """Packs rows by cell. A pack has the attributes of a cell's events, and last their order number.

    `order` is the column that has that number; without one it is the position of the row. Every cell gets a pack of
    every task, if an empty one, which has the greatest `time` of the task's events: all cells see all batches. Dead
    events go with the packs of the first cell.
    """

    cells: Cells
    reader: Reader
    order: int | None = None
    time: str | None = None

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        labels = self.cells.labels()
        clock = None
        first = (partition() or 0) << _ROWS_A_PARTITION
        for batch in batches:
            order = np.arange(first, first + batch.num_rows) if self.order is None else _whole(batch.column(self.order))
            first += batch.num_rows
            read = self.reader.read(batch)
            dead = to_blob(self._dead(batch, read.dead, order, read.violations)) if len(read.dead) else None
            packs = self._packs(read.events, order[read.rows])
            if dead is not None:
                packs.setdefault(0, b"")
            for cell, events in packs.items():
                yield _pack(labels[cell], events or None, dead if cell == 0 else None)
            clock = _later(clock, None if self.time is None else times_of(read.events, self.time))
        for label in labels:
            yield _pack(label, None, None, clock)

    def _packs(self, events: pa.RecordBatch, order: Int64s) -> dict[int, bytes]:
        """Packed events of each cell that has any."""
        tables = tables_of(events, self.reader.schema)
        chosen: dict[int, list[Int64s]] = {}
        for number, name in enumerate(self.reader.schema.tables):
            rows = np.flatnonzero(tables == number)
            if len(rows):
                own = events if len(rows) == events.num_rows else events.take(pa.array(rows))
                for cell, some in self.cells.of_events(name, own):
                    if some is None or len(some):
                        chosen.setdefault(cell, []).append(rows if some is None else rows[some])
        numbered = pa.RecordBatch.from_arrays([*events.columns, pa.array(order)], [*events.schema.names, ORDER])
        return {cell: to_blob(numbered.take(pa.array(np.sort(np.concatenate(rows))))) for cell, rows in chosen.items()}

    def _dead(self, batch: pa.RecordBatch, rows: Int64s, order: Int64s, violations: pa.ListArray | None) -> pa.Table:
        places = pa.array(rows)
        if self.reader.json:
            texts = batch.column(self.reader.places[0]).take(places).cast(pa.string(), safe=False)
        else:
            own = pa.RecordBatch.from_arrays([batch.column(at) for at in self.reader.places], list(self.reader.names))
            texts = as_texts(own.take(places))
        assert violations is not None
        return dead_letters(texts, violations.take(places), order[rows])


def dead_letters(events: pa.Array, violations: pa.ListArray, order: Int64s) -> pa.Table:
    """Invalid events as texts, with all their violations."""
    return pa.Table.from_arrays([events, violations.cast(DEAD.field("violations").type), pa.array(order)], schema=DEAD)


def tables_of(events: pa.RecordBatch, schema: Schema) -> Int64s:
    """Table number of each event of a canonical batch, -1 for events of no table."""
    names = list(schema.tables)
    default = schema.default_event_type
    found = np.full(events.num_rows, names.index(default) if default in names else _NONE, np.int64)
    if EVENT_TYPE not in events.schema.names:
        return found
    types = events.column(EVENT_TYPE)
    found[types.is_valid().to_numpy(zero_copy_only=False)] = _NONE
    numbers = pc.index_in(types.flatten().cast(pa.string()), pa.array(names, pa.string())).fill_null(_NONE)
    numbers = numbers.to_numpy(zero_copy_only=False)
    parents = pc.list_parent_indices(types).to_numpy(zero_copy_only=False)
    # Backwards, so that of several the first remains.
    some = np.flatnonzero(numbers >= 0)[::-1]
    found[parents[some]] = numbers[some]
    return found


def as_texts(events: pa.RecordBatch) -> pa.Array:
    """Events as JSON, without absent attributes."""
    rows = ({name: value for name, value in row.items() if value is not None} for row in events.to_pylist())
    return pa.array([json_value(row) for row in rows], pa.string())


def _whole(column: pa.Array) -> Int64s:
    """Order numbers; timestamps are microseconds."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz))
    return column.cast(pa.int64()).fill_null(_NONE).to_numpy(zero_copy_only=False)


def _pack(label: int, events: bytes | None, dead: bytes | None, clock: int | None = None) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"cell": label, "events": events, "dead": dead, "clock": clock}], schema=PACK)


def _later(clock: int | None, times: pa.Array | None) -> int | None:
    latest = None if times is None else pc.max(times).as_py()
    return clock if latest is None else latest if clock is None else max(clock, latest)


# Join subscriptions of a snapshot, opened in a worker.

_KEPT = 2  # the newest version and the one before it: a replay may run beside a first run
_OPEN: OrderedDict[Part, Mapping[str, str]] = OrderedDict()


def join_texts(part: Part) -> Mapping[str, str]:
    """Texts by id; one cached mapping per part."""
    texts = _OPEN.pop(part, None)
    if texts is None:
        texts = dict(_pairs(read_joins(part.base)))
        for path in part.changes:
            removed, added = read_change(path)
            for id in removed:
                texts.pop(id, None)
            chosen = np.flatnonzero(are_joins(added["filter"]))
            texts.update(_pairs(added.take(pa.array(chosen))))
    _OPEN[part] = texts
    while len(_OPEN) > _KEPT:
        _OPEN.popitem(last=False)
    return texts


def _pairs(table: pa.Table) -> zip[tuple[str, str]]:
    return zip(table["id"].to_pylist(), table["filter"].to_pylist(), strict=True)
