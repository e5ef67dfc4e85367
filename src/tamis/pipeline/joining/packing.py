"""What workers do with events on their way to the tables: check them, and pack those of each cell together.

Spark's state API hands rows to Python one by one, each as an object. A pack is one row, however many events it has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.pipeline.joining.blobs import to_blob
from tamis.pipeline.joining.cells import Cells
from tamis.pipeline.joining.json_texts import json_value
from tamis.pipeline.joining.waiting import times_of
from tamis.pipeline.workers.reading import VIOLATION, Reader
from tamis.pipeline.workers.task import partition
from tamis.schema import EVENT_TYPE, Schema

Integers = npt.NDArray[np.int64]

PACK = pa.schema([("cell", pa.int32()), ("events", pa.binary()), ("dead", pa.binary()), ("clock", pa.int64())])
DEAD = pa.schema([("event", pa.string()), ("violations", pa.list_(VIOLATION)), ("sequence", pa.int64())])
ORDER = "sequence"

_NONE = -1
# Positions in one partition lie between those of the one before it and of the one after it, as Spark counts rows.
_ROWS_A_PARTITION = 33


@dataclass(frozen=True, slots=True)
class Packer:
    """Rows in, packs out. A pack has events of one cell: the attributes, and last the number they are ordered by.

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

    def _packs(self, events: pa.RecordBatch, order: Integers) -> dict[int, bytes]:
        """The events of each cell that has any."""
        tables = tables_of(events, self.reader.schema)
        chosen: dict[int, list[Integers]] = {}
        for number, name in enumerate(self.reader.schema.tables):
            rows = np.flatnonzero(tables == number)
            if len(rows):
                own = events if len(rows) == events.num_rows else events.take(pa.array(rows))
                for cell, some in self.cells.of_events(name, own):
                    if some is None or len(some):
                        chosen.setdefault(cell, []).append(rows if some is None else rows[some])
        numbered = pa.RecordBatch.from_arrays([*events.columns, pa.array(order)], [*events.schema.names, ORDER])
        return {cell: to_blob(numbered.take(pa.array(np.sort(np.concatenate(rows))))) for cell, rows in chosen.items()}

    def _dead(
        self, batch: pa.RecordBatch, rows: Integers, order: Integers, violations: pa.ListArray | None
    ) -> pa.Table:
        places = pa.array(rows)
        if self.reader.json:
            texts = batch.column(self.reader.places[0]).take(places).cast(pa.string(), safe=False)
        else:
            own = pa.RecordBatch.from_arrays([batch.column(at) for at in self.reader.places], list(self.reader.names))
            texts = as_texts(own.take(places))
        assert violations is not None
        return dead_letters(texts, violations.take(places), order[rows])


def dead_letters(events: pa.Array, violations: pa.ListArray, order: Integers) -> pa.Table:
    """Events as texts, with all that is wrong with each."""
    return pa.Table.from_arrays([events, violations.cast(DEAD.field("violations").type), pa.array(order)], schema=DEAD)


def tables_of(events: pa.RecordBatch, schema: Schema) -> Integers:
    """The table of each event of a canonical batch by its number, -1 for those of none."""
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
    """Events as JSON, without what is absent."""
    rows = ({name: value for name, value in row.items() if value is not None} for row in events.to_pylist())
    return pa.array([json_value(row) for row in rows], pa.string())


def _whole(column: pa.Array) -> Integers:
    """Numbers to order by; timestamps are microseconds."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz))
    return column.cast(pa.int64()).fill_null(_NONE).to_numpy(zero_copy_only=False)


def _pack(label: int, events: bytes | None, dead: bytes | None, clock: int | None = None) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"cell": label, "events": events, "dead": dead, "clock": clock}], schema=PACK)


def _later(clock: int | None, times: pa.Array | None) -> int | None:
    latest = None if times is None else pc.max(times).as_py()
    return clock if latest is None else latest if clock is None else max(clock, latest)
