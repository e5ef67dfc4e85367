"""Canonical batches: events laid out by attribute, rows in doubt patched with values read one by one; conversion of
dicts or Arrow, refused whole (`EventError`) if a value fits no domain.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import Bools, Int64s
from tamis.errors import EventError, Violation
from tamis.schema.columns import Column, conform, either, flat_columns, holds_objects, is_canonical, plain, present
from tamis.schema.domains import EVENT_TYPE
from tamis.schema.reading import Reading, read_event, read_pairs
from tamis.schema.timestamps import to_datetime
from tamis.schema.values import Unreadable

if TYPE_CHECKING:
    from tamis.schema.model import Schema


@dataclass(frozen=True)
class Source:
    """Source column of an attribute, with its conversion; `column` is None for a name the schema does not have."""

    name: str
    raw: pa.Array
    column: Column | None

    def cells(self, rows: Int64s) -> list[object]:
        """Python values of these rows: canonical ones, or, where there is doubt, those that came in."""
        if self.column is None:
            return _cells(_taken(self.raw, rows))
        cells = _canonical_cells(self.column.values.take(pa.array(rows)))
        if self.column.doubtful is not None:
            doubtful = np.flatnonzero(self.column.doubtful[rows])
            for place, cell in zip(doubtful, _cells(_taken(self.raw, rows[doubtful])), strict=True):
                cells[place] = cell
        return cells


@dataclass(frozen=True)
class Aligned:
    """Batch laid out by attribute. `columns` are canonical; rows in `doubtful` are to be read from `sources`."""

    count: int
    columns: dict[str, pa.Array]
    sources: list[Source]
    doubtful: Bools | None

    def pairs(self, rows: Int64s) -> Iterator[list[tuple[str, object]]]:
        """The (name, value) pairs of each of these rows, for the reader."""
        names = [source.name for source in self.sources]
        cells = [source.cells(rows) for source in self.sources]
        for place in range(len(rows)):
            yield [(name, column[place]) for name, column in zip(names, cells, strict=True)]


def align(schema: Schema, batch: pa.RecordBatch, ignore_unknown: bool) -> Aligned:
    """Lays a batch out by attribute. Rows with a value under an unknown name are doubtful, unless that is ignored."""
    columns: dict[str, pa.Array] = {}
    sources: list[Source] = []
    doubtful: Bools | None = None
    for name, raw in flat_columns(batch, schema.solitary):
        attribute = schema.attributes.get(name)
        if attribute is None:
            if not ignore_unknown:
                sources.append(Source(name, raw, None))
                doubtful = either(doubtful, _where(present(raw)))
            continue
        column = conform(raw, attribute)
        sources.append(Source(name, raw, column))
        doubtful = either(doubtful, column.doubtful)
        if name in columns:
            # The same name twice, flat and nested perhaps: either may be given, not both.
            doubtful = either(doubtful, _where(present(columns[name]) & present(column.values)))
            columns[name] = _first_present(columns[name], column.values)
        else:
            columns[name] = column.values
    return Aligned(batch.num_rows, columns, sources, doubtful)


def patch(schema: Schema, columns: dict[str, pa.Array], count: int, readings: Sequence[Reading]) -> dict[str, pa.Array]:
    """Columns with the rows of these readings replaced by the values read."""
    if not readings:
        return columns
    order = np.arange(count)
    order[[reading.row for reading in readings]] = count + np.arange(len(readings))
    names = {name for reading in readings for name in reading.values}.union(columns)
    patched = {}
    for name, attribute in schema.attributes.items():
        if name in names:
            base = columns[name] if name in columns else pa.nulls(count, attribute.arrow_type)
            read = from_readings(schema, name, readings)
            patched[name] = pa.concat_arrays([base.cast(read.type), read]).take(pa.array(order))
    return patched


def from_readings(schema: Schema, name: str, readings: Sequence[Reading]) -> pa.Array:
    """Canonical column of one attribute, a row per reading."""
    return pa.array([reading.values.get(name) for reading in readings], schema.attributes[name].arrow_type)


def batch_of(columns: dict[str, pa.Array], count: int, schema: Schema) -> pa.RecordBatch:
    """Canonical batch in the schema's order. It always has a column, or its number of rows would be lost."""
    names = [name for name in schema.attributes if name in columns]
    if not names:
        names = [next(iter(schema.attributes))]
        columns = {names[0]: pa.nulls(count, schema.attributes[names[0]].arrow_type)}
    return pa.RecordBatch.from_arrays([columns[name] for name in names], names=names)


