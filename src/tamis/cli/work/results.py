"""Matches as tables, and how the contents of joins change: one row a match, an event, or a result that came or went."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import Int64s
from tamis.cli.base.options import CommandError
from tamis.cli.work.tables import JsonLines, TableWriter, json_rows, table_writer
from tamis.engine import Index
from tamis.matching.base.matcher import Matches
from tamis.schema import Schema

_ROWS_AT_ONCE = 200_000

CHANGES = pa.schema(
    {
        "event": pa.int64(),
        "subscription": pa.string(),
        "change": pa.string(),
        "row": pa.string(),
        "message": pa.string(),
    }
)
REFUSED = "refused"


class ResultForm:
    """Form of the results: what a row holds.

    The event: its attributes, or with `numbers` its position in the input. The subscriptions: one a row in
    `subscription`, or with `arrays` all of the event's in `subscriptions`. Events that match nothing have no row.
    """

    def __init__(self, schema: Schema, *, arrays: bool, numbers: bool) -> None:
        self._arrays = arrays
        self._numbers = numbers
        self.column = "subscriptions" if arrays else "subscription"
        if not numbers and self.column in schema.attributes:
            raise CommandError(f"the schema has an attribute {self.column}; --numbers gives results without attributes")
        event = pa.schema({"event": pa.int64()}) if numbers else schema.arrow_schema
        self.schema = event.append(pa.field(self.column, pa.list_(pa.string()) if arrays else pa.string()))

    def write(self, writer: TableWriter, batch: pa.RecordBatch, numbers: Int64s, matches: Matches) -> None:
        for events, offsets in _pieces(matches.offsets):
            ids = matches.ids(matches.numbers[offsets[0] : offsets[-1]])
            rows = numbers[events] if self._numbers else self._columns(batch.take(pa.array(events)))
            if isinstance(writer, JsonLines) and not self._arrays:
                writer.write_lines(self._lines(rows, offsets, ids))
            else:
                writer.write(self._table(rows, offsets, ids))

    def _columns(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """All of the schema's columns: what one file has and another has not must not change the results' form."""
        have = set(batch.schema.names)
        columns = [
            batch.column(f.name) if f.name in have else pa.nulls(len(batch), f.type) for f in list(self.schema)[:-1]
        ]
        return pa.RecordBatch.from_arrays(columns, schema=pa.schema(list(self.schema)[:-1]))

    def _table(self, rows: pa.RecordBatch | Int64s, offsets: Int64s, ids: pa.Array) -> pa.Table:
        found = ids
        counts = np.diff(offsets)
        if self._arrays:
            found = pa.ListArray.from_arrays(pa.array(offsets - offsets[0], pa.int32()), ids)
        if isinstance(rows, np.ndarray):
            events: list[pa.Array] = [pa.array(rows if self._arrays else np.repeat(rows, counts))]
        else:
            repeated = rows if self._arrays else rows.take(pa.array(np.repeat(np.arange(len(rows)), counts)))
            events = repeated.columns
        return pa.Table.from_arrays([*events, found], schema=self.schema)

    def _lines(self, rows: pa.RecordBatch | Int64s, offsets: Int64s, ids: pa.Array) -> list[str]:
        """An event is turned into JSON once, however many subscriptions it matched."""
        if isinstance(rows, np.ndarray):
            opened = [f'{{"event": {number}' for number in rows.tolist()]
        else:
            opened = [text[:-1] for text in json_rows(rows)]
        encoded = ids.dictionary_encode()
        names = pa.array([json.dumps(id, ensure_ascii=False) for id in encoded.dictionary.to_pylist()], pa.string())
        lines: list[str] = pc.binary_join_element_wise(
            pa.array(opened, pa.string()).take(pa.array(np.repeat(np.arange(len(opened)), np.diff(offsets)))),
            f', "{self.column}": ',
            names.take(encoded.indices),
            "}",
            "",
        ).to_pylist()
        return lines


def _pieces(offsets: Int64s) -> Iterator[tuple[Int64s, Int64s]]:
    """The events that matched something, a bounded number of matches at a time, with their offsets."""
    matched = np.flatnonzero(np.diff(offsets))
    start = 0
    while start < len(matched):
        limit = offsets[matched[start]] + _ROWS_AT_ONCE
        stop = max(start + 1, int(np.searchsorted(offsets[matched + 1], limit, side="right")))
        events = matched[start:stop]
        yield events, np.append(offsets[events], offsets[events[-1] + 1])
        start = stop


class JoinChangesFile:
    """Hands events to the joins of an index and writes what they change.

    A change that its table cannot take is a row of its own, with the reason as its message.
    """

    def __init__(self, index: Index, writer: TableWriter) -> None:
        self._index = index
        self._writer = writer
        self.refused = 0

    def put(self, events: pa.RecordBatch, numbers: npt.NDArray[np.int64]) -> None:
        """Events that satisfy the schema, with their positions in the input."""
        changes = self._index.apply(events)
        for table in changes.to_arrow():
            if len(table):
                rows = table["row"].combine_chunks()
                self._write(
                    numbers[table["event"].to_numpy()],
                    table["subscription"].cast(pa.string()).combine_chunks(),
                    table["change"].cast(pa.string()).combine_chunks(),
                    pa.array(json_rows(pa.RecordBatch.from_struct_array(rows)), pa.string()),
                    pa.nulls(len(table), pa.string()),
                )
        if changes.refused:
            self.refused += len(changes.refused)
            none = pa.nulls(len(changes.refused), pa.string())
            positions = numbers[[violation.event for violation in changes.refused]]
            messages = pa.array([violation.message for violation in changes.refused], pa.string())
            self._write(positions, none, pa.array([REFUSED] * len(messages), pa.string()), none, messages)

    def _write(self, positions: npt.NDArray[np.int64], *columns: pa.Array) -> None:
        self._writer.write(pa.Table.from_arrays([pa.array(positions), *columns], schema=CHANGES))


@contextmanager
def join_changes(path: Path, index: Index) -> Iterator[JoinChangesFile]:
    """A file for the changes of an index's joins, which is there once all of it is written."""
    with table_writer(path, CHANGES) as writer:
        yield JoinChangesFile(index, writer)