def one_batch(events: pa.Table | pa.RecordBatch) -> pa.RecordBatch:
    """Table as a single batch, without copying where it is one already."""
    if isinstance(events, pa.RecordBatch):
        return events
    arrays = []
    for column in events.columns:
        whole = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        arrays.append(whole if isinstance(whole, pa.Array) else pa.concat_arrays(whole.chunks))
    if not arrays:
        # Only a selection from a batch with columns keeps its number of rows.
        return pa.RecordBatch.from_arrays([pa.nulls(events.num_rows)], names=["nothing"]).select([])
    return pa.RecordBatch.from_arrays(arrays, schema=events.schema)


def _first_present(left: pa.Array, right: pa.Array) -> pa.Array:
    if pa.types.is_list(left.type):
        order = np.where(present(left), np.arange(len(left)), len(left) + np.arange(len(left)))
        return pa.concat_arrays([left, right.cast(left.type)]).take(pa.array(order))
    return pc.coalesce(left, right)


def _where(mask: Bools) -> Bools | None:
    return mask if mask.any() else None


def _taken(array: pa.Array, rows: Int64s) -> pa.Array | list[pa.Scalar]:
    """Some rows of a column, which may be of a type that Arrow's `take` does not support."""
    try:
        return plain(array).take(pa.array(rows))
    except pa.ArrowNotImplementedError:
        return [array[row] for row in rows.tolist()]


def _canonical_cells(array: pa.Array) -> list[object]:
    if pa.types.is_timestamp(array.type):
        return [_calendar(cell) for cell in array.cast(pa.int64()).to_pylist()]
    if pa.types.is_list(array.type) and pa.types.is_timestamp(array.type.value_type):
        lists = array.cast(pa.list_(pa.int64())).to_pylist()
        return [None if cells is None else [_calendar(cell) for cell in cells] for cells in lists]
    return _cells(array)


def _calendar(microseconds: int | None) -> object:
    return None if microseconds is None else to_datetime(microseconds)


def _cells(array: pa.Array | list[pa.Scalar]) -> list[object]:
    try:
        return [scalar.as_py() for scalar in array] if isinstance(array, list) else array.to_pylist()
    except (ValueError, OverflowError):
        return [_cell(scalar) for scalar in array]


def _cell(scalar: pa.Scalar) -> object:
    try:
        return scalar.as_py()
    except (ValueError, OverflowError) as error:
        return Unreadable(f"<{scalar.type} without a Python value: {error}>")


_ENOUGH = 20


def to_arrow(schema: Schema, events: Sequence[Mapping[str, object]] | pa.Table | pa.RecordBatch) -> pa.RecordBatch:
    """Canonical batch of events; `EventError` names the first values that have no place in one.

    Checks values, not R1–R3. Attributes that no event has get no column, and names the schema does not have are passed
    over. A batch whose known columns are canonical already is not looked into.
    """
    if isinstance(events, pa.Table | pa.RecordBatch):
        return _from_arrow(schema, one_batch(events))
    return _from_dicts(schema, events)


def _from_arrow(schema: Schema, batch: pa.RecordBatch) -> pa.RecordBatch:
    known = [(place, name) for place, name in enumerate(batch.schema.names) if name in schema.attributes]
    if (
        len({name for _, name in known}) == len(known) > 0
        and not _has_known_objects(schema, batch)
        and all(is_canonical(batch.column(place), schema.attributes[name]) for place, name in known)
    ):
        return batch if len(known) == batch.num_columns else batch.select([place for place, _ in known])
    aligned = align(schema, batch, ignore_unknown=True)
    columns = aligned.columns
    if aligned.doubtful is not None:
        rows = np.flatnonzero(aligned.doubtful)
        readings = [
            read_pairs(schema, pairs, row) for row, pairs in zip(rows.tolist(), aligned.pairs(rows), strict=True)
        ]
        _refuse(readings)
        columns = patch(schema, columns, aligned.count, readings)
    return batch_of(columns, aligned.count, schema)


def _has_known_objects(schema: Schema, batch: pa.RecordBatch) -> bool:
    return any(
        holds_objects(kind) and any(known.startswith(f"{name}.") for known in schema.attributes)
        for name, kind in zip(batch.schema.names, batch.schema.types, strict=True)
    )


def _from_dicts(schema: Schema, events: Sequence[Mapping[str, object]]) -> pa.RecordBatch:
    readings = [read_event(schema, event, row) for row, event in enumerate(events)]
    _refuse(readings)
    names = {EVENT_TYPE}.union(*(reading.values for reading in readings))
    columns = {name: from_readings(schema, name, readings) for name in schema.attributes if name in names}
    return batch_of(columns, len(readings), schema)


def _refuse(readings: Sequence[Reading]) -> None:
    violations: list[Violation] = []
    for reading in readings:
        violations += reading.violations
        if len(violations) >= _ENOUGH:
            break
    if violations:
        raise EventError(violations)
